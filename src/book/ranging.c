/* Running several cells of a notebook, one after another. */
#include "book/state.h"
#include "session/session.h"

enum { PAGE = 500, ANSWER_BYTES = 1024 };

struct range_cell {
    char id[BOOK_CELL_ID_SIZE];
    bool may_fail; /* it is tagged so */
};

struct range_call {
    struct book_call call;
    char id[UUID_SIZE];
    char *from, *to; /* NULL: the first, the last */
    uint64_t first, last;
    bool goes_on;
    uint32_t timeout_ms;
    struct range_cell *cells; /* to be run */
    size_t n_cells, at;
    struct book_call *running; /* until its session has it */
    struct exec *exec;         /* from then on; NULL: none */
    bool cancels;
    uint64_t n_ran;
    char failed[BOOK_CELL_ID_SIZE]; /* "": none */
    const struct book_range_listener *listener;
    void *context;
};

static void end_range(struct book_call *call)
{
    struct range_call *range = (struct range_call *)call;
    if (range->exec != NULL)
        exec_forget(range->exec); /* the daemon ends before the cell does */
    free(range->from);
    free(range->to);
    free(range->cells);
}

static void finish(struct range_call *range, const struct err *e)
{
    const char *failed = range->failed[0] != '\0' ? range->failed : NULL;
    if (!range->call.is_forgotten)
        range->listener->on_end(range->context, range->n_ran, failed, e);
    book_call_end(&range->call);
}

/* ---- one after another -------------------------------------------------------------------------
 */

static void run_next(struct book_call *call);
static const struct exec_listener exec_listener;

static struct exec_wait make_wait(struct range_call *range)
{
    return (struct exec_wait){.listener = &exec_listener,
                              .context = range,
                              .budget = ANSWER_BYTES,
                              .cancels = range->cancels};
}

static void tell(struct range_call *range, struct book_ran *ran, bool is_failure)
{
    const struct range_cell *cell = &range->cells[range->at];
    bool is_failed = is_failure && !cell->may_fail;
    ran->cell = cell->id;
    if (is_failed && range->failed[0] == '\0')
        memcpy(range->failed, cell->id, sizeof(range->failed));
    if (!range->call.is_forgotten)
        range->listener->on_cell(range->context, ran);
    range->at++;
    if ((is_failed && !range->goes_on) || (!is_failure && ran->exit_code == 0))
        range->at = range->n_cells;
    book_call_later(&range->call, run_next,
                    0); /* the session is in the middle of its own affairs */
}

/* Nobody is there to type: the line that it waits for is the end of input. */
static void refuse_input(struct range_call *range, uint64_t exec_id)
{
    struct err e;
    struct exec_wait wait = make_wait(range);
    struct session *session = session_find(range->call.books->engine, range->id, &e);
    struct book_ran ran = {.state = "error", .last_status = -1, .exit_code = -1};
    if (session == NULL || session_input(session, exec_id, NULL, 0, &wait, &range->exec, &e) < 0)
        tell(range, &ran, true);
}

/* There is nothing left to go on with. */
static void end_with_session(struct range_call *range)
{
    range->goes_on = false;
    range->cells[range->at].may_fail = false;
}

static void on_result(void *context, const struct exec_result *result)
{
    struct range_call *range = context;
    range->exec = NULL;
    if (result->status == CELL_INPUT) {
        refuse_input(range, result->exec_id);
        return;
    }
    range->n_ran++;
    struct book_ran ran = {
        .number = result->exec_id,
        .index = result->cell_number,
        .state = cell_state_name(result->status),
        .last_status = result->has_last_status ? result->last_status : -1,
        .exit_code = result->has_exit_code ? result->exit_code : -1,
    };
    if (result->status == CELL_DIED && !result->is_rolled_back)
        end_with_session(range);
    tell(range, &ran, result->status != CELL_COMPLETED || ran.last_status > 0);
}

static void on_failed(void *context, const struct err *e)
{
    (void)e;
    struct range_call *range = context;
    struct book_ran ran = {.state = "died", .last_status = -1, .exit_code = -1};
    range->exec = NULL;
    end_with_session(range);
    tell(range, &ran, true);
}

static const struct exec_listener exec_listener = {.on_result = on_result, .on_failed = on_failed};

