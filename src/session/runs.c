/* Runs of notebooks' cells, in the daemon: the cell is read from the store, its session is found or
 * brought back, and the session's queue gets the code. */
#include "session/runs.h"

#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/end.h"
#include "session/engine_state.h"
#include "session/notebooks.h"
#include "session/recording.h"

enum {
    LEAVING_MS = 10 * 1000, /* for the files of the session before */
    PAGE = 500,
    ANSWER_BYTES = 1024, /* of which nobody reads more */
};

/* A cell on its way to its session. */
struct cell_run {
    struct task task;
    char id[UUID_SIZE]; /* of the notebook */
    char cell[CELL_ID_SIZE];
    char *source;
    struct exec_request request;
    /* `exec` is NULL on failure; `e` too if the run was forgotten. */
    void (*on_begun)(struct cell_run *run, struct exec *exec, const struct err *e);
};

/* ---- one cell -------------------------------------------------------------------------------- */

static void runs_hand_over(struct cell_run *run, struct session *session)
{
    struct err e;
    struct exec *exec;
    struct live_notebook *notebook = notebooks_find(run->task.engine, run->id);
    if (notebook != NULL && recording_find(notebook, run->cell) != NULL) {
        err_set(&e, ERR_CONFLICT, "the cell %s runs already, or waits to", run->cell);
        err_advise(&e, "Wait for its end, or interrupt it.");
        run->on_begun(run, NULL, &e);
    } else if (session_exec(session, &run->request, &exec, &e) < 0) {
        run->on_begun(run, NULL, &e);
    } else {
        run->on_begun(run, exec, NULL);
    }
}

/* There is no session any more: one of the same id takes its place. */
static struct session *runs_revive(struct cell_run *run, const struct store_notebook *row,
                                   struct err *e)
{
    struct engine *engine = run->task.engine;
    struct session *session = session_find(engine, run->id, e);
    if (session != NULL && session->state != SESSION_DEAD)
        return session;
    if (session != NULL)
        session_free(session);
    if (row->spec == NULL) {
        err_set(e, ERR_CONFLICT, "how the notebook's session was made is not known");
        err_advise(e, "Export it, and import it with a runtime.");
        return NULL;
    }
    struct live_notebook *notebook = notebooks_ensure(engine, run->id);
    notebooks_hold(notebook);
    notebook->has_row = true;
    notebook->n_cells = row->n_cells;
    notebook->last_place = row->last_place;
    session = session_revive(engine, run->id, row->spec, MAX(row->last_exec, row->count), e);
    notebooks_let_go(notebook);
    return session;
}

static void runs_on_notebook(void *context, const struct store_notebook *row, const struct err *e)
{
    struct cell_run *run = context;
    struct err refusal;
    run->task.asked = NULL;
    if (e != NULL || run->task.is_forgotten) {
        run->on_begun(run, NULL, e);
        return;
    }
    struct session *session = runs_revive(run, row, &refusal);
    if (session == NULL)
        run->on_begun(run, NULL, &refusal);
    else
        runs_hand_over(run, session);
}

/* The files of a session that ended are still being removed: one of the same id would lose its own.
 */
static bool runs_is_leaving(const struct cell_run *run)
{
    const struct pool *pool = run->task.engine->pool;
    return pool != NULL && pool_is_leaving(pool, run->id); /* else the engine has stopped */
}

static void runs_bring_back(struct task *task)
{
    struct cell_run *run = (struct cell_run *)task;
    struct err e;
    if (runs_is_leaving(run)) {
        err_set(&e, ERR_UNAVAILABLE, "files of the session that ended are still being removed");
        err_advise(&e, "Try again in a moment.");
        run->on_begun(run, NULL, &e);
        return;
    }
    task->asked = store_get_notebook(task->engine->store, run->id, runs_on_notebook, run);
}

