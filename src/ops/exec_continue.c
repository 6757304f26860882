/* exec.continue: waits on for a cell; only what is new is told. Daemon; on the loop. */
#include "ops/exec_call.h"

static const struct op_param exec_continue_params[] = {
    OP_PARAM_SESSION,
    {.name = "cell",
     .type = OP_TEXT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = CELL_ID_SIZE - 1,
     .doc = "The cell, by the number or the cell_id of its first answer."},
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    EXEC_PARAM_FORMAT,
    {0},
};

static void exec_continue_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct exec *exec;
    uint64_t number = session_cell_number(session, call_text(call, "cell", ""));
    struct exec_wait wait = exec_call_wait(call);
    if (session_continue(session, number, &wait, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

const struct op op_exec_continue = {
    .name = "exec.continue",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/exec/{cell}/continue",
    .subject = OP_ON_CELL,
    .flags = OP_READ_ONLY | OP_STREAMS, /* what runs, runs: this only listens */
    .params = exec_continue_params,
    .doc = "Waits on for a cell that still ran when it was last asked about; answers with what is "
           "new.",
    .run = exec_continue_run,
    .result = &shape_answer,
    .events = exec_events,
    .errors = OP_ERR(GONE) | OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$busy\", \"cell\": \"$exec\", \"yield_ms\": 0}",
};
