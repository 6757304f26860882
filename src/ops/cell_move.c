/* cell.move: another index in its notebook. Daemon; on the loop. */
#include "ops/notebook_call.h"

static const struct op_param cell_move_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_CELL,
    {.name = "to",
     .type = OP_INT,
     .is_required = true,
     .min = -1,
     .max = INT64_MAX,
     .doc = "The index that it is to have; -1, or one too large: the last."},
    {0},
};

static void cell_move_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    int64_t to = call_int(call, "to", -1);
    struct store_change change = {.what = CHANGE_MOVE,
                                  .cell = call_text(call, "cell", ""),
                                  .at = to < 0 ? STORE_AT_END : (uint64_t)to};
    change_call(call, &change, 200);
}

static const struct op_verb cell_move_verb = {
    .words = "notebook move",
    .takes = (const char *const[]){"session_id", "cell", "to", NULL},
    .summary = "give a cell of a notebook another number",
    .examples = "cella notebook move 0b9c 3 0",
};

const struct op op_cell_move = {
    .name = "cell.move",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/cells/{cell}/move",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING,
    .params = cell_move_params,
    .doc = "Puts a cell at another place of its notebook.",
    .run = cell_move_run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"0\", \"to\": 1}",
    .verb = &cell_move_verb,
};