void runs_on_left(struct engine *engine, const char *id)
{
    LIST_EACH(&engine->notebooks.tasks.under_way, node) {
        const struct task *task = CONTAINER_OF(node, struct task, node);
        if (task->fn == runs_bring_back && loop_timer_is_set(task->later) &&
            strcmp(((const struct cell_run *)task)->id, id) == 0)
            loop_timer_set(task->later, 0);
    }
}

static void runs_on_read(void *context, const struct store_cell *cell, const struct err *e)
{
    struct cell_run *run = context;
    struct err refusal;
    run->task.asked = NULL;
    if (e == NULL && cell->kind != CELL_CODE) {
        err_set(&refusal, ERR_INVALID, "the cell %s has no code: it is %s", cell->id,
                cell_kind_name((enum cell_kind)cell->kind));
        err_advise(&refusal, "Run a cell of code, or make this one into code first.");
        e = &refusal;
    }
    if (e != NULL || run->task.is_forgotten) {
        run->on_begun(run, NULL, e);
        return;
    }
    snprintf(run->cell, sizeof(run->cell), "%s", cell->id);
    free(run->source);
    run->source = mem_copy(cell->source, cell->source_len);
    run->request.code = run->source;
    run->request.code_len = cell->source_len;
    run->request.cell = run->cell;
    run->request.cell_number = cell->number;
    struct session *session = session_find(run->task.engine, run->id, &refusal);
    if (session != NULL && session->state != SESSION_DEAD)
        runs_hand_over(run, session);
    else
        task_later(&run->task, runs_bring_back, runs_is_leaving(run) ? LEAVING_MS : 0);
}

static void runs_read(struct cell_run *run, const char *cell)
{
    struct engine *engine = run->task.engine;
    notebooks_flush(engine, run->id);
    run->task.asked = store_get_cell(engine->store, run->id, cell, runs_on_read, run);
}

struct one_run {
    struct cell_run run;
    runs_begun_fn fn;
    void *context;
};

static void runs_end_one(struct task *task)
{
    free(((struct cell_run *)task)->source);
}

static void runs_on_one(struct cell_run *run, struct exec *exec, const struct err *e)
{
    struct one_run *one = (struct one_run *)run;
    if (exec != NULL || !run->task.is_forgotten)
        one->fn(one->context, exec, e);
    task_end(&run->task);
}

struct task *runs_cell(struct engine *engine, const char *id, const char *cell,
                       const struct exec_request *request, runs_begun_fn fn, void *context)
{
    struct one_run *one = task_new(&engine->notebooks.tasks, sizeof(*one), runs_end_one);
    snprintf(one->run.id, sizeof(one->run.id), "%s", id);
    one->run.request = *request;
    one->run.on_begun = runs_on_one;
    one->fn = fn;
    one->context = context;
    runs_read(&one->run, cell);
    return &one->run.task;
}

/* ---- several, one after another -------------------------------------------------------------- */

struct listed_cell {
    char id[CELL_ID_SIZE];
    bool may_fail; /* it is tagged so */
};

struct range_run {
    struct cell_run run; /* of the cell `at` */
    char *from, *to;     /* NULL for the first, the last */
    uint64_t first, last;
    bool goes_on;
    struct listed_cell *cells; /* to be run */
    size_t n_cells, at;
    struct exec *exec; /* that runs; NULL if none does */
    uint64_t n_ran;
    char failed[CELL_ID_SIZE]; /* "": none */
    const struct runs_listener *listener;
    void *context;
};

static void runs_end_range(struct task *task)
{
    struct range_run *range = (struct range_run *)task;
    if (range->exec != NULL)
        exec_forget(range->exec); /* the daemon ends before the cell does */
    free(range->run.source);
    free(range->from);
    free(range->to);
    free(range->cells);
}

