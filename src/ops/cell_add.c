/* cell.add: a cell into a notebook, then run if that is wanted. Daemon; on the loop; the store's
 * change or the run under way is the call's. */
#include "ops/exec_call.h"
#include "ops/notebook_call.h"

static const struct op_param cell_add_params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "code",
     .type = OP_TEXT,
     .is_required = true,
     .max = NOTEBOOK_SOURCE_MAX,
     .doc = "What it says, at most 1 MiB."},
    OP_PARAM_KIND,
    {.name = "at",
     .type = OP_INT,
     .is_nullable = true,
     .min = -1,
     .max = INT64_MAX,
     .doc = "The index that it is to have, from 0 on; without it, or with -1, it comes last."},
    {.name = "cell_id",
     .type = OP_TEXT,
     .min = 1,
     .max = CELL_ID_MAX,
     .doc = "Its id: letters, digits, - and _, and not only digits; one is made if none is "
            "given."},
    OP_PARAM_METADATA,
    {.name = "run",
     .type = OP_BOOL,
     .doc = "Whether it is run at once; then the answer is that of cell.run."},
    EXEC_PARAM_TIMEOUT,
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    EXEC_PARAM_NAMES,
    EXEC_PARAM_DURABLE,
    EXEC_PARAM_IMAGES,
    EXEC_PARAM_HTML,
    EXEC_PARAM_FORMAT,
    EXEC_PARAM_FILES,
    {0},
};

static bool is_number(const char *id)
{
    return id[0] == '-' || id[strspn(id, "0123456789")] == '\0';
}

static int check_id(const char *id, struct err *e)
{
    if (id == NULL || (cell_is_id(id, strlen(id)) && !is_number(id)))
        return 0;
    err_set(e, ERR_INVALID, "\"%.64s\" cannot be the id of a cell", id);
    return err_advise(e, "Use letters, digits, - and _, up to %d of them, and not only digits.",
                      CELL_ID_MAX);
}

static int read_cell(struct call *call, struct store_cell *ret, struct err *e)
{
    const char *metadata;
    *ret = (struct store_cell){
        .id = call_text(call, "cell_id", NULL),
        .kind = notebook_kind(call, CELL_CODE),
        .source = call_text(call, "code", ""),
        .source_len = call_text_len(call, "code"),
    };
    if (check_id(ret->id, e) < 0 || notebook_metadata(call, &metadata, e) < 0)
        return -1;
    ret->metadata = metadata;
    ret->metadata_len = metadata != NULL ? strlen(metadata) : 0;
    if (ret->kind == CELL_CODE || !call_bool(call, "run", false))
        return 0;
    err_set(e, ERR_INVALID, "only code can be run");
    return err_advise(e, "Leave out \"run\", or \"kind\".");
}

static struct store_change change_of(const struct call *call, const struct store_cell *cell)
{
    int64_t at = call_int(call, "at", -1);
    return (struct store_change){
        .what = CHANGE_INSERT, .at = at < 0 ? STORE_AT_END : (uint64_t)at, .to = cell};
}

/* ---- added, then run ------------------------------------------------------------------------- */

static void cell_add_on_added(void *context, const struct store_cell *now, uint64_t n_cells,
                              const struct err *e)
{
    struct call *call = context;
    (void)n_cells;
    if (e != NULL)
        call_fail(call, e);
    else
        run_call_begin(call, arena_strdup(&call->arena, now->id));
}

static void cell_add_on_gone(struct call *call)
{
    task_forget(call->op_state);
}

static void add_and_run(struct call *call)
{
    struct err e;
    struct store_cell cell;
    if (read_cell(call, &cell, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    struct store_change change = change_of(call, &cell);
    call->on_gone = cell_add_on_gone;
    call->op_state = changes_make(call->engine, call_text(call, "session_id", ""), &change,
                                  cell_add_on_added, call);
}

static void cell_add_run(struct call *call)
{
    struct err e;
    struct store_cell cell;
    if (!call_has_notebooks(call))
        return;
    if (read_cell(call, &cell, &e) < 0) {
        call_fail(call, &e);
    } else if (call_bool(call, "run", false)) {
        add_and_run(call);
    } else {
        struct store_change change = change_of(call, &cell);
        change_call(call, &change, 201);
    }
}

static unsigned cell_add_uses(const struct call *call)
{
    return call_bool(call, "run", false) ? OP_RUNS_CODE : 0;
}

const struct op op_cell_add = {
    .name = "cell.add",
    .method = "POST",
    .path = "/v1/notebooks/{session_id}/cells",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = cell_add_params,
    .doc = "Puts a cell into a notebook, and runs it if that is wanted.",
    .run = cell_add_run,
    .uses = cell_add_uses,
    .result = &shape_cell_change,
    .other_result = &shape_answer,
    .status = 201,
    .other_status = 200,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$notebook\", \"code\": \"x * 2\"}",
};
