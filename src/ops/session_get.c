/* session.get: what the daemon knows, and the memory that the warden measures. Daemon; on the
 * loop. */
#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param session_get_params[] = {OP_PARAM_SESSION, {0}};

static void on_weighed(void *context)
{
    struct call *call = context;
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    put_session(&json, session);
    call_reply(call, 200, &out);
}

static void session_get_on_gone(struct call *call)
{
    usage_forget(call->op_state);
}

static void session_get_run(struct call *call)
{
    struct usage_asking *asking;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    usage_ask(call->engine, &session, 1, on_weighed, call, &asking);
    if (asking == NULL)
        return; /* and the call is over */
    call->op_state = asking;
    call->on_gone = session_get_on_gone;
}

static const struct op_verb session_get_verb = {
    .words = "info",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "show what is known of a session",
    .examples = "cella info 0b9c",
};

const struct op op_session_get = {
    .name = "session.get",
    .method = "GET",
    .path = "/v1/sessions/{session_id}",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_get_params,
    .doc = "Shows one session.",
    .run = session_get_run,
    .result = &shape_session,
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_get_verb,
};
