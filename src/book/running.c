/* Running cells that a notebook has. */
#include "book/state.h"
#include "loop/loop.h"
#include "session/end.h"
#include "session/session.h"

enum { LEAVING_MS = 10 * 1000 }; /* for the files of the session before */

struct run_call {
    struct book_call call;
    char id[UUID_SIZE];
    char cell[BOOK_CELL_ID_SIZE];
    char *source;
    struct exec_request request;
    book_run_fn fn;
    void *context;
};

static void end_run(struct book_call *call)
{
    free(((struct run_call *)call)->source);
}

static void fail(struct run_call *run, const struct err *e)
{
    if (!run->call.is_forgotten)
        run->fn(run->context, NULL, e);
    book_call_end(&run->call);
}

static void start(struct run_call *run, struct session *session)
{
    struct err e;
    struct exec *exec;
    struct book *book = book_find(run->call.books, run->id);
    if (book != NULL && book_find_record(book, run->cell) != NULL) {
        err_set(&e, ERR_CONFLICT, "the cell %s runs already, or waits to", run->cell);
        err_advise(&e, "Wait for its end, or interrupt it.");
        fail(run, &e);
        return;
    }
    if (session_exec(session, &run->request, &exec, &e) < 0) {
        fail(run, &e);
        return;
    }
    run->fn(run->context, exec, NULL);
    book_call_end(&run->call);
}

/* There is no session any more: one of the same id takes its place. */
static void on_notebook(void *context, const struct store_notebook *row, const struct err *e)
{
    struct run_call *run = context;
    struct books *books = run->call.books;
    struct err refusal;
    run->call.asked = NULL;
    if (e != NULL || run->call.is_forgotten) {
        fail(run, e);
        return;
    }
    struct session *session = session_find(books->engine, run->id, &refusal);
    if (session != NULL && session->state == SESSION_DEAD) {
        session_free(session);
        session = NULL;
    }
    if (session == NULL && row->spec == NULL) {
        err_set(&refusal, ERR_CONFLICT, "nobody knows what the notebook's session was made of");
        err_advise(&refusal, "Export it, and import it with a runtime.");
        fail(run, &refusal);
        return;
    }
    if (session == NULL) {
        struct book *book = book_ensure(books, run->id);
        book_hold(book);
        book->has_row = true;
        book->n_cells = row->n_cells;
        book->last_place = row->last_place;
        session = session_revive(books->engine, run->id, row->spec, MAX(row->last_exec, row->count),
                                 &refusal);
        book_let_go(book);
    }
    if (session == NULL)
        fail(run, &refusal);
    else
        start(run, session);
}

static void bring_back(struct book_call *call)
{
    struct run_call *run = (struct run_call *)call;
    struct err e;
    if (engine_is_leaving(call->books->engine, run->id)) {
        err_set(&e, ERR_UNAVAILABLE, "files of the session that ended are still being removed");
        err_advise(&e, "Try again in a moment.");
        fail(run, &e);
        return;
    }
    call->asked = store_get_notebook(call->books->store, run->id, on_notebook, run);
}

void book_on_left(void *context, const char *id)
{
    struct books *books = context;
    LIST_EACH(&books->calls, node) {
        struct book_call *call = CONTAINER_OF(node, struct book_call, node);
        if (call->fn == bring_back && loop_timer_is_set(call->later) &&
            strcmp(((struct run_call *)call)->id, id) == 0)
            loop_timer_set(call->later, 0);
    }
}

static void on_cell(void *context, const struct store_cell *cell, const struct err *e)
{
    struct run_call *run = context;
    struct books *books = run->call.books;
    struct err refusal;
    run->call.asked = NULL;
    if (e == NULL && cell->kind != CELL_CODE) {
        err_set(&refusal, ERR_INVALID, "the cell %s has no code: it is %s", cell->id,
                notebook_kind_name((enum cell_kind)cell->kind));
        err_advise(&refusal, "Run a cell of code, or make this one into code first.");
        e = &refusal;
    }
    if (e != NULL || run->call.is_forgotten) {
        fail(run, e);
        return;
    }
    snprintf(run->cell, sizeof(run->cell), "%s", cell->id);
    run->source = mem_copy(cell->source, cell->source_len);
    run->request.code = run->source;
    run->request.code_len = cell->source_len;
    run->request.cell = run->cell;
    run->request.cell_number = cell->number;
    struct session *session = session_find(books->engine, run->id, &refusal);
    if (session != NULL && session->state != SESSION_DEAD)
        start(run, session);
    else
        book_call_later(&run->call, bring_back,
                        engine_is_leaving(books->engine, run->id) ? LEAVING_MS : 0);
}

struct book_call *book_run(struct books *books, const char *id, const char *cell,
                           const struct exec_request *request, book_run_fn fn, void *context)
{
    struct run_call *run = book_call_new(books, sizeof(*run), end_run);
    snprintf(run->id, sizeof(run->id), "%s", id);
    run->request = *request;
    run->fn = fn;
    run->context = context;
    book_flush(books, id);
    run->call.asked = store_get_cell(books->store, id, cell, on_cell, run);
    return &run->call;
}
