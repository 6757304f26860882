/* notebook.get: the row, then a page of cells. Daemon; on the loop. */
#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param notebook_get_params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "outputs",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Whether the cells come with their outputs; default false."},
    OP_PARAM_OFFSET,
    OP_PARAM_LIMIT,
    {0},
};

/* In the call's arena. */
struct getting {
    struct call *call;
    struct store_call *under_way;
    struct buf out;
    struct json_out json;
};

static void notebook_get_fail(struct getting *g, const struct err *e)
{
    buf_free(&g->out);
    call_fail(g->call, e);
}

static void notebook_get_finish(struct getting *g, const struct store_cell *list, size_t n,
                                uint64_t count)
{
    struct call *call = g->call;
    bool with_outputs = call_bool(call, "outputs", false);
    json_put_key(&g->json, "cells");
    json_put_array(&g->json);
    for (size_t i = 0; i < n; i++)
        cell_json_put(&g->json, &list[i], with_outputs);
    json_put_array_end(&g->json);
    json_put_member_int(&g->json, "offset", call_int(call, "offset", 0));
    json_put_member_int(&g->json, "count", (int64_t)count);
    json_put_object_end(&g->json);
    _buf_ struct buf out = g->out;
    call_reply(call, 200, &out);
}

static void notebook_get_on_cells(void *context, const struct store_cell *list, size_t n,
                                  uint64_t count, const struct err *e)
{
    struct getting *g = context;
    if (e != NULL && e->code != ERR_NOT_FOUND)
        notebook_get_fail(g, e);
    else
        notebook_get_finish(g, list, e == NULL ? n : 0, e == NULL ? count : 0);
}

static void notebook_get_on_row(void *context, const struct store_notebook *row,
                                const struct err *e)
{
    struct getting *g = context;
    struct call *call = g->call;
    const char *id = call_text(call, "session_id", "");
    struct session *session = notebook_session(call, id);
    struct store_notebook unwritten;
    if (e != NULL && e->code == ERR_NOT_FOUND && session != NULL) {
        unwritten = notebook_unwritten(session);
        row = &unwritten;
    } else if (e != NULL) {
        notebook_get_fail(g, e);
        return;
    }
    json_put_object(&g->json);
    notebook_put(&g->json, row, session);
    if (row == &unwritten) {
        notebook_get_finish(g, NULL, 0, 0);
        return;
    }
    g->under_way =
        store_get_cells(engine_store(call->engine), id, call_offset(call), call_limit(call),
                        call_bool(call, "outputs", false), notebook_get_on_cells, g);
}

static void notebook_get_on_gone(struct call *call)
{
    struct getting *g = call->op_state;
    store_forget(g->under_way);
    buf_free(&g->out);
}

static void notebook_get_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    struct getting *g = arena_alloc(&call->arena, sizeof(*g));
    g->call = call;
    g->out = BUF_INIT(CALL_REPLY_MAX);
    g->json = JSON_OUT(&g->out);
    call->op_state = g;
    call->on_gone = notebook_get_on_gone;
    notebooks_flush(call->engine, id);
    g->under_way = store_get_notebook(engine_store(call->engine), id, notebook_get_on_row, g);
}

const struct op op_notebook_get = {
    .name = "notebook.get",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY,
    .params = notebook_get_params,
    .doc = "Shows a notebook and its cells, page by page.",
    .run = notebook_get_run,
    .result = &shape_notebook,
    .example = "{\"session_id\": \"$notebook\", \"limit\": 1}",
};
