/* cell.delete: out of the notebook; the session keeps what the cell did. Daemon; on the loop. */
#include "ops/notebook_call.h"

static const struct op_param cell_delete_params[] = {OP_PARAM_NOTEBOOK, OP_PARAM_CELL, {0}};

static void cell_delete_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    struct store_change change = {.what = CHANGE_REMOVE, .cell = call_text(call, "cell", "")};
    change_call(call, &change, 200);
}

static const struct op_verb cell_delete_verb = {
    .words = "notebook rm",
    .takes = (const char *const[]){"session_id", "cell...", NULL},
    .summary = "remove cells of a notebook; what they did stays done",
    .examples = "cella notebook rm 0b9c 2",
};

const struct op op_cell_delete = {
    .name = "cell.delete",
    .method = "DELETE",
    .path = "/v1/notebooks/{session_id}/cells/{cell}",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING,
    .params = cell_delete_params,
    .doc = "Removes a cell from its notebook; what it did stays done.",
    .run = cell_delete_run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"0\"}",
    .verb = &cell_delete_verb,
};
