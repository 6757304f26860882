/* session.is_complete: the interpreter parses, and nothing runs. Daemon; on the loop. */
#include "ops/exec_call.h"
#include "session/judging.h"
#include "wire/json.h"

static const struct op_param session_is_complete_params[] = {
    OP_PARAM_SESSION,
    EXEC_PARAM_CODE,
    {0},
};

static void session_is_complete_on_told(void *context, const struct head_judgement *told,
                                        const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "status", head_completeness_names[told->status]);
    json_put_member_bool(&json, "goes_on", told->goes_on);
    json_put_member_int(&json, "indent", told->indent);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void session_is_complete_on_gone(struct call *call)
{
    judging_forget(call->op_state);
}

static void session_is_complete_run(struct call *call)
{
    struct err e;
    struct judging *judging;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct head_question question = {.topic = HEAD_ASKED_WHETHER_COMPLETE,
                                     .code = call_text(call, "code", ""),
                                     .len = call_text_len(call, "code")};
    if (session_judge(session, &question, session_is_complete_on_told, call, &judging, &e) < 0) {
        call_fail(call, &e);
    } else if (judging != NULL) {
        call->op_state = judging;
        call->on_gone = session_is_complete_on_gone;
    }
}

static const struct op_member completeness_members[] = {
    {"status", OP_TEXT, .is_always = true, .doc = "complete, incomplete, invalid or unknown."},
    {"goes_on", OP_BOOL, .doc = "Whether another line may belong to it."},
    {"indent", OP_INT, .doc = "By how many blanks the next line should begin."},
    {0},
};
static const struct op_shape shape_completeness = {"completeness", completeness_members,
                                                   "Whether a text is whole."};

const struct op op_session_is_complete = {
    .name = "session.is_complete",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/is_complete",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_is_complete_params,
    .doc =
        "Whether a text is a whole piece of code to the session's interpreter, which does not "
        "run it: complete, incomplete, invalid, or unknown if the session is busy or the text is "
        "longer than 64 KiB.",
    .run = session_is_complete_run,
    .result = &shape_completeness,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"code\": \"for i in range(3):\"}",
};
