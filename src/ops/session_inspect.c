/* session.inspect: the interpreter's answer; a busy session refuses. Daemon; on the loop. */
#include "ops/judge_call.h"

static const struct op_param session_inspect_params[] = {
    OP_PARAM_SESSION,
    JUDGE_PARAMS,
    {.name = "detail",
     .type = OP_INT,
     .is_nullable = true,
     .max = 1,
     .doc = "1: with the source, how a value is shown, and more of the documentation; default 0."},
    {0},
};

static void session_inspect_on_told(void *context, const struct head_judgement *told,
                                    const struct err *e)
{
    struct call *call = context;
    if (e != NULL)
        call_fail(call, e);
    else if (told->hints == NULL)
        judge_call_refuse(call);
    else
        judge_call_reply(call, told->hints);
}

static void session_inspect_run(struct call *call)
{
    judge_call_ask(call, HEAD_ASKED_MEANING, call_int(call, "detail", 0) > 0,
                   session_inspect_on_told);
}

static const struct op_member meaning_members[] = {
    {"found", OP_BOOL, .is_always = true, .doc = "Whether there is something; else that is all."},
    {"name", OP_TEXT, .doc = "What stands there, or is called there."},
    {"type", OP_TEXT, .doc = "Its type."},
    {"text", OP_TEXT, .doc = "Its value, in short."},
    {"len", OP_SIZE, .doc = "How many elements it has."},
    {"bytes", OP_SIZE, .doc = "How large it is."},
    {"shape", OP_INT_LIST, .doc = "Of an array or a table."},
    {"signature", OP_TEXT, .doc = "How it is called."},
    {"doc", OP_TEXT, .doc = "Its documentation."},
    {"file", OP_TEXT, .doc = "Where it was defined."},
    {"line", OP_INT, .doc = "Where in that file."},
    {"source", OP_TEXT, .doc = "Its source, if details were asked for."},
    {"preview", OP_TEXT,
     .doc = "Likewise how a value is shown; of a table columns and first rows."},
    {"partial", OP_BOOL, .doc = "The interpreter could not be asked in full."},
    {0},
};
static const struct op_shape shape_meaning = {"meaning", meaning_members,
                                              "What stands at a place of a text."};

const struct op op_session_inspect = {
    .name = "session.inspect",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/inspect",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_inspect_params,
    .doc = "Tells what stands at a place of a text: type, short value, signature, documentation. A "
           "busy session is refused.",
    .run = session_inspect_run,
    .result = &shape_meaning,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"code\": \"print\"}",
};
