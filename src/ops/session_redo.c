#include "ops/ops.h"
#include "ops/restore_call.h"
#include "session/session.h"

static const struct op_param params[] = {OP_PARAM_SESSION, {0}};

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    if (session_redo(session, &restore_call_listener, call, &e) < 0)
        call_fail(call, &e);
    else
        restore_call_begun(call, session);
}

const struct op op_session_redo = {
    .name = "session.redo",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/redo",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Takes a session to where its last undo came from.",
    .run = run,
};
