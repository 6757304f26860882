#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param params[] = {OP_PARAM_SESSION, {0}};

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_bool(&json, "interrupted", session_interrupt(session));
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

const struct op op_session_interrupt = {
    .name = "session.interrupt",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/interrupt",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Interrupts the running cell, as Ctrl-C would; the session keeps its state.",
    .run = run,
};
