#include "ops/notebook_call.h"

static const struct op_param params[] = {OP_PARAM_NOTEBOOK, OP_PARAM_CELL, {0}};

static void run(struct call *call)
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
    .params = params,
    .doc = "Removes the outputs of a cell.",
    .run = run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"0\"}",
};
