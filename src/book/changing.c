/* Changes by callers: handed to the store, whose one thread puts them into an order. */
#include "book/state.h"
#include "session/session.h"

struct change_call {
    struct book_call call;
    char id[UUID_SIZE];
    enum store_change_kind what;
    uint64_t n_appended;  /* of the notebook when it was asked for */
    uint64_t last_record; /* likewise */
    char *source;         /* that watchers are told of; NULL: none */
    size_t source_len;
    struct err refusal;
    book_changed_fn fn;
    void *context;
};

static void end_change(struct book_call *call)
{
    free(((struct change_call *)call)->source);
}

/* What the head in memory knows better: cells that were appended meanwhile. */
static void take_count(struct book *book, const struct change_call *change, uint64_t n_cells,
                       int64_t last_place)
{
    book->n_cells = n_cells + (book->n_appended - change->n_appended);
    book->last_place = MAX(book->last_place, last_place);
}

static void emit_id(struct book *book, const char *name, const struct store_cell *now)
{
    _buf_ struct buf members = BUF_INIT(KIB);
    struct json_out json = JSON_OUT(&members);
    json_put_member_str(&json, "cell_id", now->id);
    json_put_member_some(&json, "number", (int64_t)now->exec_id);
    if (strcmp(name, "cell_moved") == 0)
        json_put_member_int(&json, "index", (int64_t)now->number);
    book_emit(book, name, &members);
}

static void tell_watchers(struct book *book, const struct change_call *change,
                          const struct store_cell *now)
{
    static const char *const names[] = {[CHANGE_INSERT] = "cell_added",
                                        [CHANGE_EDIT] = "cell_changed",
                                        [CHANGE_REMOVE] = "cell_removed",
                                        [CHANGE_MOVE] = "cell_moved",
                                        [CHANGE_CLEAR_OUTPUTS] = "output_cleared",
                                        [CHANGE_CLEAR_ALL] = "cells_cleared"};
    const char *name = names[change->what];
    if (now == NULL) {
        _buf_ struct buf members = BUF_INIT(KIB);
        buf_append_str(&members, change->what == CHANGE_CLEAR_ALL ? "\"what\":\"cells\""
                                                                  : "\"what\":\"outputs\"");
        book_emit(book, "cells_cleared", &members);
    } else if (change->what == CHANGE_INSERT || change->what == CHANGE_EDIT) {
        struct store_cell cell = *now;
        cell.source = change->source;
        cell.source_len = change->source_len;
        book_emit_cell(book, name, &cell);
    } else {
        emit_id(book, name, now);
    }
}

/* What running cells have shown goes, too. */
static void clear_running(struct book *book, const struct store_cell *now)
{
    LIST_EACH(&book->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        if (now == NULL || strcmp(now->id, record->cell->id) == 0)
            transcript_clear_row(&record->cell->transcript);
    }
}

/* The cell is text now, or gone: if it runs, nothing of that is its own any more, nor of another
 * one's that gets its id. */
static void leave_runs(struct book *book, const struct change_call *change,
                       const struct store_cell *now)
{
    LIST_EACH(&book->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        bool is_meant = now != NULL ? strcmp(now->id, record->cell->id) == 0
                                    : record->serial <= change->last_record;
        record->is_outrun |= is_meant;
    }
}

static void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
                       int64_t last_place, const struct err *e)
{
    struct change_call *change = context;
    struct book *book = book_find(change->call.books, change->id);
    change->call.asked = NULL;
    if (book != NULL && e == NULL) {
        book_hold(book);
        take_count(book, change, n_cells, last_place);
        if (change->what == CHANGE_CLEAR_OUTPUTS)
            clear_running(book, now);
        if ((change->what == CHANGE_EDIT && now->kind != CELL_CODE) ||
            change->what == CHANGE_REMOVE || change->what == CHANGE_CLEAR_ALL)
            leave_runs(book, change, now);
        tell_watchers(book, change, now);
        book_let_go(book);
    }
    if (e == NULL)
        mirror_changed(change->call.books, change->id);
    if (!change->call.is_forgotten)
        change->fn(change->context, now, n_cells, e);
    book_call_end(&change->call);
}

static void on_refused(struct book_call *call)
{
    struct change_call *change = (struct change_call *)call;
    if (!call->is_forgotten)
        change->fn(change->context, NULL, 0, &change->refusal);
    book_call_end(call);
}

/* The notebook of a session that has run nothing yet begins with this. */
static int begin_row(struct books *books, struct book *book, struct err *e)
{
    struct session *session = session_find(books->engine, book->id, e);
    return session == NULL ? -1 : book_put_row(book, session, e);
}

void book_begin(struct books *books, const char *id)
{
    struct err ignored;
    struct book *book = book_find(books, id);
    if (book != NULL && book->has_session)
        begin_row(books, book, &ignored);
}

