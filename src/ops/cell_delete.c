#include "ops/notebook_call.h"

static const struct op_param params[] = {OP_PARAM_NOTEBOOK, OP_PARAM_CELL, {0}};

static void run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    struct store_change change = {.what = CHANGE_REMOVE, .cell = call_text(call, "cell", "")};
    change_call(call, &change, 200);
}

const struct op op_cell_delete = {
    .name = "cell.delete",
    .method = "DELETE",
    .path = "/v1/notebooks/{session_id}/cells/{cell}",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Removes a cell from its notebook; what it did stays done.",
    .run = run,
};
