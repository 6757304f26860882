#include "ops/ops.h"
#include "ops/restore_call.h"
#include "session/session.h"

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    {.name = "to",
     .type = OP_INT,
     .is_nullable = true,
     .max = INT64_MAX,
     .doc = "The checkpoint to go to; 0 is the beginning. Default: the one before the last cells."},
    {0},
};

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    uint64_t to = (uint64_t)call_int(call, "to", 0);
    bool has_to = json_is_integer(json_object_get(call->args, "to"));
    if (session_undo(session, has_to ? &to : NULL, &restore_call_listener, call, &e) < 0)
        call_fail(call, &e);
    else
        restore_call_begun(call, session);
}

const struct op op_session_undo = {
    .name = "session.undo",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/undo",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Takes a session back to a checkpoint, with its variables, files and processes.",
    .run = run,
};
