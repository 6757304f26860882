/* session.undo. Daemon; on the loop; session/undo.c decides to which checkpoint. */
#include "ops/ops.h"
#include "ops/restore_call.h"
#include "session/session.h"

static const struct op_param session_undo_params[] = {
    OP_PARAM_SESSION,
    {.name = "to",
     .type = OP_INT,
     .is_nullable = true,
     .max = INT64_MAX,
     .letter = 't',
     .doc = "The checkpoint to go to; 0 is the beginning. Default: the one before the last cells."},
    {0},
};

static void session_undo_run(struct call *call)
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

static const struct op_verb session_undo_verb = {
    .words = "undo",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "take a session back to an earlier state",
    .about = "Takes back what the last cell did, or everything since a checkpoint: variables,\n"
             "files in /workspace, and processes that were started since. What cannot be taken\n"
             "back (network, sockets, /tmp) is listed. `cella redo` returns.",
    .examples = "cella undo 0b9c\n"
                "cella undo 0b9c --to 3\n"
                "cella undo 0b9c --to 0             # the beginning",
};

const struct op op_session_undo = {
    .name = "session.undo",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/undo",
    .subject = OP_ON_HISTORY,
    .flags = OP_MUTATING,
    .params = session_undo_params,
    .doc = "Takes a session back to a checkpoint, with its variables, files and processes.",
    .run = session_undo_run,
    .result = &shape_restored,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_undo_verb,
};
