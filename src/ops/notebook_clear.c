#include "ops/notebook_call.h"

static const char *const whats[] = {"outputs", "cells", NULL};

static const struct op_param params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "what",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = whats,
     .doc = "outputs: the cells stay; cells: all of them go. Variables stay as they are."},
    {0},
};

static void run(struct call *call)
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
    .params = params,
    .doc = "Removes all outputs of a notebook, or all its cells; never variables.",
    .run = run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"what\": \"outputs\"}",
};
