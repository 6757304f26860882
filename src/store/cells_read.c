/* Cells as callers see them. Daemon; applied by the store's writer thread. */
#include "store/internal.h"

#define HEAD                                                                                       \
    "c.id, c.place, c.kind, c.state, c.exec_id, c.count, c.revision, c.created_ms, "               \
    "c.executed_ms, c.duration_us, c.undone"
enum { SOURCE_COLUMN = 11, CELLS_READ_METADATA_COLUMN, OUTPUTS_COLUMN };

static const char *copy_text(struct arena *memory, sqlite3_stmt *s, int column, size_t *ret_len)
{
    const char *text = db_text(s, column);
    *ret_len = (size_t)sqlite3_column_bytes(s, column);
    return text == NULL ? NULL : arena_copy(memory, text, *ret_len);
}

static void read_head(struct arena *memory, sqlite3_stmt *s, struct store_cell *cell)
{
    size_t ignored;
    *cell = (struct store_cell){
        .id = copy_text(memory, s, 0, &ignored),
        .place = sqlite3_column_int64(s, 1),
        .kind = sqlite3_column_int(s, 2),
        .state = copy_text(memory, s, 3, &ignored),
        .exec_id = db_number(s, 4),
        .count = db_number(s, 5),
        .revision = db_number(s, 6),
        .created_ms = db_number(s, 7),
        .executed_ms = db_number(s, 8),
        .duration_us = db_number(s, 9),
        .is_undone = db_number(s, 10) != 0,
    };
}

static void read_texts(struct arena *memory, sqlite3_stmt *s, struct store_cell *cell)
{
    cell->source = copy_text(memory, s, SOURCE_COLUMN, &cell->source_len);
    cell->metadata = copy_text(memory, s, CELLS_READ_METADATA_COLUMN, &cell->metadata_len);
    cell->outputs = copy_text(memory, s, OUTPUTS_COLUMN, &cell->outputs_len);
}

int cell_read_head(struct store *store, const struct cell_at *at, struct arena *memory,
                   struct store_cell *ret, struct err *e)
{
    static const struct db_sql sql = {"SELECT " HEAD " FROM cells AS c WHERE c.key=?1"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(at->key));
    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(e, ERR_INTERNAL, "a cell's row is not there any more");
    read_head(memory, s, ret);
    ret->number = at->number;
    sqlite3_reset(s);
    return 0;
}

/* ---- one ------------------------------------------------------------------------------------- */

struct cell_get_call {
    struct store_call call;
    const char *name;
    struct store_cell cell;
};

static int cells_read_apply_get(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT " HEAD ", s.source, s.metadata, o.outputs FROM cells AS c"
        " LEFT JOIN sources AS s ON s.cell=c.key LEFT JOIN outputs AS o ON o.cell=c.key"
        " WHERE c.key=?1"};
    struct cell_get_call *get = CONTAINER_OF(call, struct cell_get_call, call);
    struct notebook_at book;
    struct cell_at at;
    if (notebook_find(store, call->scope, &book, e) < 0 ||
        cell_find(store, &book, get->name, &at, e) < 0)
        return -1;
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(at.key));
    if (got > 0) {
        read_head(&call->memory, s, &get->cell);
        read_texts(&call->memory, s, &get->cell);
        get->cell.number = at.number;
        sqlite3_reset(s);
    }
    if (got == 0)
        return err_set(e, ERR_INTERNAL, "a cell's row is not there any more");
    return got < 0 ? -1 : 0;
}

static void cells_read_deliver_get(struct store_call *call, const struct err *e)
{
    const struct cell_get_call *get = CONTAINER_OF(call, struct cell_get_call, call);
    ((store_cell_fn)call->fn)(call->context, e == NULL ? &get->cell : NULL, e);
}

static const struct call_type cells_read_get_type = {
    .apply = cells_read_apply_get, .deliver = cells_read_deliver_get, .is_read = true};

struct store_call *store_get_cell(struct store *store, const char *notebook, const char *name,
                                  store_cell_fn fn, void *context)
{
    struct cell_get_call *get = call_new(store, &cells_read_get_type, sizeof(*get), notebook);
    get->name = arena_strdup(&get->call.memory, name);
    return call_ask(&get->call, (void *)fn, context);
}

/* ---- several --------------------------------------------------------------------------------- */

struct cell_list_call {
    struct store_call call;
    uint64_t offset, count;
    uint32_t limit;
    bool with_outputs;
    struct store_cell *list;
    size_t n;
};