static void runs_finish(struct range_run *range, const struct err *e)
{
    const char *failed = range->failed[0] != '\0' ? range->failed : NULL;
    if (!range->run.task.is_forgotten)
        range->listener->on_end(range->context, range->n_ran, failed, e);
    task_end(&range->run.task);
}

static void runs_next(struct task *task)
{
    struct range_run *range = (struct range_run *)task;
    if (range->at >= range->n_cells || task->is_forgotten)
        runs_finish(range, NULL);
    else
        runs_read(&range->run, range->cells[range->at].id);
}

static void runs_on_next(struct cell_run *run, struct exec *exec, const struct err *e)
{
    struct range_run *range = (struct range_run *)run;
    if (exec != NULL) {
        range->exec = exec;
    } else if (e != NULL && e->code == ERR_NOT_FOUND && range->at + 1 < range->n_cells) {
        range->at++; /* it was removed meanwhile */
        task_later(&run->task, runs_next, 0);
    } else {
        memcpy(range->failed, range->cells[range->at].id, sizeof(range->failed));
        runs_finish(range, e != NULL && e->code == ERR_NOT_FOUND ? NULL : e);
    }
}

/* The next one is begun from the loop: the session is calling us. */
static void runs_tell(struct range_run *range, struct runs_ended *ended, bool is_failure)
{
    const struct listed_cell *cell = &range->cells[range->at];
    bool is_failed = is_failure && !cell->may_fail;
    ended->cell = cell->id;
    if (is_failed && range->failed[0] == '\0')
        memcpy(range->failed, cell->id, sizeof(range->failed));
    if (!range->run.task.is_forgotten)
        range->listener->on_cell(range->context, ended);
    range->at++;
    if ((is_failed && !range->goes_on) || (!is_failure && ended->exit_code == 0))
        range->at = range->n_cells;
    task_later(&range->run.task, runs_next, 0);
}

/* There is nothing left to go on with. */
static void runs_end_with_session(struct range_run *range)
{
    range->goes_on = false;
    range->cells[range->at].may_fail = false;
}

static void runs_on_result(void *context, const struct exec_result *result)
{
    struct range_run *range = context;
    struct err e;
    range->exec = NULL;
    if (result->status == CELL_INPUT) {
        /* Nobody is there to type: the line that the cell waits for is the end of input. */
        struct session *session = session_find(range->run.task.engine, range->run.id, &e);
        struct runs_ended ended = {.state = CELL_ERROR, .last_status = -1, .exit_code = -1};
        if (session == NULL || session_input(session, result->exec_id, NULL, 0,
                                             &range->run.request.wait, &range->exec, &e) < 0)
            runs_tell(range, &ended, true);
        return;
    }
    range->n_ran++;
    struct runs_ended ended = {
        .number = result->exec_id,
        .index = result->cell_number,
        .state = result->status,
        .last_status = result->has_last_status ? result->last_status : -1,
        .exit_code = result->has_exit_code ? result->exit_code : -1,
        .replaced = json_string_value(json_object_get(result->extra, "replaced")),
    };
    if (result->status == CELL_DIED && !result->is_rolled_back)
        runs_end_with_session(range);
    runs_tell(range, &ended, result->status != CELL_COMPLETED || ended.last_status > 0);
}

static void runs_on_failed(void *context, const struct err *e)
{
    (void)e;
    struct range_run *range = context;
    struct runs_ended ended = {.state = CELL_DIED, .last_status = -1, .exit_code = -1};
    range->exec = NULL;
    runs_end_with_session(range);
    runs_tell(range, &ended, true);
}

static const struct exec_listener runs_exec_listener = {.on_result = runs_on_result,
                                                        .on_failed = runs_on_failed};

/* Nobody waits for the run any more, and it is not to go on: the cell that runs is interrupted, one
 * that waits is taken from the queue. What else is under way sees that it was forgotten. */
static void runs_forget_range(struct task *task)
{
    struct range_run *range = (struct range_run *)task;
    if (!range->run.request.wait.cancels || range->exec == NULL)
        return;
    exec_forget(take_ptr(range->exec));
    task_later(task, runs_next, 0);
}

