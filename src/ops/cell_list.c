/* cell.list: a page of rows, read from the store after what is not written yet. Daemon; on the
 * loop. */
#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param cell_list_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_OFFSET,
    OP_PARAM_LIMIT,
    {.name = "outputs",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Whether they come with their outputs; default false."},
    {0},
};

static void cell_list_on_cells(void *context, const struct store_cell *list, size_t n,
                               uint64_t count, const struct err *e)
{
    struct call *call = context;
    const char *id = call_text(call, "session_id", "");
    bool is_unwritten = e != NULL && e->code == ERR_NOT_FOUND && notebook_session(call, id) != NULL;
    if (e != NULL && !is_unwritten) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "notebook_id", id);
    json_put_key(&json, "cells");
    json_put_array(&json);
    for (size_t i = 0; !is_unwritten && i < n; i++)
        cell_json_put(&json, &list[i], call_bool(call, "outputs", false));
    json_put_array_end(&json);
    json_put_member_int(&json, "offset", call_int(call, "offset", 0));
    json_put_member_int(&json, "count", is_unwritten ? 0 : (int64_t)count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void cell_list_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    notebooks_flush(call->engine, id);
    call_await(call,
               store_get_cells(engine_store(call->engine), id, call_offset(call), call_limit(call),
                               call_bool(call, "outputs", false), cell_list_on_cells, call));
}

static const struct op_member cell_list_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {"cells", OP_LIST, .is_always = true, .shape = &shape_cell, .doc = "The cells."},
    {"offset", OP_INT, .is_always = true, .doc = "Where the page begins."},
    {"count", OP_INT, .is_always = true, .doc = "How many cells there are."},
    {0},
};
static const struct op_shape shape_cell_list = {"cell_list", cell_list_members,
                                                "The cells of a notebook."};

const struct op op_cell_list = {
    .name = "cell.list",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/cells",
    .subject = OP_ON_CELL,
    .flags = OP_READ_ONLY,
    .params = cell_list_params,
    .doc = "Lists the cells of a notebook in their order, page by page.",
    .run = cell_list_run,
    .result = &shape_cell_list,
    .example = "{\"session_id\": \"$notebook\", \"limit\": 2}",
};