/* Rows until the page is full. They are numbered from `number` on. */
static int read_rows(struct store *store, struct cell_list_call *list, sqlite3_stmt *s,
                     uint64_t number, struct err *e)
{
    size_t bytes = 0;
    int got = 0;
    free(list->list);
    list->list = mem_alloc(MAX(list->limit, 1U) * sizeof(*list->list));
    while (list->n < list->limit && bytes < STORE_PAGE_BYTES &&
           (got = db_step(&store->db, s, e)) > 0) {
        struct store_cell *cell = &list->list[list->n++];
        read_head(&list->call.memory, s, cell);
        read_texts(&list->call.memory, s, cell);
        cell->number = number++;
        bytes += cell->source_len + cell->metadata_len + cell->outputs_len;
    }
    sqlite3_reset(s);
    return got < 0 ? -1 : 0;
}

static int apply_page(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT " HEAD ", s.source, s.metadata, o.outputs FROM cells AS c"
        " LEFT JOIN sources AS s ON s.cell=c.key LEFT JOIN outputs AS o ON ?3 AND o.cell=c.key"
        " WHERE c.notebook=?1 AND c.place>=?2 ORDER BY c.place LIMIT ?4"};
    struct cell_list_call *list = CONTAINER_OF(call, struct cell_list_call, call);
    struct notebook_at book;
    int64_t place;
    if (notebook_find(store, call->scope, &book, e) < 0)
        return -1;
    list->count = book.n_cells;
    list->n = 0;
    if (list->offset >= book.n_cells || list->limit == 0)
        return 0;
    if (cell_place(store, &book, list->offset, &place, e) < 0)
        return -1;
    sqlite3_stmt *s = db_ask(&store->db, &sql, e, DB_NUMBER(book.key), DB_PLACE(place),
                             DB_NUMBER(list->with_outputs), DB_NUMBER(list->limit));
    return s == NULL ? -1 : read_rows(store, list, s, list->offset, e);
}

static int cells_read_apply_list(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT " HEAD ", s.source, NULL, NULL FROM cells AS c LEFT JOIN sources AS s"
        " ON s.cell=c.key WHERE c.notebook=?1 AND c.exec_id>0"
        " AND c.state NOT IN ('idle', 'queued', 'running') ORDER BY c.exec_id LIMIT ?3 OFFSET ?2"};
    static const struct db_sql count = {"SELECT count(*) FROM cells WHERE notebook=?1 AND exec_id>0"
                                        " AND state NOT IN ('idle', 'queued', 'running')"};
    struct cell_list_call *list = CONTAINER_OF(call, struct cell_list_call, call);
    struct notebook_at book;
    struct err missing;
    list->n = list->count = 0;
    if (notebook_find(store, call->scope, &book, &missing) < 0) {
        *e = missing;
        return store->db.is_broken ? -1 : 0;
    }
    sqlite3_stmt *s;
    if (db_first(&store->db, &count, &s, e, DB_NUMBER(book.key)) < 0)
        return -1;
    list->count = db_number(s, 0);
    sqlite3_reset(s);
    s = db_ask(&store->db, &sql, e, DB_NUMBER(book.key), DB_NUMBER(list->offset),
               DB_NUMBER(list->limit));
    return s == NULL ? -1 : read_rows(store, list, s, 0, e);
}

static void cells_read_deliver_list(struct store_call *call, const struct err *e)
{
    const struct cell_list_call *list = CONTAINER_OF(call, struct cell_list_call, call);
    ((store_cells_fn)call->fn)(call->context, list->list, e == NULL ? list->n : 0, list->count, e);
}

static void release_list(struct store_call *call)
{
    free(CONTAINER_OF(call, struct cell_list_call, call)->list);
}

static const struct call_type page_type = {.apply = apply_page,
                                           .deliver = cells_read_deliver_list,
                                           .release = release_list,
                                           .is_read = true};
static const struct call_type cells_read_list_type = {.apply = cells_read_apply_list,
                                                      .deliver = cells_read_deliver_list,
                                                      .release = release_list,
                                                      .is_read = true};

static struct store_call *cells_read_ask(struct store *store, const struct call_type *type,
                                         const char *notebook, const struct cell_list_call *what,
                                         store_cells_fn fn, void *context)
{
    struct cell_list_call *list = call_new(store, type, sizeof(*list), notebook);
    list->offset = what->offset;
    list->limit = MIN(what->limit, (uint32_t)STORE_PAGE_MAX);
    list->with_outputs = what->with_outputs;
    return call_ask(&list->call, (void *)fn, context);
}

struct store_call *store_get_cells(struct store *store, const char *notebook, uint64_t offset,
                                   uint32_t limit, bool with_outputs, store_cells_fn fn,
                                   void *context)
{
    const struct cell_list_call what = {
        .offset = offset, .limit = limit, .with_outputs = with_outputs};
    return cells_read_ask(store, &page_type, notebook, &what, fn, context);
}

struct store_call *store_list_cells(struct store *store, const char *session, uint64_t offset,
                                    uint32_t limit, store_cells_fn fn, void *context)
{
    const struct cell_list_call what = {.offset = offset, .limit = limit};
    return cells_read_ask(store, &cells_read_list_type, session, &what, fn, context);
}
