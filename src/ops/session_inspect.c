#include "ops/judge_call.h"

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    JUDGE_PARAMS,
    {.name = "detail",
     .type = OP_INT,
     .is_nullable = true,
     .max = 1,
     .doc = "1: with the source, and more of the documentation; default 0."},
    {0},
};

static void on_told(void *context, const struct head_judgement *told, const struct err *e)
{
    struct call *call = context;
    if (e != NULL)
        call_fail(call, e);
    else if (told->hints == NULL)
        judge_call_refuse(call);
    else
        judge_call_reply(call, told->hints);
}

static void run(struct call *call)
{
    judge_call_ask(call, HEAD_ASKED_MEANING, call_int(call, "detail", 0) > 0, on_told);
}

const struct op op_session_inspect = {
    .name = "session.inspect",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/inspect",
    .flags = OP_READ_ONLY,
    .params = params,
    .doc = "Tells what stands at a place of a text: type, short value, signature, documentation. A "
           "busy session is refused.",
    .run = run,
};
