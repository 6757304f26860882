#include "base/clock.h"
#include "book/state.h"
#include "loop/loop.h"
#include "session/engine.h"
#include "session/session.h"
#include "session/spec.h"

enum { TIDY_MS = 3600 * 1000, FIRST_TIDY_MS = 5 * 1000, TIDY_PAGE = 100 };

/* ---- heads -------------------------------------------------------------------------------------
 */

struct book *book_find(struct books *books, const char *id)
{
    return map_get(&books->books, id);
}

struct book *book_ensure(struct books *books, const char *id)
{
    struct book *book = book_find(books, id);
    if (book != NULL)
        return book;
    book = mem_alloc(sizeof(*book));
    book->books = books;
    snprintf(book->id, sizeof(book->id), "%s", id);
    list_init(&book->records);
    list_init(&book->watchers);
    map_set(&books->books, book->id, book);
    return book;
}

static void free_book(struct book *book)
{
    while (!list_is_empty(&book->records))
        record_free(CONTAINER_OF(list_first(&book->records), struct cell_record, node));
    book_drop_watchers(book);
    map_remove(&book->books->books, book->id);
    free(book);
}

void book_hold(struct book *book)
{
    book->n_holds++;
}

void book_let_go(struct book *book)
{
    bool is_needed = book->has_session || book->n_watchers > 0 || !list_is_empty(&book->records);
    if (--book->n_holds == 0 && !is_needed && !book->books->is_closing)
        free_book(book);
}

int book_put_row(struct book *book, const struct session *session, struct err *e)
{
    if (book->has_row)
        return 0;
    char metadata[UUID_SIZE + 32];
    _free_ char *spec = spec_write(session);
    snprintf(metadata, sizeof(metadata), "{\"branched_from\":\"%s\"}", session->branches.from);
    struct store_notebook row = {
        .id = book->id,
        .user = session->agent != NULL ? session->agent : "default",
        .runtime = session->runtime->name,
        .metadata = session->branches.from[0] != '\0' ? metadata : NULL,
        .spec = spec,
        .created_ms = session->life.spawned_at_ms,
        .count = 0,
    };
    if (store_put_notebook(book->books->store, &row, e) < 0)
        return -1;
    book->has_row = true;
    return 0;
}

void book_flush(struct books *books, const char *id)
{
    struct book *book = book_find(books, id);
    if (book == NULL)
        return;
    LIST_EACH(&book->records, node) {
        struct cell_record *record = CONTAINER_OF(node, struct cell_record, node);
        if (record->exec != NULL && (record->is_dirty || !record->is_put))
            record_put(record);
    }
}

/* ---- calls -------------------------------------------------------------------------------------
 */

void *book_call_new(struct books *books, size_t size, void (*end)(struct book_call *call))
{
    struct book_call *call = mem_alloc(size);
    call->books = books;
    call->end = end;
    list_append(&books->calls, &call->node);
    return call;
}

void book_call_end(struct book_call *call)
{
    list_remove(&call->node);
    loop_timer_close(take_ptr(call->later), NULL);
    if (call->end != NULL)
        call->end(call);
    free(call);
}

void book_forget(struct book_call *call)
{
    if (call == NULL || call->is_forgotten)
        return;
    call->is_forgotten = true;
    if (call->forget != NULL)
        call->forget(call);
}

static void on_later(void *context)
{
    struct book_call *call = context;
    call->fn(call);
}

void book_call_later(struct book_call *call, void (*fn)(struct book_call *call), uint64_t in_ms)
{
    call->fn = fn;
    if (call->later == NULL)
        call->later = loop_timer_new(call->books->loop, on_later, call);
    loop_timer_set(call->later, in_ms);
}

/* ---- notebooks whose time is over --------------------------------------------------------------
 */

static void on_listed(void *context, const struct store_notebook *list, size_t n, uint64_t count,
                      const struct err *e);

struct tidying {
    struct book_call call;
    uint64_t offset;
};

static void list_more(struct tidying *tidying)
{
    tidying->call.asked = store_list_notebooks(tidying->call.books->store, NULL, tidying->offset,
                                               TIDY_PAGE, on_listed, tidying);
}

static bool is_over(struct books *books, const struct store_notebook *row, uint64_t now_ms)
{
    uint64_t ttl_ms = (uint64_t)books->config.ttl_days * 86400 * 1000;
    struct err ignored;
    return ttl_ms > 0 && row->updated_ms + ttl_ms < now_ms && !row->has_session &&
           book_find(books, row->id) == NULL &&
           session_find(books->engine, row->id, &ignored) == NULL;
}

