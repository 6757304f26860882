/* cell.edit: code, kind, metadata; refused if the caller's revision is not the cell's. Daemon; on
 * the loop. */
#include "ops/notebook_call.h"

static const struct op_param cell_edit_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_CELL,
    {.name = "code",
     .type = OP_TEXT,
     .max = NOTEBOOK_SOURCE_MAX,
     .doc = "What it says from now on, at most 1 MiB."},
    OP_PARAM_KIND,
    OP_PARAM_METADATA,
    {.name = "revision",
     .type = OP_INT,
     .min = 1,
     .max = INT64_MAX,
     .doc = "The revision that this is a change of: if the cell has another by now, nothing is "
            "changed."},
    {0},
};

static void cell_edit_run(struct call *call)
{
    struct err e;
    const char *metadata;
    if (!call_has_notebooks(call))
        return;
    if (notebook_metadata(call, &metadata, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    struct store_cell to = {
        .kind = notebook_kind(call, -1),
        .source = call_text(call, "code", NULL),
        .source_len = call_text_len(call, "code"),
        .metadata = metadata,
        .metadata_len = metadata != NULL ? strlen(metadata) : 0,
    };
    if (to.kind < 0 && to.source == NULL && metadata == NULL) {
        err_set(&e, ERR_INVALID, "nothing is to be changed");
        err_advise(&e, "Give \"code\", \"kind\" or \"metadata\".");
        call_fail(call, &e);
        return;
    }
    struct store_change change = {
        .what = CHANGE_EDIT,
        .cell = call_text(call, "cell", ""),
        .revision = (uint64_t)call_int(call, "revision", 0),
        .to = &to,
    };
    change_call(call, &change, 200);
}

const struct op op_cell_edit = {
    .name = "cell.edit",
    .method = "PATCH",
    .path = "/v1/notebooks/{session_id}/cells/{cell}",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING,
    .params = cell_edit_params,
    .doc = "Changes code, kind or metadata of a cell.",
    .run = cell_edit_run,
    .result = &shape_cell_change,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"0\", \"code\": \"x = 22\"}",
};
