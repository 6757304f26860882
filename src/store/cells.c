/* Rows of cells, found by (notebook, id) and by (notebook, place), so that the ten-thousandth costs
 * what the first did. Their texts lie in tables of their own. Owns the tables cells, sources and
 * outputs. Daemon; applied by the store's writer thread. */
#include "base/buf.h"
#include "store/internal.h"
#include "store/record.h"

enum { IDS_TRIED = 32 };

/* ---- finding --------------------------------------------------------------------------------- */

int cell_find_id(struct store *store, uint64_t notebook, const char *id, struct cell_at *ret,
                 struct err *e)
{
    static const struct db_sql sql = {
        "SELECT key, place, exec_id FROM cells WHERE notebook=?1 AND id=?2"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(notebook), DB_TEXT(id));
    if (got > 0) {
        *ret = (struct cell_at){.key = db_number(s, 0),
                                .place = sqlite3_column_int64(s, 1),
                                .exec_id = db_number(s, 2)};
        sqlite3_reset(s);
    }
    return got;
}

int cell_make_id(struct store *store, uint64_t notebook, char id[CELL_ID_SIZE], struct err *e)
{
    struct cell_at at;
    int got = 1;
    for (int i = 0; i < IDS_TRIED && got > 0; i++) {
        uint32_t bits;
        ids_random(&bits, sizeof(bits));
        snprintf(id, CELL_ID_SIZE, "%08x", bits & 0x7fffffff);
        got = cell_find_id(store, notebook, id, &at, e);
    }
    return got <= 0 ? got : err_set(e, ERR_INTERNAL, "no free id was found for the cell");
}

/* From the nearer end: places are about evenly spread. */
int cell_number(struct store *store, const struct notebook_at *book, int64_t place,
                uint64_t *ret_number, struct err *e)
{
    static const struct db_sql
        before = {"SELECT count(*) FROM cells WHERE notebook=?1 AND place<?2"},
        after = {"SELECT count(*) FROM cells WHERE notebook=?1 AND place>=?2"};
    bool is_late = place > book->last_place / 2;
    sqlite3_stmt *s;
    if (db_first(&store->db, is_late ? &after : &before, &s, e, DB_NUMBER(book->key),
                 DB_PLACE(place)) < 0)
        return -1;
    uint64_t n = db_number(s, 0);
    sqlite3_reset(s);
    *ret_number = !is_late ? n : book->n_cells > n ? book->n_cells - n : 0;
    return 0;
}

int cell_place(struct store *store, const struct notebook_at *book, uint64_t number,
               int64_t *ret_place, struct err *e)
{
    static const struct db_sql up = {"SELECT place FROM cells WHERE notebook=?1 ORDER BY place"
                                     " LIMIT 1 OFFSET ?2"},
                               down = {"SELECT place FROM cells WHERE notebook=?1"
                                       " ORDER BY place DESC LIMIT 1 OFFSET ?2"};
    bool is_late = number > book->n_cells / 2 && number < book->n_cells;
    sqlite3_stmt *s;
    int got = db_first(&store->db, is_late ? &down : &up, &s, e, DB_NUMBER(book->key),
                       DB_NUMBER(is_late ? book->n_cells - 1 - number : number));
    if (got > 0)
        *ret_place = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    if (got == 0)
        return err_set(e, ERR_NOT_FOUND, "the notebook has no cell %" PRIu64, number);
    return got < 0 ? -1 : 0;
}

static bool parse_number(const char *name, uint64_t n_cells, uint64_t *ret_number)
{
    char *end;
    const char *digits = name[0] == '-' ? name + 1 : name;
    if (digits[0] < '0' || digits[0] > '9' || strlen(digits) > 18)
        return false;
    uint64_t n = strtoull(digits, &end, 10);
    if (*end != '\0' || (name[0] == '-' && (n == 0 || n > n_cells)))
        return false;
    *ret_number = name[0] == '-' ? n_cells - n : n;
    return *ret_number < n_cells;
}

