/* notebook.run: a range of cells in the session's queue, an event or a line of the answer for each.
 * Daemon; on the loop; the run may outlive its caller. */
#include "ops/exec_call.h"
#include "ops/notebook_call.h"
#include "wire/json.h"

static const struct op_param notebook_run_params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "from",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CELL_ID_MAX,
     .doc = "The first cell, by cell_id or index; default: the first there is."},
    {.name = "to",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CELL_ID_MAX,
     .doc = "The last cell, by cell_id or index; default: the last there is."},
    {.name = "stop_on_error",
     .type = OP_BOOL,
     .doc = "Whether a cell that fails is the last one that runs, unless it is tagged "
            "raises-exception; default true."},
    EXEC_PARAM_TIMEOUT,
    {.name = "on_disconnect",
     .type = OP_CHOICE,
     .choices = exec_disconnects,
     .doc = "What becomes of it if the client goes away: continue (default), or cancel: the cell "
            "that runs is interrupted, and no other begins."},
    {0},
};

/* It outlives its call if it goes on without it. */
struct running {
    struct call *call; /* NULL if the caller went away */
    struct task *under_way;
    struct buf out; /* the answer so far: the cells */
    struct json_out json;
};

static void put_ran(struct json_out *json, const struct runs_ended *ran)
{
    json_put_object(json);
    json_put_member_str(json, "cell_id", ran->cell);
    json_put_member_some(json, "number", (int64_t)ran->number);
    json_put_member_int(json, "index", (int64_t)ran->index);
    json_put_member_str(json, "status", cell_state_status(ran->state));
    if (ran->last_status > 0)
        json_put_member_int(json, "last_status", ran->last_status);
    if (ran->exit_code >= 0)
        json_put_member_int(json, "exit_code", ran->exit_code);
    json_put_member_str(json, "replaced", ran->replaced);
    json_put_object_end(json);
}

static void notebook_run_on_cell(void *context, const struct runs_ended *ran)
{
    struct running *r = context;
    struct call *call = r->call;
    if (call == NULL)
        return;
    put_ran(&r->json, ran);
    if (!call->wants_stream)
        return;
    _buf_ struct buf event = BUF_INIT(4 * KIB);
    struct json_out json = JSON_OUT(&event);
    put_ran(&json, ran);
    call->sink->event(call, "cell", buf_str(&event), event.len);
}

static void on_end(void *context, uint64_t n_ran, const char *failed, const struct err *e)
{
    struct running *r = context;
    struct call *call = r->call;
    _buf_ struct buf out = r->out;
    struct json_out json = {.buf = &out, .needs_comma = r->json.needs_comma};
    free(r);
    if (call == NULL)
        return;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "ran", (int64_t)n_ran);
    json_put_member_str(&json, "failed_cell_id", failed);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct runs_listener notebook_run_listener = {.on_cell = notebook_run_on_cell,
                                                           .on_end = on_end};

static bool cancels(const struct call *call)
{
    return strcmp(call_text(call, "on_disconnect", "continue"), "cancel") == 0;
}

static void notebook_run_on_gone(struct call *call)
{
    struct running *r = call->op_state;
    buf_free(&r->out);
    r->call = NULL;
    if (!cancels(call))
        return;
    task_forget(r->under_way);
    free(r);
}

static void notebook_run_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    struct runs_range range = {
        .from = call_text(call, "from", NULL),
        .to = call_text(call, "to", NULL),
        .goes_on = !call_bool(call, "stop_on_error", true),
        .cancels = cancels(call),
        .timeout_ms = call_timeout_ms(call),
    };
    struct running *r = mem_alloc(sizeof(*r));
    r->call = call;
    r->out = BUF_INIT(CALL_REPLY_MAX);
    r->json = JSON_OUT(&r->out);
    json_put_object(&r->json);
    json_put_member_str(&r->json, "notebook_id", id);
    json_put_key(&r->json, "cells");
    json_put_array(&r->json);
    call->op_state = r;
    call->on_gone = notebook_run_on_gone;
    call->must_notice_end = json_object_get(call->args, "on_disconnect") != NULL;
    r->under_way = runs_cells(call->engine, id, &range, &notebook_run_listener, r);
}

static const struct op_member ran_members[] = {
    {"cell_id", OP_TEXT, .is_always = true, .doc = "The cell."},
    {"number", OP_INT, .doc = "Of its run."},
    {"index", OP_INT, .is_always = true, .doc = "Its place, from 0."},
    {"status", OP_TEXT, .is_always = true, .doc = "How it ended."},
    {"last_status", OP_INT, .doc = "bash: the status of the last command."},
    {"exit_code", OP_INT, .doc = "If it left."},
    {"replaced", OP_TEXT, .doc = "Typographic signs without which it ran."},
    {0},
};
static const struct op_shape shape_ran = {"ran", ran_members, "A cell that was run."};

static const struct op_member notebook_run_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {"cells", OP_LIST, .is_always = true, .shape = &shape_ran, .doc = "Those that ran."},
    {"ran", OP_INT, .is_always = true, .doc = "How many."},
    {"failed_cell_id", OP_TEXT, .doc = "The first cell that failed and was not meant to."},
    {0},
};
static const struct op_shape shape_notebook_run = {"notebook_run", notebook_run_members,
                                                   "Cells of a notebook that were run."};

static const struct op_event notebook_run_events[] = {
    {"cell", &shape_ran, "A cell has ended."},
    {0},
};

const struct op op_notebook_run = {
    .name = "notebook.run",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/run",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = notebook_run_params,
    .doc = "Runs the code of a notebook from one cell to another, one after the other.",
    .run = notebook_run_run,
    .result = &shape_notebook_run,
    .events = notebook_run_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$notebook\", \"from\": \"0\", \"to\": \"1\"}",
};