static void on_run(void *context, struct exec *exec, const struct err *e)
{
    struct range_call *range = context;
    range->running = NULL;
    if (e == NULL) {
        range->exec = exec;
        return;
    }
    if (e->code == ERR_NOT_FOUND && range->at + 1 < range->n_cells) { /* removed meanwhile */
        range->at++;
        book_call_later(&range->call, run_next, 0);
        return;
    }
    memcpy(range->failed, range->cells[range->at].id, sizeof(range->failed));
    finish(range, e->code == ERR_NOT_FOUND ? NULL : e);
}

static void run_next(struct book_call *call)
{
    struct range_call *range = (struct range_call *)call;
    if (range->at >= range->n_cells || call->is_forgotten) {
        finish(range, NULL);
        return;
    }
    struct exec_request request = {.timeout_ms = range->timeout_ms, .wait = make_wait(range)};
    range->running =
        book_run(call->books, range->id, range->cells[range->at].id, &request, on_run, range);
}

/* Nobody waits for it any more, and it is not to go on: the cell that runs is interrupted, one that
 * waits is taken from the queue. */
static void forget_range(struct book_call *call)
{
    struct range_call *range = (struct range_call *)call;
    if (!range->cancels || (range->exec == NULL && range->running == NULL))
        return; /* what comes next sees that it was forgotten */
    book_forget(take_ptr(range->running));
    if (range->exec != NULL)
        exec_forget(take_ptr(range->exec));
    book_call_later(call, run_next, 0);
}

/* ---- which ones --------------------------------------------------------------------------------
 */

static bool has_tag(const struct store_cell *cell, const char *tag)
{
    struct err ignored;
    _json_ json_t *metadata = NULL;
    if (cell->metadata == NULL ||
        memmem(cell->metadata, cell->metadata_len, tag, strlen(tag)) == NULL)
        return false; /* nearly always, and without parsing it */
    return json_read_object(cell->metadata, cell->metadata_len, &metadata, &ignored) == 0 &&
           notebook_has_tag(metadata, tag);
}

static void add_cell(struct range_call *range, const struct store_cell *row)
{
    struct range_cell *cell = &range->cells[range->n_cells++];
    snprintf(cell->id, sizeof(cell->id), "%s", row->id);
    cell->may_fail = has_tag(row, "raises-exception");
}

static void on_page(void *context, const struct store_cell *list, size_t n, uint64_t count,
                    const struct err *e)
{
    struct range_call *range = context;
    range->call.asked = NULL;
    if (e != NULL || range->call.is_forgotten) {
        finish(range, e);
        return;
    }
    range->cells = mem_realloc(range->cells, (range->n_cells + n + 1) * sizeof(*range->cells));
    for (size_t i = 0; i < n && range->first <= range->last; i++, range->first++)
        if (list[i].kind == CELL_CODE)
            add_cell(range, &list[i]);
    if (n == 0 || range->first > range->last || range->first >= count)
        run_next(&range->call);
    else
        range->call.asked = store_get_cells(range->call.books->store, range->id, range->first, PAGE,
                                            false, on_page, range);
}

static void find_bounds(struct range_call *range);

static void on_bound(void *context, const struct store_cell *cell, const struct err *e)
{
    struct range_call *range = context;
    range->call.asked = NULL;
    if (e != NULL || range->call.is_forgotten) {
        finish(range, e);
        return;
    }
    if (range->from != NULL)
        range->first = cell->number;
    else
        range->last = cell->number;
    free(range->from != NULL ? take_ptr(range->from) : take_ptr(range->to));
    find_bounds(range);
}

static void find_bounds(struct range_call *range)
{
    struct store *store = range->call.books->store;
    const char *name = range->from != NULL ? range->from : range->to;
    range->call.asked =
        name != NULL ? store_get_cell(store, range->id, name, on_bound, range)
                     : store_get_cells(store, range->id, range->first, PAGE, false, on_page, range);
}

struct book_call *book_run_range(struct books *books, const char *id,
                                 const struct book_range *wanted,
                                 const struct book_range_listener *listener, void *context)
{
    struct range_call *range = book_call_new(books, sizeof(*range), end_range);
    snprintf(range->id, sizeof(range->id), "%s", id);
    range->from = wanted->from != NULL ? mem_strdup(wanted->from) : NULL;
    range->to = wanted->to != NULL ? mem_strdup(wanted->to) : NULL;
    range->last = UINT64_MAX - 1;
    range->goes_on = wanted->goes_on;
    range->cancels = wanted->cancels;
    range->call.forget = forget_range;
    range->timeout_ms = wanted->timeout_ms;
    range->listener = listener;
    range->context = context;
    book_begin(books, id);
    book_flush(books, id);
    find_bounds(range);
    return &range->call;
}