static void on_listed(void *context, const struct store_notebook *list, size_t n, uint64_t count,
                      const struct err *e)
{
    struct tidying *tidying = context;
    tidying->call.asked = NULL;
    struct books *books = tidying->call.books;
    uint64_t now_ms = clock_wall_ms();
    size_t n_removed = 0;
    for (size_t i = 0; e == NULL && i < n; i++) {
        struct err ignored;
        if (is_over(books, &list[i], now_ms) &&
            store_delete_notebook(books->store, list[i].id, NULL, NULL, &ignored) != NULL) {
            mirror_changed(books, list[i].id);
            n_removed++;
        }
    }
    tidying->offset += n - n_removed;
    if (e == NULL && n > 0 && tidying->offset < count - MIN(count, n_removed) && !books->is_closing)
        list_more(tidying);
    else
        book_call_end(&tidying->call);
}

static void on_tidy(void *context)
{
    struct books *books = context;
    loop_timer_set(books->tidy, TIDY_MS);
    if (books->config.ttl_days > 0)
        list_more(book_call_new(books, sizeof(struct tidying), NULL));
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static void load_head(void *context, const struct store_notebook *row)
{
    struct books *books = context;
    struct err ignored;
    struct session *session = session_find(books->engine, row->id, &ignored);
    if (session == NULL)
        return;
    struct book *book = book_ensure(books, row->id);
    book->has_row = true;
    book->n_cells = row->n_cells;
    book->last_place = row->last_place;
    /* Cells that ran after the session was last written down. */
    session->n_execs = MAX(session->n_execs, MAX(row->last_exec, row->count));
    session->forgotten_exec = MAX(session->forgotten_exec, session->n_execs);
}

int books_new(struct engine *engine, const struct books_config *config, uv_loop_t *loop,
              struct books **ret_books, struct err *e)
{
    struct books *books = mem_alloc(sizeof(*books));
    books->engine = engine;
    books->store = engine_store(engine);
    books->loop = loop;
    books->config = *config;
    list_init(&books->calls);
    mirrors_init(&books->mirrors);
    list_init(&books->asked_for);
    for (struct session *s = session_next(engine, NULL); s != NULL; s = session_next(engine, s))
        if (!s->is_unlisted)
            book_ensure(books, s->id)->has_session = true;
    if (store_each_notebook_head(books->store, load_head, books, e) < 0) {
        books_free(books);
        return -1;
    }
    books->tidy = loop_timer_new(loop, on_tidy, books);
    loop_timer_set(books->tidy, clock_scaled_ms(FIRST_TIDY_MS));
    engine_use_recorder(engine, &book_recorder, books);
    store_on_shown(books->store, book_on_shown, books);
    mirrors_compare(books);
    *ret_books = books;
    return 0;
}

void books_reconfigure(struct books *books, const struct books_config *config)
{
    int data_dir = books->config.data_dir;
    bool had_cells_json = books->config.has_cells_json;
    bool has_other_ttl = books->config.ttl_days != config->ttl_days;
    books->config = *config;
    books->config.data_dir = data_dir;
    if (!had_cells_json)
        mirrors_compare(books);
    if (has_other_ttl)
        loop_timer_set(books->tidy, 0);
}

void books_free(struct books *books)
{
    if (books == NULL)
        return;
    books->is_closing = true;
    engine_use_recorder(books->engine, NULL, NULL);
    store_on_shown(books->store, NULL, NULL);
    loop_timer_close(take_ptr(books->tidy), NULL);
    loop_timer_close(take_ptr(books->keeping), NULL);
    while (!list_is_empty(&books->calls)) {
        struct book_call *call = CONTAINER_OF(list_first(&books->calls), struct book_call, node);
        if (call->asked != NULL)
            store_forget(call->asked);
        if (call->is_busy) {
            call->is_forgotten = true;
            call->books = NULL;
            list_remove(&call->node);
        } else {
            book_call_end(call);
        }
    }
    size_t at = 0;
    const char *id;
    void *book;
    while (map_next(&books->books, &at, &id, &book)) {
        free_book(book);
        at = 0;
    }
    map_free(&books->books);
    mirrors_free(&books->mirrors);
    free(books);
}
