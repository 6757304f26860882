/* cell.get: one row, read from the store after what is not written yet. Daemon; on the loop. */
#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param cell_get_params[] = {
    OP_PARAM_NOTEBOOK,
    OP_PARAM_CELL,
    {.name = "outputs",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Whether it comes with its outputs; default true."},
    {0},
};

static void cell_get_on_cell(void *context, const struct store_cell *cell, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    cell_json_put(&json, cell, call_bool(call, "outputs", true));
    call_reply(call, 200, &out);
}

static void cell_get_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    notebooks_flush(call->engine, id);
    call_await(call, store_get_cell(engine_store(call->engine), id, call_text(call, "cell", ""),
                                    cell_get_on_cell, call));
}

const struct op op_cell_get = {
    .name = "cell.get",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/cells/{cell}",
    .subject = OP_ON_CELL,
    .flags = OP_READ_ONLY,
    .params = cell_get_params,
    .doc = "Shows one cell of a notebook with its outputs.",
    .run = cell_get_run,
    .result = &shape_cell,
    .example = "{\"session_id\": \"$notebook\", \"cell\": \"1\"}",
};