/* ---- which ones ------------------------------------------------------------------------------ */

static bool runs_may_fail(const struct store_cell *cell)
{
    static const char tag[] = "raises-exception";
    struct err ignored;
    _json_ json_t *metadata = NULL;
    if (cell->metadata == NULL ||
        memmem(cell->metadata, cell->metadata_len, tag, strlen(tag)) == NULL)
        return false; /* nearly always, and without parsing it */
    return json_read_object(cell->metadata, cell->metadata_len, &metadata, &ignored) == 0 &&
           cell_has_tag(metadata, tag);
}

static void runs_on_page(void *context, const struct store_cell *list, size_t n, uint64_t count,
                         const struct err *e)
{
    struct range_run *range = context;
    struct task *task = &range->run.task;
    task->asked = NULL;
    if (e != NULL || task->is_forgotten) {
        runs_finish(range, e);
        return;
    }
    range->cells = mem_realloc(range->cells, (range->n_cells + n + 1) * sizeof(*range->cells));
    for (size_t i = 0; i < n && range->first <= range->last; i++, range->first++) {
        if (list[i].kind != CELL_CODE)
            continue;
        struct listed_cell *cell = &range->cells[range->n_cells++];
        snprintf(cell->id, sizeof(cell->id), "%s", list[i].id);
        cell->may_fail = runs_may_fail(&list[i]);
    }
    if (n == 0 || range->first > range->last || range->first >= count)
        runs_next(task);
    else
        task->asked = store_get_cells(task->engine->store, range->run.id, range->first, PAGE, false,
                                      runs_on_page, range);
}

static void runs_list(struct range_run *range);

static void runs_on_bound(void *context, const struct store_cell *cell, const struct err *e)
{
    struct range_run *range = context;
    range->run.task.asked = NULL;
    if (e != NULL || range->run.task.is_forgotten) {
        runs_finish(range, e);
        return;
    }
    if (range->from != NULL)
        range->first = cell->number;
    else
        range->last = cell->number;
    free(range->from != NULL ? take_ptr(range->from) : take_ptr(range->to));
    runs_list(range);
}

/* First the bounds that have names, then the cells between them. */
static void runs_list(struct range_run *range)
{
    struct store *store = range->run.task.engine->store;
    const char *id = range->run.id, *name = range->from != NULL ? range->from : range->to;
    range->run.task.asked =
        name != NULL ? store_get_cell(store, id, name, runs_on_bound, range)
                     : store_get_cells(store, id, range->first, PAGE, false, runs_on_page, range);
}

struct task *runs_cells(struct engine *engine, const char *id, const struct runs_range *wanted,
                        const struct runs_listener *listener, void *context)
{
    struct err ignored; /* if the row cannot be made it is missing, and that is told */
    struct range_run *range = task_new(&engine->notebooks.tasks, sizeof(*range), runs_end_range);
    snprintf(range->run.id, sizeof(range->run.id), "%s", id);
    range->run.on_begun = runs_on_next;
    range->run.task.forget = runs_forget_range;
    range->run.request = (struct exec_request){.timeout_ms = wanted->timeout_ms,
                                               .wait = {.listener = &runs_exec_listener,
                                                        .context = range,
                                                        .budget = ANSWER_BYTES,
                                                        .cancels = wanted->cancels}};
    range->from = wanted->from != NULL ? mem_strdup(wanted->from) : NULL;
    range->to = wanted->to != NULL ? mem_strdup(wanted->to) : NULL;
    range->last = UINT64_MAX - 1;
    range->goes_on = wanted->goes_on;
    range->listener = listener;
    range->context = context;
    notebooks_begin(engine, id, &ignored);
    notebooks_flush(engine, id);
    runs_list(range);
    return &range->run.task;
}