/* By the number of its last run. */
static int cell_find_run(struct store *store, uint64_t notebook, const char *digits,
                         struct cell_at *ret, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT key, place, exec_id FROM cells WHERE notebook=?1 AND exec_id=?2"};
    sqlite3_stmt *s;
    char *end;
    uint64_t number = strtoull(digits, &end, 10);
    if (digits[0] < '1' || digits[0] > '9' || *end != '\0' || strlen(digits) > 18)
        return 0;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(notebook), DB_NUMBER(number));
    if (got > 0) {
        *ret = (struct cell_at){.key = db_number(s, 0),
                                .place = sqlite3_column_int64(s, 1),
                                .exec_id = db_number(s, 2)};
        sqlite3_reset(s);
    }
    return got;
}

int cell_find(struct store *store, const struct notebook_at *book, const char *name,
              struct cell_at *ret, struct err *e)
{
    static const struct db_sql sql = {"SELECT key FROM cells WHERE notebook=?1 AND place=?2"};
    int got = cell_find_id(store, book->key, name, ret, e);
    if (got == 0 && name[0] == '#')
        got = cell_find_run(store, book->key, name + 1, ret, e);
    if (got != 0)
        return got < 0 ? -1 : cell_number(store, book, ret->place, &ret->number, e);
    if (!parse_number(name, book->n_cells, &ret->number)) {
        err_set(e, ERR_NOT_FOUND, "the notebook has no cell \"%.64s\"", name);
        if (book->n_cells == 0)
            return err_advise(e, "It has no cells.");
        return err_advise(e,
                          "Name its id, or a number from 0 to %" PRIu64
                          "; -1 is the last, #3 the third that ran.",
                          book->n_cells - 1);
    }
    if (cell_place(store, book, ret->number, &ret->place, e) < 0)
        return -1;
    sqlite3_stmt *s;
    got = db_first(&store->db, &sql, &s, e, DB_NUMBER(book->key), DB_PLACE(ret->place));
    ret->key = got > 0 ? db_number(s, 0) : 0;
    sqlite3_reset(s);
    return got < 0 ? -1 : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

int cell_set_source(struct store *store, uint64_t key, const struct store_cell *cell, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO sources(cell, source, metadata) VALUES(?1,?2,?3)"};
    return db_do(&store->db, &sql, e, DB_NUMBER(key), DB_TEXT_N(cell->source, cell->source_len),
                 DB_TEXT_N(cell->metadata, cell->metadata_len));
}

static int cell_set_outputs(struct store *store, uint64_t key, const struct store_cell *cell,
                            struct err *e)
{
    static const struct db_sql put =
                                   {"INSERT OR REPLACE INTO outputs(cell, outputs) VALUES(?1,?2)"},
                               drop = {"DELETE FROM outputs WHERE cell=?1"};
    bool is_empty = cell->outputs == NULL || cell->outputs_len <= 2; /* "[]" */
    int done = is_empty ? db_do(&store->db, &drop, e, DB_NUMBER(key))
                        : db_do(&store->db, &put, e, DB_NUMBER(key),
                                DB_TEXT_N(cell->outputs, cell->outputs_len));
    if (done < 0 || displays_keep(store, key, cell->outputs, cell->outputs_len, e) < 0)
        return -1;
    return images_keep(store, key, cell->outputs, cell->outputs_len, e);
}

int cell_insert(struct store *store, const struct notebook_at *book, const struct store_cell *cell,
                int64_t place, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT INTO cells(notebook, id, place, kind, state, exec_id, count, revision, created_ms,"
        " executed_ms, duration_us, waits) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)"};
    if (db_do(&store->db, &sql, e, DB_NUMBER(book->key), DB_TEXT(cell->id), DB_PLACE(place),
              DB_NUMBER((uint64_t)MAX(cell->kind, 0)),
              DB_TEXT(cell->state == NULL ? "idle" : cell->state), DB_NUMBER(cell->exec_id),
              DB_NUMBER(cell->count), DB_NUMBER(MAX(cell->revision, 1U)),
              DB_NUMBER(cell->created_ms), DB_NUMBER(cell->executed_ms),
              DB_NUMBER(cell->duration_us), DB_TEXT(cell->waits)) < 0)
        return -1;
    uint64_t key = (uint64_t)sqlite3_last_insert_rowid(store->db.handle);
    if (cell_set_source(store, key, cell, e) < 0)
        return -1;
    return cell->outputs == NULL ? 0 : cell_set_outputs(store, key, cell, e);
}

/* Text has no runs: a cell that became text while it ran keeps neither state nor outputs. */
static int set_run(struct store *store, uint64_t key, const struct store_cell *cell, struct err *e)
{
    static const struct db_sql sql = {
        "UPDATE cells SET state=?2, exec_id=?3, count=?4, executed_ms=?5, duration_us=?6, waits=?7,"
        " undone=undone AND exec_id=?3 WHERE key=?1 AND kind=0"};
    if (db_do(&store->db, &sql, e, DB_NUMBER(key),
              DB_TEXT(cell->state == NULL ? "idle" : cell->state), DB_NUMBER(cell->exec_id),
              DB_NUMBER(cell->count), DB_NUMBER(cell->executed_ms), DB_NUMBER(cell->duration_us),
              DB_TEXT(cell->waits)) < 0)
        return -1;
    bool is_text = sqlite3_changes(store->db.handle) == 0;
    return is_text ? 0 : cell_set_outputs(store, key, cell, e);
}

/* The caller's text is kept unless the cell was edited since. */
static int cells_set_text(struct store *store, uint64_t key, const struct store_cell *cell,
                          struct err *e)
{
    static const struct db_sql sql = {
        "UPDATE cells SET kind=?2, revision=?3 WHERE key=?1 AND revision<=?3"};
    if (db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER((uint64_t)MAX(cell->kind, 0)),
              DB_NUMBER(MAX(cell->revision, 1U))) < 0)
        return -1;
    bool is_newer = sqlite3_changes(store->db.handle) == 0;
    return is_newer ? 0 : cell_set_source(store, key, cell, e);
}

