/* session.redo. Daemon; on the loop; session/undo.c decides whether it can be. */
#include "ops/ops.h"
#include "ops/restore_call.h"
#include "session/session.h"

static const struct op_param session_redo_params[] = {OP_PARAM_SESSION, {0}};

static void session_redo_run(struct call *call)
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

static const struct op_verb session_redo_verb = {
    .words = "redo",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "return to the state before an undo",
    .about = "Returns to where the session was before the last undo, as long as no other cell was\n"
             "run since.",
    .examples = "cella redo 0b9c",
};

const struct op op_session_redo = {
    .name = "session.redo",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/redo",
    .subject = OP_ON_HISTORY,
    .flags = OP_MUTATING,
    .params = session_redo_params,
    .doc = "Takes a session to where its last undo came from.",
    .run = session_redo_run,
    .result = &shape_restored,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$undone\"}",
    .verb = &session_redo_verb,
};
