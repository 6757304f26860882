/* session.interrupt. Daemon; on the loop; the warden sends the signal. */
#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param session_interrupt_params[] = {OP_PARAM_SESSION, {0}};

static void session_interrupt_run(struct call *call)
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

static const struct op_member interrupted_members[] = {
    {"interrupted", OP_BOOL, .is_always = true, .doc = "false: nothing ran."},
    {0},
};
static const struct op_shape shape_interrupted = {"interrupted", interrupted_members,
                                                  "Whether a cell was interrupted."};

static const struct op_verb session_interrupt_verb = {
    .words = "interrupt",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "stop the cell that runs and keep its session",
    .about =
        "Does to the running cell of a session what Ctrl-C does at a terminal. The session and\n"
        "its state stay; what the cell gave is fetched with `cella continue`.",
    .examples = "cella interrupt 0b9c",
};

const struct op op_session_interrupt = {
    .name = "session.interrupt",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/interrupt",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING,
    .params = session_interrupt_params,
    .doc = "Interrupts the running cell, as Ctrl-C would; the session keeps its state.",
    .run = session_interrupt_run,
    .result = &shape_interrupted,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_interrupt_verb,
};