/* Changes the cell's row, or makes one. */
static int cells_put_row(struct store *store, const struct notebook_at *book,
                         const struct store_cell *cell, struct err *e)
{
    static const struct db_sql rename = {"UPDATE cells SET id=?2 WHERE key=?1"},
                               look = {"SELECT 1 FROM cells WHERE notebook=?1 AND place=?2"};
    struct cell_at at;
    int got = cell_find_id(store, book->key, cell->id, &at, e);
    bool is_new = cell->source != NULL && cell->exec_id > 0;
    if (got < 0)
        return -1;
    if (got == 0 && cell->source == NULL)
        return 0; /* the cell was removed while it ran */
    if (got > 0 && is_new && at.exec_id != cell->exec_id) {
        /* Two cells have one id, by somebody's choice or by chance: the older one gets another, so
         * that neither is lost. */
        char id[CELL_ID_SIZE];
        if (cell_make_id(store, book->key, id, e) < 0 ||
            db_do(&store->db, &rename, e, DB_NUMBER(at.key), DB_TEXT(id)) < 0)
            return -1;
        got = 0;
    }
    int64_t more = got == 0;
    if (got == 0) {
        /* At the end, unless the cell's place is free. */
        int64_t place = cell->place;
        int is_taken = place == 0;
        if (place != 0) {
            sqlite3_stmt *s;
            is_taken = db_first(&store->db, &look, &s, e, DB_NUMBER(book->key), DB_PLACE(place));
            sqlite3_reset(s);
        }
        if (is_taken < 0)
            return -1;
        if (is_taken > 0)
            place = book->last_place + STORE_PLACE_GAP;
        got = cell_insert(store, book, cell, place, e);
    } else {
        got = set_run(store, at.key, cell, e);
        if (got == 0 && cell->source != NULL)
            got = cells_set_text(store, at.key, cell, e);
    }
    return got < 0 ? -1 : notebook_note(store, book->key, more, cell->count, cell->exec_id, e);
}