struct book_call *book_change(struct books *books, const char *id, const struct store_change *asked,
                              book_changed_fn fn, void *context)
{
    struct change_call *change = book_call_new(books, sizeof(*change), end_change);
    struct book *book = book_find(books, id);
    snprintf(change->id, sizeof(change->id), "%s", id);
    change->what = asked->what;
    change->fn = fn;
    change->context = context;
    if (asked->to != NULL && asked->to->source != NULL) {
        change->source = mem_copy(asked->to->source, asked->to->source_len);
        change->source_len = asked->to->source_len;
    }
    if (book != NULL && book->has_session && begin_row(books, book, &change->refusal) < 0) {
        book_call_later(&change->call, on_refused, 0);
        return &change->call;
    }
    if (book != NULL) {
        book_flush(books, id); /* so that cells which run are there to be changed */
        change->n_appended = book->n_appended;
        change->last_record = book->last_record;
    }
    struct store_change wanted = *asked;
    wanted.max_cells = books->config.max_cells;
    change->call.asked = store_change_cells(books->store, id, &wanted, on_changed, change);
    return &change->call;
}

/* ---- the notebook itself -----------------------------------------------------------------------
 */

struct describe_call {
    struct book_call call;
    char id[UUID_SIZE];
    store_done_fn fn;
    void *context;
};

static void emit_description(struct book *book, const struct store_notebook *row)
{
    _buf_ struct buf members = BUF_INIT(STORE_ROW_BYTES);
    struct json_out json = JSON_OUT(&members);
    json_put_member_str(&json, "title", row->title);
    if (row->metadata != NULL) {
        json_put_key(&json, "metadata");
        json_put_raw(&json, row->metadata, strlen(row->metadata));
    }
    book_emit(book, "notebook_changed", &members);
}

static void finish_describing(struct describe_call *describe, const struct err *e)
{
    if (e == NULL)
        mirror_changed(describe->call.books, describe->id);
    if (!describe->call.is_forgotten)
        describe->fn(describe->context, e);
    book_call_end(&describe->call);
}

static void on_row(void *context, const struct store_notebook *row, const struct err *e)
{
    struct describe_call *describe = context;
    struct book *book = book_find(describe->call.books, describe->id);
    describe->call.asked = NULL;
    if (e == NULL && book != NULL)
        emit_description(book, row);
    finish_describing(describe, e);
}

/* Watchers are told how it is now. */
static void on_described(void *context, const struct err *e)
{
    struct describe_call *describe = context;
    struct books *books = describe->call.books;
    describe->call.asked = NULL;
    if (e == NULL && book_find(books, describe->id) != NULL)
        describe->call.asked = store_get_notebook(books->store, describe->id, on_row, describe);
    else
        finish_describing(describe, e);
}

struct book_call *book_describe(struct books *books, const char *id, const char *title,
                                const char *metadata, store_done_fn fn, void *context)
{
    struct describe_call *describe = book_call_new(books, sizeof(*describe), NULL);
    snprintf(describe->id, sizeof(describe->id), "%s", id);
    describe->fn = fn;
    describe->context = context;
    book_begin(books, id); /* if it cannot the row is missing, and that is told */
    describe->call.asked =
        store_describe_notebook(books->store, id, title, metadata, on_described, describe);
    return &describe->call;
}

struct delete_call {
    struct book_call call;
    char id[UUID_SIZE];
    struct err refusal;
    store_done_fn fn;
    void *context;
};

static void on_deleted(void *context, const struct err *e)
{
    struct delete_call *delete = context;
    struct book *book = book_find(delete->call.books, delete->id);
    delete->call.asked = NULL;
    if (e == NULL)
        mirror_changed(delete->call.books, delete->id);
    if (book != NULL && e == NULL) {
        _buf_ struct buf nothing = BUF_INIT(KIB);
        book_emit(book, "deleted", &nothing);
    }
    if (!delete->call.is_forgotten && delete->fn != NULL)
        delete->fn(delete->context, e);
    book_call_end(&delete->call);
}

static void on_not_deleted(struct book_call *call)
{
    struct delete_call *delete = (struct delete_call *)call;
    on_deleted(delete, &delete->refusal);
}

struct book_call *book_delete(struct books *books, const char *id, store_done_fn fn, void *context)
{
    struct delete_call *delete = book_call_new(books, sizeof(*delete), NULL);
    struct book *book = book_find(books, id);
    snprintf(delete->id, sizeof(delete->id), "%s", id);
    delete->fn = fn;
    delete->context = context;
    if (book != NULL) {
        book_flush(books, id); /* so that cells which wait or run are deleted, too */
        book->has_row = false;
        book->n_cells = 0;
        book->last_place = 0;
    }
    delete->call.asked =
        store_delete_notebook(books->store, id, on_deleted, delete, &delete->refusal);
    if (delete->call.asked == NULL)
        book_call_later(&delete->call, on_not_deleted, 0);
    return &delete->call;
}
