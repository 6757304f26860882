/* Changes of the order and the text of cells. Each looks at everything that could refuse it before
 * it writes, because one that fails does not undo the others of its group. Daemon; applied by the
 * store's writer thread. */
#include "base/clock.h"
#include "store/internal.h"

enum {
    SPREAD_FIRST = 64,  /* cells that make room where a gap is used up */
    STEP_MIN = 1 << 10, /* between their new places */
};

struct cell_change_call {
    struct store_call call;
    struct store_change change; /* its texts in the call's memory */
    struct store_cell to;
    struct store_cell now;
    bool has_now;
    struct notebook_at book; /* when it is delivered: afterwards */
};

/* ---- places ---------------------------------------------------------------------------------- */

/* The gap before `after` is used up: some cells behind it make room, more if those are as close. So
 * inserting at one point again and again does not move all cells every twenty times. */
static int changes_make_room(struct store *store, const struct notebook_at *book, int64_t before,
                             int64_t after, int64_t *ret_place, struct err *e)
{
    static const struct db_sql
        behind = {"SELECT place FROM cells WHERE notebook=?1 AND place>=?2"
                  " ORDER BY place LIMIT 1 OFFSET ?3"},
        spread = {"UPDATE cells SET place=?4+?5*(r.n+1) FROM (SELECT k, row_number() OVER"
                  " (ORDER BY p) AS n FROM (SELECT key AS k, place AS p FROM cells WHERE"
                  " notebook=?1 AND place>=?2 ORDER BY place LIMIT ?3)) AS r WHERE cells.key=r.k"};
    int64_t step;
    uint64_t n = SPREAD_FIRST;
    do {
        sqlite3_stmt *s;
        int got = db_first(&store->db, &behind, &s, e, DB_NUMBER(book->key), DB_PLACE(after),
                           DB_NUMBER(n));
        /* Where the next n cells must end. */
        int64_t end = got > 0 ? sqlite3_column_int64(s, 0)
                              : book->last_place + (int64_t)(n + 1) * STORE_PLACE_GAP;
        sqlite3_reset(s);
        if (got < 0)
            return -1;
        step = (end - before) / (int64_t)(n + 2);
    } while (step < STEP_MIN && n < book->n_cells && (n *= 4) != 0);
    *ret_place = before + step;
    return db_do(&store->db, &spread, e, DB_NUMBER(book->key), DB_PLACE(after), DB_NUMBER(n),
                 DB_PLACE(before), DB_PLACE(step));
}

/* A free place before the cell that is number `at` now. */
static int make_place(struct store *store, const struct notebook_at *book, uint64_t at,
                      int64_t *ret_place, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT max(place) FROM cells WHERE notebook=?1 AND place<?2"};
    int64_t after;
    if (at >= book->n_cells) {
        *ret_place = book->n_cells == 0 ? STORE_PLACE_GAP : book->last_place + STORE_PLACE_GAP;
        return 0;
    }
    if (cell_place(store, book, at, &after, e) < 0)
        return -1;
    if (at == 0) {
        *ret_place = after - STORE_PLACE_GAP;
        return 0;
    }
    sqlite3_stmt *s;
    if (db_first(&store->db, &sql, &s, e, DB_NUMBER(book->key), DB_PLACE(after)) < 0)
        return -1;
    int64_t before = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    if (after - before < 2)
        return changes_make_room(store, book, before, after, ret_place, e);
    *ret_place = before + (after - before) / 2;
    return 0;
}

/* ---- insert ---------------------------------------------------------------------------------- */

