/* cell.clear. Daemon; on the loop. */
#include "ops/notebook_call.h"

static const struct op_param cell_clear_params[] = {OP_PARAM_NOTEBOOK, OP_PARAM_CELL, {0}};

static void cell_clear_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    struct store_change change = {.what = CHANGE_CLEAR_OUTPUTS,
                                  .cell = call_text(call, "cell", "")};
    change_call(call, &change, 200);
}

const struct op op_cell_clear = {
    .name = "cell.clear",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/cells/{cell}/clear",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING,
    .params = cell_clear_params,
    .doc = "Removes the outputs of a cell.",
    .run = cell_clear_run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"0\"}",
};
