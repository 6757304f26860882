/* notebook.clear: outputs, or all cells. Daemon; on the loop. */
#include "ops/notebook_call.h"

static const char *const notebook_clear_whats[] = {"outputs", "cells", NULL};

static const struct op_param notebook_clear_params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "what",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = notebook_clear_whats,
     .doc = "outputs: the cells stay; cells: all of them go. Variables stay as they are."},
    {0},
};

static void notebook_clear_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    bool is_all = strcmp(call_text(call, "what", ""), "cells") == 0;
    struct store_change change = {.what = is_all ? CHANGE_CLEAR_ALL : CHANGE_CLEAR_OUTPUTS};
    change_call(call, &change, 200);
}

const struct op op_notebook_clear = {
    .name = "notebook.clear",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/clear",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING,
    .params = notebook_clear_params,
    .doc = "Removes all outputs of a notebook, or all its cells; never variables.",
    .run = notebook_clear_run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"what\": \"outputs\"}",
};
