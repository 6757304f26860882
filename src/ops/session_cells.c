/* session.cells: the cells that a session ran, from the store. Daemon; on the loop. */
#include "base/clock.h"
#include "ops/ops.h"
#include "session/notebooks.h"
#include "session/session.h"
#include "store/notebooks.h"
#include "wire/json.h"

static const struct op_param session_cells_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_OFFSET,
    OP_PARAM_LIMIT,
    {0},
};

static void session_cells_on_cells(void *context, const struct store_cell *list, size_t n,
                                   uint64_t count, const struct err *e)
{
    struct call *call = context;
    char time[CLOCK_RFC3339_SIZE];
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "cells");
    json_put_array(&json);
    for (size_t i = 0; i < n; i++) {
        json_put_object(&json);
        json_put_member_str(&json, "cell_id", list[i].id);
        json_put_member_int(&json, "number", (int64_t)list[i].exec_id);
        json_put_member_text(&json, "code", list[i].source, list[i].source_len);
        json_put_member_str(&json, "status", cell_status_of(list[i].state));
        json_put_member_str(&json, "executed_at", clock_rfc3339(list[i].executed_ms, time));
        json_put_member_real(&json, "duration_ms", (double)list[i].duration_us / 1000, 3);
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "count", (int64_t)count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void session_cells_run(struct call *call)
{
    struct session *session = call_session(call);
    struct store *store = engine_store(call->engine);
    if (session == NULL)
        return;
    if (store == NULL) {
        struct err e;
        err_set(&e, ERR_UNAVAILABLE, "the cells of sessions are not kept here");
        err_advise(&e, "Ask whoever runs the daemon.");
        call_fail(call, &e);
        return;
    }
    notebooks_flush(call->engine, session->id);
    call_await(call, store_list_cells(store, session->id, call_offset(call), call_limit(call),
                                      session_cells_on_cells, call));
}

static const struct op_member ran_cell_members[] = {
    {"cell_id", OP_TEXT, .is_always = true, .doc = "Its id."},
    {"number", OP_INT, .is_always = true, .column = "CELL", .doc = "Its number."},
    {"code", OP_TEXT, .is_always = true, .column = "CODE", .doc = "What it ran."},
    {"status", OP_TEXT, .is_always = true, .column = "STATUS", .doc = "How it ended."},
    {"executed_at", OP_TIME, .column = "AGE", .doc = "When."},
    {"duration_ms", OP_NUMBER, .column = "MS", .doc = "How long it ran."},
    {0},
};
static const struct op_shape shape_ran_cell = {"ran_cell", ran_cell_members,
                                               "A cell that a session ran."};

static const struct op_member ran_cells_members[] = {
    {"cells", OP_LIST, .is_always = true, .shape = &shape_ran_cell, .doc = "The oldest first."},
    {"count", OP_INT, .is_always = true, .doc = "How many there are."},
    {0},
};
static const struct op_shape shape_ran_cells = {"ran_cells", ran_cells_members,
                                                "Cells that a session ran."};

static const struct op_verb session_cells_verb = {
    .words = "cells",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "list the cells that a session has run",
    .examples = "cella cells 0b9c",
};

const struct op op_session_cells = {
    .name = "session.cells",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/cells",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_cells_params,
    .doc = "Lists the cells that a session has run, with their code.",
    .run = session_cells_run,
    .result = &shape_ran_cells,
    .example = "{\"session_id\": \"$session\", \"limit\": 2}",
    .verb = &session_cells_verb,
};