int cell_apply_put(struct store *store, const char *notebook, const struct store_cell *cell,
                   struct arena *memory, struct store_shown **ret_news, struct err *e)
{
    struct notebook_at book;
    struct err missing;
    _buf_ struct buf kept = BUF_INIT(STORE_CELL_BYTES + KIB);
    if (notebook_find(store, notebook, &book, &missing) < 0) {
        *e = missing;
        return store->db.is_broken ? -1 : 0; /* the notebook was deleted while the cell ran */
    }
    int got = displays_settle(store, &book, notebook, cell, memory, ret_news, &kept, e);
    if (got <= 0)
        return got < 0 ? -1 : cells_put_row(store, &book, cell, e);
    struct store_cell settled = *cell;
    settled.outputs = buf_str(&kept);
    settled.outputs_len = kept.len;
    if (cells_put_row(store, &book, &settled, e) < 0)
        return -1;
    /* Pictures that went to other cells: answers have told their names in this one. */
    struct cell_at at;
    got = cell_find_id(store, book.key, cell->id, &at, e);
    return got <= 0 ? got : images_keep(store, at.key, cell->outputs, cell->outputs_len, e);
}

/* ---- put ------------------------------------------------------------------------------------- */

int cell_check(const char *notebook, const struct store_cell *cell, struct err *e)
{
    size_t bytes = (cell->source == NULL ? 0 : cell->source_len) +
                   (cell->outputs == NULL ? 0 : cell->outputs_len) +
                   (cell->metadata == NULL ? 0 : cell->metadata_len);
    if (!ids_is_uuid(notebook, strlen(notebook)))
        return err_set(e, ERR_INVALID, "\"%.40s\" is not the id of a notebook", notebook);
    if (cell->id != NULL && !cell_is_id(cell->id, strlen(cell->id))) {
        err_set(e, ERR_INVALID, "\"%.70s\" cannot be the id of a cell", cell->id);
        return err_advise(e, "Use 1 to %d letters, digits, \"-\" and \"_\".", CELL_ID_MAX);
    }
    if (bytes > STORE_CELL_BYTES) {
        err_set(e, ERR_TOO_LARGE, "the cell has %zu bytes with its outputs, %zu can be saved",
                bytes, (size_t)STORE_CELL_BYTES);
        return err_advise(e, "Split it, or let it write less.");
    }
    return 0;
}

struct cell_put_call {
    struct store_call call;
    struct store_shown *news;
};

static int cells_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    struct cell_put_call *put = CONTAINER_OF(call, struct cell_put_call, call);
    struct record record;
    put->news = NULL; /* the call may be applied again */
    if (!record_unpack(call->record.data, call->record.len, &record))
        return err_set(e, ERR_INTERNAL, "the cell is damaged in memory");
    return cell_apply_put(store, call->scope, &record.cell, &call->memory, &put->news, e);
}

static void cells_deliver_put(struct store_call *call, const struct err *e)
{
    const struct cell_put_call *put = CONTAINER_OF(call, struct cell_put_call, call);
    const struct store *store = call->store;
    for (const struct store_shown *shown = put->news; shown != NULL; shown = shown->next)
        if (e == NULL && store->on_shown != NULL)
            store->on_shown(store->shown_context, call->scope, shown);
}

static const struct call_type cells_put_type = {
    .apply = cells_apply_put, .deliver = cells_deliver_put, .is_write = true, .is_told = true};

int store_put_cell(struct store *store, const char *notebook, const struct store_cell *cell,
                   struct err *e)
{
    if (cell_check(notebook, cell, e) < 0)
        return -1;
    if (cell->id == NULL)
        return err_set(e, ERR_INVALID, "the cell has no id to be saved under");
    struct cell_put_call *put = call_new(store, &cells_put_type, sizeof(*put), notebook);
    struct store_call *call = &put->call;
    call->record = BUF_INIT(RECORD_BYTES_MAX);
    record_pack_cell(&call->record, notebook, cell);
    call->row = arena_printf(&call->memory, "%s/%s", notebook, cell->id);
    call->is_partial = cell->source == NULL;
    return call_put(call, e);
}