static int changes_insert(struct store *store, struct cell_change_call *c, struct err *e)
{
    const struct store_change *change = &c->change;
    struct cell_at at = {.number = MIN(change->at, c->book.n_cells)};
    if (change->max_cells > 0 && c->book.n_cells >= change->max_cells) {
        err_set(e, ERR_LIMIT, "the notebook has its %" PRIu64 " cells", change->max_cells);
        return err_advise(e, "Remove some, or raise notebook.max_cells.");
    }
    if (c->to.id == NULL) {
        char *id = arena_alloc(&c->call.memory, CELL_ID_SIZE);
        c->to.id = id;
        if (cell_make_id(store, c->book.key, id, e) < 0)
            return -1;
    } else {
        struct cell_at other;
        int got = cell_find_id(store, c->book.key, c->to.id, &other, e);
        if (got < 0)
            return -1;
        if (got > 0) {
            err_set(e, ERR_CONFLICT, "the notebook has a cell \"%.64s\" already", c->to.id);
            return err_advise(e, "Leave the id out, and it gets one.");
        }
    }
    if (make_place(store, &c->book, at.number, &at.place, e) < 0 ||
        cell_insert(store, &c->book, &c->to, at.place, e) < 0)
        return -1;
    if (cell_find_id(store, c->book.key, c->to.id, &at, e) < 0)
        return -1;
    at.number = MIN(change->at, c->book.n_cells);
    c->has_now = true;
    return cell_read_head(store, &at, &c->call.memory, &c->now, e) < 0
               ? -1
               : notebook_note(store, c->book.key, 1, c->to.count, c->to.exec_id, e);
}

/* ---- edit ------------------------------------------------------------------------------------ */

static int changes_find(struct store *store, struct cell_change_call *c, struct cell_at *ret,
                        struct err *e)
{
    if (c->change.cell == NULL)
        return err_set(e, ERR_INVALID, "no cell is named");
    if (cell_find(store, &c->book, c->change.cell, ret, e) < 0 ||
        cell_read_head(store, ret, &c->call.memory, &c->now, e) < 0)
        return -1;
    c->has_now = true;
    return 0;
}

/* What the edit leaves as it is. 1: the source changes. */
static int fill_texts(struct store *store, struct cell_change_call *c, uint64_t key, struct err *e)
{
    static const struct db_sql sql = {"SELECT source, metadata FROM sources WHERE cell=?1"};
    struct arena *memory = &c->call.memory;
    struct store_cell *to = &c->to;
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(key));
    if (got < 0)
        return -1;
    const char *source = got > 0 ? db_text(s, 0) : "", *metadata = got > 0 ? db_text(s, 1) : NULL;
    size_t len = got > 0 ? (size_t)sqlite3_column_bytes(s, 0) : 0;
    bool is_other =
        to->source != NULL && (to->source_len != len || memcmp(to->source, source, len) != 0);
    if (to->source == NULL) {
        to->source = arena_copy(memory, source, len);
        to->source_len = len;
    }
    if (to->metadata == NULL && metadata != NULL) {
        to->metadata_len = (size_t)sqlite3_column_bytes(s, 1);
        to->metadata = arena_copy(memory, metadata, to->metadata_len);
    }
    sqlite3_reset(s);
    return is_other;
}

static int drop_outputs(struct store *store, uint64_t key, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM images WHERE cell=?1"},
        {"DELETE FROM displays WHERE cell=?1"},
        {"DELETE FROM outputs WHERE cell=?1"},
    };
    sweep_want(store);
    return db_run_each(&store->db, steps, ARRAY_LEN(steps), key, e);
}

static int changes_edit(struct store *store, struct cell_change_call *c, struct err *e)
{
    static const struct db_sql
        set_kind = {"UPDATE cells SET kind=?2, revision=revision+1 WHERE key=?1"},
        drop_run = {"UPDATE cells SET state='idle', exec_id=0, count=0, executed_ms=0,"
                    " duration_us=0, undone=0 WHERE key=?1"};
    struct cell_at at;
    if (changes_find(store, c, &at, e) < 0)
        return -1;
    if (c->change.revision != 0 && c->change.revision != c->now.revision) {
        err_set(e, ERR_CONFLICT, "the cell was changed meanwhile: its revision is %" PRIu64,
                c->now.revision);
        return err_advise(e, "Read it again, then edit what it is now.");
    }
    int kind = c->to.kind < 0 ? c->now.kind : c->to.kind;
    int is_other = fill_texts(store, c, at.key, e);
    if (is_other < 0 || cell_set_source(store, at.key, &c->to, e) < 0)
        return -1;
    if ((is_other > 0 || kind != c->now.kind) &&
        db_do(&store->db, &set_kind, e, DB_NUMBER(at.key), DB_NUMBER((uint64_t)kind)) < 0)
        return -1;
    /* Code that becomes text: nbformat has no outputs there. */
    if (kind != 0 && c->now.kind == 0 &&
        (drop_outputs(store, at.key, e) < 0 ||
         db_do(&store->db, &drop_run, e, DB_NUMBER(at.key)) < 0))
        return -1;
    return cell_read_head(store, &at, &c->call.memory, &c->now, e) < 0
               ? -1
               : notebook_note(store, c->book.key, 0, 0, 0, e);
}

