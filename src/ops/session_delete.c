#include "ops/ops.h"
#include "session/changes.h"
#include "session/end.h"
#include "session/engine.h"
#include "wire/json.h"

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    {.name = "keep_notebook",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "The cells that it ran stay, as a notebook; default false."},
    {0},
};

static void remove_notebook(const struct call *call)
{
    if (engine_store(call->engine) != NULL && !call_bool(call, "keep_notebook", false))
        changes_delete(call->engine, call_text(call, "session_id", ""), NULL, NULL);
}

static void on_done(void *context)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", call_text(call, "session_id", ""));
    json_put_member_bool(&json, "killed", true);
    json_put_object_end(&json);
    remove_notebook(call);
    call_reply(call, 200, &out);
}

/* Nobody waits any more: it ends at once. */
static void on_gone(struct call *call)
{
    dismissal_forget(call->op_state);
    remove_notebook(call);
}

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct dismissal *dismissal;
    session_dismiss(session, on_done, call, &dismissal);
    if (dismissal == NULL)
        return; /* and the call is over */
    call->op_state = dismissal;
    call->on_gone = on_gone;
}

const struct op op_session_delete = {
    .name = "session.delete",
    .method = "DELETE",
    .path = "/v1/sessions/{session_id}",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Ends a session with every process and file of it; who works in it gets SIGTERM first, "
           "and two seconds.",
    .run = run,
};
