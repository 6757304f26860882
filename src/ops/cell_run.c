/* cell.run: run_call.c brings the session back and answers. Daemon; on the loop. */
#include "ops/exec_call.h"
#include "ops/notebook_call.h"

static const struct op_param cell_run_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_CELL,
    EXEC_PARAM_TIMEOUT,
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    EXEC_PARAM_NAMES,
    EXEC_PARAM_DURABLE,
    EXEC_PARAM_IMAGES,
    EXEC_PARAM_HTML,
    EXEC_PARAM_FORMAT,
    EXEC_PARAM_FILES,
    {0},
};

static void cell_run_run(struct call *call)
{
    if (call_has_notebooks(call))
        run_call_begin(call, call_text(call, "cell", ""));
}

const struct op op_cell_run = {
    .name = "cell.run",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/cells/{cell}/run",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = cell_run_params,
    .doc = "Runs a cell of a notebook, again or for the first time, and answers as session.exec "
           "does.",
    .run = cell_run_run,
    .result = &shape_answer,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"1\"}",
};