/* ---- remove, move, clear --------------------------------------------------------------------- */

static int changes_remove_one(struct store *store, struct cell_change_call *c, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM sources WHERE cell=?1"},
        {"DELETE FROM cells WHERE key=?1"},
    };
    struct cell_at at;
    if (changes_find(store, c, &at, e) < 0 || drop_outputs(store, at.key, e) < 0 ||
        db_run_each(&store->db, steps, ARRAY_LEN(steps), at.key, e) < 0)
        return -1;
    return notebook_note(store, c->book.key, -1, 0, 0, e);
}

static int changes_move(struct store *store, struct cell_change_call *c, struct err *e)
{
    static const struct db_sql sql = {"UPDATE cells SET place=?2 WHERE key=?1"};
    struct cell_at at;
    if (changes_find(store, c, &at, e) < 0)
        return -1;
    uint64_t to = MIN(c->change.at, c->book.n_cells - 1);
    if (to == at.number)
        return 0;
    /* Downwards, the cells between move up by one: the cell goes behind the one that has its new
     * number. */
    if (make_place(store, &c->book, to > at.number ? to + 1 : to, &at.place, e) < 0)
        return -1;
    if (db_do(&store->db, &sql, e, DB_NUMBER(at.key), DB_PLACE(at.place)) < 0)
        return -1;
    c->now.number = to;
    c->now.place = at.place;
    return notebook_note(store, c->book.key, 0, 0, 0, e);
}

static int clear_outputs(struct store *store, struct cell_change_call *c, struct err *e)
{
    static const struct db_sql one = {
        "UPDATE cells SET state='idle', count=0, executed_ms=0, duration_us=0 WHERE key=?1"
        " AND state NOT IN ('queued', 'running')"};
    static const struct db_sql all = {
        "UPDATE cells SET state='idle', count=0, executed_ms=0, duration_us=0 WHERE notebook=?1"
        " AND state NOT IN ('idle', 'queued', 'running')"};
    struct cell_at at;
    if (c->change.cell == NULL) {
        if (notebook_drop_outputs(store, c->book.key, e) < 0 ||
            db_run_each(&store->db, &all, 1, c->book.key, e) < 0)
            return -1;
    } else if (changes_find(store, c, &at, e) < 0 || drop_outputs(store, at.key, e) < 0 ||
               db_run_each(&store->db, &one, 1, at.key, e) < 0 ||
               cell_read_head(store, &at, &c->call.memory, &c->now, e) < 0) {
        return -1;
    }
    return notebook_note(store, c->book.key, 0, 0, 0, e);
}

static int clear_all(struct store *store, struct cell_change_call *c, struct err *e)
{
    if (notebook_empty(store, c->book.key, e) < 0)
        return -1;
    return notebook_note(store, c->book.key, -(int64_t)c->book.n_cells, 0, 0, e);
}

/* ---- the call -------------------------------------------------------------------------------- */

static int changes_apply(struct store *store, struct store_call *call, struct err *e)
{
    static int (*const kinds[])(struct store * store, struct cell_change_call * c,
                                struct err * e) = {
        [CHANGE_INSERT] = changes_insert,       [CHANGE_EDIT] = changes_edit,
        [CHANGE_REMOVE] = changes_remove_one,   [CHANGE_MOVE] = changes_move,
        [CHANGE_CLEAR_OUTPUTS] = clear_outputs, [CHANGE_CLEAR_ALL] = clear_all,
    };
    struct cell_change_call *c = CONTAINER_OF(call, struct cell_change_call, call);
    if (notebook_find(store, call->scope, &c->book, e) < 0 ||
        kinds[c->change.what](store, c, e) < 0)
        return -1;
    return notebook_find(store, call->scope, &c->book, e);
}

/* A change that is invalid is queued all the same, because a caller is never called back from
 * within store_change_cells. */
static int apply_refusal(struct store *store, struct store_call *call, struct err *e)
{
    (void)store;
    *e = call->error;
    return -1;
}

