#include "base/buf.h"
#include "base/utf8.h"
#include "store/internal.h"

/* What a session ran: one row for each cell, found by (session, exec_id), so that the
 * ten-thousandth costs what the first did. */

struct put_call {
    struct store_call call;
    struct store_cell cell; /* its texts in the call's memory */
};

static int apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO cells(session, exec_id, at_ms, duration_us, status, code, answer)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7)"};
    const struct store_cell *cell = &CONTAINER_OF(call, struct put_call, call)->cell;
    uint64_t key;
    if (session_key(store, call->scope, &key, e) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(&store->db, &sql, e);
    if (s == NULL)
        return -1;
    db_bind_number(s, 1, key);
    db_bind_number(s, 2, cell->exec_id);
    db_bind_number(s, 3, cell->at_ms);
    db_bind_number(s, 4, cell->duration_us);
    db_bind_text(s, 5, cell->status);
    sqlite3_bind_text64(s, 6, cell->code, cell->code_len, SQLITE_STATIC, SQLITE_UTF8);
    if (cell->answer != NULL)
        sqlite3_bind_text64(s, 7, cell->answer, cell->answer_len, SQLITE_STATIC, SQLITE_UTF8);
    return db_run(&store->db, s, e);
}

static const struct call_type put_type = {.apply = apply_put, .is_write = true};

int store_put_cell(struct store *store, const char *session, const struct store_cell *cell,
                   struct err *e)
{
    size_t bytes = cell->code_len + (cell->answer == NULL ? 0 : cell->answer_len);
    if (bytes > STORE_CELL_BYTES)
        return err_set(e, ERR_TOO_LARGE, "the cell has %zu bytes with its answer, %zu can be saved",
                       bytes, (size_t)STORE_CELL_BYTES);
    struct put_call *put = call_new(store, &put_type, sizeof(*put), session);
    struct arena *memory = &put->call.memory;
    put->call.bytes += bytes;
    put->cell = *cell;
    put->cell.code = arena_copy(memory, cell->code, cell->code_len);
    put->cell.status = arena_strdup(memory, cell->status);
    if (cell->answer != NULL)
        put->cell.answer = arena_copy(memory, cell->answer, cell->answer_len);
    return call_queue(&put->call, e);
}

/* ---- listing --------------------------------------------------------------------------------- */

struct list_call {
    struct store_call call;
    uint64_t offset;
    uint32_t limit;
    bool with_answers;
    struct store_cell *list;
    size_t n;
    size_t text_bytes;
    uint64_t count;
};

static int count_cells(struct store *store, uint64_t key, uint64_t *ret_count, struct err *e)
{
    static const struct db_sql sql = {"SELECT count(*) FROM cells WHERE session=?1"};
    sqlite3_stmt *s = db_statement(&store->db, &sql, e);
    if (s == NULL)
        return -1;
    db_bind_number(s, 1, key);
    if (db_step(&store->db, s, e) < 0)
        return -1;
    *ret_count = db_number(s, 0);
    sqlite3_reset(s);
    return 0;
}

static const char *copy_text(struct list_call *list, sqlite3_stmt *s, int column, size_t *ret_len)
{
    const char *text = db_text(s, column);
    *ret_len = (size_t)sqlite3_column_bytes(s, column);
    list->text_bytes += *ret_len;
    return text == NULL ? NULL : arena_copy(&list->call.memory, text, *ret_len);
}

static void read_cell(struct list_call *list, sqlite3_stmt *s)
{
    struct store_cell *cell = &list->list[list->n++];
    size_t status_len;
    cell->exec_id = db_number(s, 0);
    cell->at_ms = db_number(s, 1);
    cell->duration_us = db_number(s, 2);
    cell->status = copy_text(list, s, 3, &status_len);
    cell->code = copy_text(list, s, 4, &cell->code_len);
    cell->answer = copy_text(list, s, 5, &cell->answer_len);
}

static int apply_list(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT exec_id, at_ms, duration_us, status, code, CASE WHEN ?4 THEN answer END FROM cells"
        " WHERE session=?1 ORDER BY exec_id LIMIT ?3 OFFSET ?2"};
    struct list_call *list = CONTAINER_OF(call, struct list_call, call);
    uint64_t key;
    if (session_key(store, call->scope, &key, e) < 0 ||
        count_cells(store, key, &list->count, e) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(&store->db, &sql, e);
    if (s == NULL)
        return -1;
    list->list = mem_alloc(MAX(list->limit, 1U) * sizeof(*list->list));
    db_bind_number(s, 1, key);
    db_bind_number(s, 2, list->offset);
    db_bind_number(s, 3, list->limit);
    db_bind_number(s, 4, list->with_answers);
    int got;
    while ((got = db_step(&store->db, s, e)) > 0) {
        read_cell(list, s);
        if (list->text_bytes >= STORE_PAGE_BYTES) {
            sqlite3_reset(s);
            return 0;
        }
    }
    return got;
}

static void deliver_list(struct store_call *call, const struct err *e)
{
    struct list_call *list = CONTAINER_OF(call, struct list_call, call);
    ((store_cells_fn)call->fn)(call->context, list->list, e == NULL ? list->n : 0, list->count, e);
}

static void release_list(struct store_call *call)
{
    free(CONTAINER_OF(call, struct list_call, call)->list);
}

static const struct call_type list_type = {
    .apply = apply_list, .deliver = deliver_list, .release = release_list};

struct store_call *store_list_cells(struct store *store, const char *session, uint64_t offset,
                                    uint32_t limit, bool with_answers, store_cells_fn fn,
                                    void *context)
{
    struct list_call *list = call_new(store, &list_type, sizeof(*list), session);
    list->offset = offset;
    list->limit = MIN(limit, (uint32_t)STORE_PAGE_MAX);
    list->with_answers = with_answers;
    list->call.fn = (void *)fn;
    list->call.context = context;
    return call_ask(&list->call);
}