static void changes_deliver(struct store_call *call, const struct err *e)
{
    const struct cell_change_call *c = CONTAINER_OF(call, struct cell_change_call, call);
    ((store_changed_fn)call->fn)(call->context, c->has_now ? &c->now : NULL, c->book.n_cells,
                                 c->book.last_place, e);
}

static const struct call_type change_type = {
    .apply = changes_apply, .deliver = changes_deliver, .is_write = true, .ends_rows = true};
static const struct call_type refusal_type = {.apply = apply_refusal, .deliver = changes_deliver};

static void copy_cell(struct arena *memory, const struct store_cell *from, struct store_cell *to)
{
    *to = *from;
    to->id = from->id == NULL ? NULL : arena_strdup(memory, from->id);
    to->state = from->state == NULL ? NULL : arena_strdup(memory, from->state);
    if (from->source != NULL)
        to->source = arena_copy(memory, from->source, from->source_len);
    if (from->outputs != NULL)
        to->outputs = arena_copy(memory, from->outputs, from->outputs_len);
    if (from->metadata != NULL)
        to->metadata = arena_copy(memory, from->metadata, from->metadata_len);
}

struct store_call *store_change_cells(struct store *store, const char *notebook,
                                      const struct store_change *change, store_changed_fn fn,
                                      void *context)
{
    struct cell_change_call *c = call_new(store, &change_type, sizeof(*c), notebook);
    struct arena *memory = &c->call.memory;
    const char *cell = change->cell;
    c->change = *change;
    c->change.cell = cell == NULL ? NULL : arena_strdup(memory, cell);
    if (change->to != NULL && cell_check(notebook, change->to, &c->call.error) < 0)
        c->call.type = &refusal_type;
    else if (change->to != NULL)
        copy_cell(memory, change->to, &c->to);
    else
        c->to.kind = -1;
    if (change->what == CHANGE_INSERT && c->to.source == NULL)
        c->to.source = "";
    if (change->what == CHANGE_INSERT && c->to.created_ms == 0)
        c->to.created_ms = clock_wall_ms();
    c->call.bytes += c->to.source_len + c->to.outputs_len + c->to.metadata_len;
    return call_ask(&c->call, (void *)fn, context);
}

/* ---- cells whose effects a session does not have, or has again ------------------------------- */

struct undone_call {
    struct store_call call;
    uint64_t after;
    const uint64_t *redone;
    size_t n_redone;
};

/* The conditions are those of the index cells_by_run. A cell that died stays died. */
static int undone_apply(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql
        mark = {"UPDATE cells SET undone=1 WHERE notebook=?1 AND exec_id>?2 AND exec_id>0"
                " AND state NOT IN ('idle', 'queued', 'running') AND state<>'died' AND undone=0"},
        clear = {"UPDATE cells SET undone=0 WHERE notebook=?1 AND exec_id=?2 AND exec_id>0"
                 " AND state NOT IN ('idle', 'queued', 'running')"};
    const struct undone_call *u = CONTAINER_OF(call, struct undone_call, call);
    struct notebook_at book;
    struct err missing;
    if (notebook_find(store, call->scope, &book, &missing) < 0) {
        *e = missing;
        return store->db.is_broken ? -1 : 0;
    }
    if (db_do(&store->db, &mark, e, DB_NUMBER(book.key), DB_NUMBER(u->after)) < 0)
        return -1;
    for (size_t i = 0; i < u->n_redone; i++) {
        if (db_do(&store->db, &clear, e, DB_NUMBER(book.key), DB_NUMBER(u->redone[i])) < 0)
            return -1;
    }
    return 0;
}

static const struct call_type undone_type = {
    .apply = undone_apply, .is_write = true, .ends_rows = true};

int store_mark_undone(struct store *store, const char *notebook, uint64_t after,
                      const uint64_t *redone, size_t n_redone, struct err *e)
{
    struct undone_call *u = call_new(store, &undone_type, sizeof(*u), notebook);
    uint64_t *ids = arena_alloc(&u->call.memory, MAX(n_redone, (size_t)1) * sizeof(*ids));
    if (n_redone > 0)
        memcpy(ids, redone, n_redone * sizeof(*ids));
    u->after = after;
    u->redone = ids;
    u->n_redone = n_redone;
    return call_queue(&u->call, e);
}
