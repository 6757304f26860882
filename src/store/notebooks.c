/* Rows of notebooks. What they keep of their cells (how many, the last counts) is maintained with
 * each change, so that no call has to count. Owns the tables notebooks and descriptions. Daemon;
 * applied by the store's writer thread. */
#include "base/clock.h"
#include "store/internal.h"
#include "store/record.h"

int notebook_find(struct store *store, const char *id, struct notebook_at *ret, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT key, n_cells, (SELECT max(place) FROM cells WHERE notebook=n.key)"
        " FROM notebooks AS n WHERE id=?1"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_TEXT(id));
    if (got < 0)
        return -1;
    if (got == 0) {
        err_set(e, ERR_NOT_FOUND, "there is no notebook %.40s", id);
        return err_advise(e, "It was never made, or it was deleted.");
    }
    *ret = (struct notebook_at){.key = db_number(s, 0),
                                .n_cells = db_number(s, 1),
                                .last_place = sqlite3_column_int64(s, 2)};
    sqlite3_reset(s);
    return 0;
}

int notebook_note(struct store *store, uint64_t key, int64_t more, uint64_t count, uint64_t exec_id,
                  struct err *e)
{
    static const struct db_sql sql = {
        "UPDATE notebooks SET n_cells=n_cells+?2, updated_ms=?3, count=max(count,?4),"
        " last_exec=max(last_exec,?5) WHERE key=?1"};
    return db_do(&store->db, &sql, e, DB_NUMBER(key), DB_PLACE(more), DB_NUMBER(clock_wall_ms()),
                 DB_NUMBER(count), DB_NUMBER(exec_id));
}

static const char *copy(struct arena *memory, const char *text)
{
    return text == NULL ? NULL : arena_strdup(memory, text);
}

/* ---- put ------------------------------------------------------------------------------------- */

int notebook_apply_put(struct store *store, const struct store_notebook *row, struct err *e)
{
    static const struct db_sql
        put = {"INSERT INTO notebooks(id, user, title, runtime, created_ms, updated_ms, count)"
               " VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(id) DO UPDATE SET user=excluded.user,"
               " title=excluded.title, runtime=excluded.runtime, updated_ms=excluded.updated_ms,"
               " count=max(count, excluded.count)"},
        describe = {
            "INSERT INTO descriptions(notebook, metadata, spec) SELECT key, ?2, ?3 FROM notebooks"
            " WHERE id=?1 ON CONFLICT(notebook) DO UPDATE SET metadata=excluded.metadata,"
            " spec=excluded.spec"};
    uint64_t now_ms = clock_wall_ms();
    if (db_do(&store->db, &put, e, DB_TEXT(row->id), DB_TEXT(row->user), DB_TEXT(row->title),
              DB_TEXT(row->runtime), DB_NUMBER(row->created_ms == 0 ? now_ms : row->created_ms),
              DB_NUMBER(now_ms), DB_NUMBER(row->count)) < 0)
        return -1;
    return db_do(&store->db, &describe, e, DB_TEXT(row->id), DB_TEXT(row->metadata),
                 DB_TEXT(row->spec));
}

static int notebooks_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    struct record record;
    if (!record_unpack(call->record.data, call->record.len, &record))
        return err_set(e, ERR_INTERNAL, "the notebook's row is damaged in memory");
    return notebook_apply_put(store, &record.row, e);
}

static const struct call_type notebooks_put_type = {.apply = notebooks_apply_put, .is_write = true};

int store_put_notebook(struct store *store, const struct store_notebook *row, struct err *e)
{
    if (!ids_is_uuid(row->id, strlen(row->id)))
        return err_set(e, ERR_INVALID, "the notebook has no id to be saved under");
    struct store_call *call = call_new(store, &notebooks_put_type, sizeof(*call), row->id);
    call->record = BUF_INIT(STORE_ROW_BYTES);
    record_pack_notebook(&call->record, row);
    if (call->record.overflowed) {
        call_free(call);
        err_set(e, ERR_TOO_LARGE, "what describes the notebook has more than %zu bytes",
                (size_t)STORE_ROW_BYTES);
        return err_advise(e, "Keep less in its metadata.");
    }
    call->row = arena_printf(&call->memory, "notebook/%s", row->id);
    return call_put(call, e);
}

/* ---- describe -------------------------------------------------------------------------------- */

struct notebook_describe_call {
    struct store_call call;
    const char *title, *metadata; /* NULL if it stays as it is */
};

static int apply_describe(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql
        set_title = {"UPDATE notebooks SET title=coalesce(?2, title), updated_ms=?3 WHERE key=?1"},
        set_metadata = {
            "INSERT INTO descriptions(notebook, metadata) VALUES(?1, ?2)"
            " ON CONFLICT(notebook) DO UPDATE SET metadata=coalesce(excluded.metadata, metadata)"};
    const struct notebook_describe_call *describe =
        CONTAINER_OF(call, struct notebook_describe_call, call);
    struct notebook_at book;
    if (notebook_find(store, call->scope, &book, e) < 0 ||
        db_do(&store->db, &set_title, e, DB_NUMBER(book.key), DB_TEXT(describe->title),
              DB_NUMBER(clock_wall_ms())) < 0)
        return -1;
    return db_do(&store->db, &set_metadata, e, DB_NUMBER(book.key), DB_TEXT(describe->metadata));
}

static const struct call_type describe_type = {
    .apply = apply_describe, .deliver = call_deliver_done, .is_write = true, .ends_rows = true};

struct store_call *store_describe_notebook(struct store *store, const char *id, const char *title,
                                           const char *metadata, store_done_fn fn, void *context)
{
    struct notebook_describe_call *describe =
        call_new(store, &describe_type, sizeof(*describe), id);
    describe->title = copy(&describe->call.memory, title);
    describe->metadata = copy(&describe->call.memory, metadata);
    describe->call.bytes += (title ? strlen(title) : 0) + (metadata ? strlen(metadata) : 0);
    return call_ask(&describe->call, (void *)fn, context);
}

/* ---- delete ---------------------------------------------------------------------------------- */

int notebook_drop_outputs(struct store *store, uint64_t key, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM images WHERE cell IN (SELECT key FROM cells WHERE notebook=?1)"},
        {"DELETE FROM displays WHERE notebook=?1"},
        {"DELETE FROM outputs WHERE cell IN (SELECT key FROM cells WHERE notebook=?1)"},
    };
    sweep_want(store);
    return db_run_each(&store->db, steps, ARRAY_LEN(steps), key, e);
}

int notebook_empty(struct store *store, uint64_t key, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM sources WHERE cell IN (SELECT key FROM cells WHERE notebook=?1)"},
        {"DELETE FROM cells WHERE notebook=?1"},
    };
    return notebook_drop_outputs(store, key, e) < 0
               ? -1
               : db_run_each(&store->db, steps, ARRAY_LEN(steps), key, e);
}

static int notebooks_apply_delete(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM descriptions WHERE notebook=?1"},
        {"DELETE FROM notebooks WHERE key=?1"},
    };
    struct notebook_at book;
    struct err missing;
    if (notebook_find(store, call->scope, &book, &missing) < 0) {
        *e = missing;
        return store->db.is_broken ? -1 : 0; /* the notebook is gone, as was asked for */
    }
    return notebook_empty(store, book.key, e) < 0
               ? -1
               : db_run_each(&store->db, steps, ARRAY_LEN(steps), book.key, e);
}

static const struct call_type notebooks_delete_type = {.apply = notebooks_apply_delete,
                                                       .deliver = call_deliver_done,
                                                       .is_write = true,
                                                       .ends_rows = true};

struct store_call *store_delete_notebook(struct store *store, const char *id, store_done_fn fn,
                                         void *context, struct err *e)
{
    struct store_call *call = call_new(store, &notebooks_delete_type, sizeof(*call), id);
    call->fn = (void *)fn;
    call->context = context;
    call->is_awaited = fn != NULL;
    return call_queue(call, e) < 0 ? NULL : call;
}

/* ---- reading --------------------------------------------------------------------------------- */

#define COLUMNS                                                                                    \
    "n.id, n.user, n.title, n.runtime, n.created_ms, n.updated_ms, n.count, n.last_exec, "         \
    "n.n_cells, (SELECT max(place) FROM cells WHERE notebook=n.key), "                             \
    "EXISTS(SELECT 1 FROM sessions WHERE id=n.id)"
enum { NOTEBOOKS_METADATA_COLUMN = 11, SPEC_COLUMN };

static void notebooks_read_row(sqlite3_stmt *s, struct store_notebook *row)
{
    *row = (struct store_notebook){
        .id = db_text(s, 0),
        .user = db_text(s, 1),
        .title = db_text(s, 2),
        .runtime = db_text(s, 3),
        .created_ms = db_number(s, 4),
        .updated_ms = db_number(s, 5),
        .count = db_number(s, 6),
        .last_exec = db_number(s, 7),
        .n_cells = db_number(s, 8),
        .last_place = sqlite3_column_int64(s, 9),
        .has_session = db_number(s, 10) != 0,
    };
}

static void copy_row(struct arena *memory, struct store_notebook *row)
{
    row->id = copy(memory, row->id);
    row->user = copy(memory, row->user);
    row->title = copy(memory, row->title);
    row->runtime = copy(memory, row->runtime);
    row->metadata = copy(memory, row->metadata);
    row->spec = copy(memory, row->spec);
}

int store_each_notebook_head(struct store *store,
                             void (*fn)(void *context, const struct store_notebook *row),
                             void *context, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT " COLUMNS ", d.metadata, d.spec FROM sessions AS s JOIN notebooks AS n ON n.id=s.id"
        " LEFT JOIN descriptions AS d ON d.notebook=n.key ORDER BY s.key"};
    pthread_mutex_lock(&store->db_lock);
    sqlite3_stmt *s = db_ask(&store->db, &sql, e);
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(&store->db, s, e)) > 0) {
        struct store_notebook row;
        notebooks_read_row(s, &row);
        row.metadata = db_text(s, NOTEBOOKS_METADATA_COLUMN);
        row.spec = db_text(s, SPEC_COLUMN);
        fn(context, &row);
    }
    pthread_mutex_unlock(&store->db_lock);
    return got;
}

struct notebook_get_call {
    struct store_call call;
    struct store_notebook row;
};

static int notebooks_apply_get(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT " COLUMNS ", d.metadata, d.spec FROM notebooks AS n"
        " LEFT JOIN descriptions AS d ON d.notebook=n.key WHERE n.id=?1"};
    struct notebook_get_call *get = CONTAINER_OF(call, struct notebook_get_call, call);
    struct notebook_at book;
    sqlite3_stmt *s;
    if (notebook_find(store, call->scope, &book, e) < 0 ||
        db_first(&store->db, &sql, &s, e, DB_TEXT(call->scope)) <= 0)
        return -1;
    notebooks_read_row(s, &get->row);
    get->row.metadata = db_text(s, NOTEBOOKS_METADATA_COLUMN);
    get->row.spec = db_text(s, SPEC_COLUMN);
    copy_row(&call->memory, &get->row);
    sqlite3_reset(s);
    return 0;
}

static void notebooks_deliver_get(struct store_call *call, const struct err *e)
{
    const struct notebook_get_call *get = CONTAINER_OF(call, struct notebook_get_call, call);
    ((store_notebook_fn)call->fn)(call->context, e == NULL ? &get->row : NULL, e);
}

static const struct call_type notebooks_get_type = {
    .apply = notebooks_apply_get, .deliver = notebooks_deliver_get, .is_read = true};

struct store_call *store_get_notebook(struct store *store, const char *id, store_notebook_fn fn,
                                      void *context)
{
    struct notebook_get_call *get = call_new(store, &notebooks_get_type, sizeof(*get), id);
    return call_ask(&get->call, (void *)fn, context);
}

struct notebook_list_call {
    struct store_call call;
    const char *user; /* NULL for notebooks of all users */
    uint64_t offset, count;
    uint32_t limit;
    struct store_notebook *list;
    size_t n;
};

static int notebooks_apply_list(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql all = {"SELECT " COLUMNS " FROM notebooks AS n ORDER BY n.key DESC"
                                      " LIMIT ?2 OFFSET ?1"},
                               theirs = {"SELECT " COLUMNS " FROM notebooks AS n WHERE n.user=?3"
                                         " ORDER BY n.key DESC LIMIT ?2 OFFSET ?1"},
                               count_all = {"SELECT count(*) FROM notebooks"},
                               count_theirs = {"SELECT count(*) FROM notebooks WHERE user=?1"};
    struct notebook_list_call *list = CONTAINER_OF(call, struct notebook_list_call, call);
    sqlite3_stmt *s;
    int got = list->user == NULL ? db_first(&store->db, &count_all, &s, e)
                                 : db_first(&store->db, &count_theirs, &s, e, DB_TEXT(list->user));
    list->count = got > 0 ? db_number(s, 0) : 0;
    sqlite3_reset(s);
    if (got < 0)
        return -1;
    struct db_value offset = DB_NUMBER(list->offset), limit = DB_NUMBER(list->limit);
    s = list->user == NULL ? db_ask(&store->db, &all, e, offset, limit)
                           : db_ask(&store->db, &theirs, e, offset, limit, DB_TEXT(list->user));
    if (s == NULL)
        return -1;
    list->n = 0;
    list->list = arena_alloc(&call->memory, MAX(list->limit, 1U) * sizeof(*list->list));
    while ((got = db_step(&store->db, s, e)) > 0) {
        notebooks_read_row(s, &list->list[list->n]);
        copy_row(&call->memory, &list->list[list->n++]);
    }
    return got;
}

static void notebooks_deliver_list(struct store_call *call, const struct err *e)
{
    const struct notebook_list_call *list = CONTAINER_OF(call, struct notebook_list_call, call);
    ((store_notebooks_fn)call->fn)(call->context, list->list, e == NULL ? list->n : 0, list->count,
                                   e);
}

static const struct call_type notebooks_list_type = {
    .apply = notebooks_apply_list, .deliver = notebooks_deliver_list, .is_read = true};

struct store_call *store_list_notebooks(struct store *store, const char *user, uint64_t offset,
                                        uint32_t limit, store_notebooks_fn fn, void *context)
{
    struct notebook_list_call *list = call_new(store, &notebooks_list_type, sizeof(*list), NULL);
    list->user = copy(&list->call.memory, user);
    list->offset = offset;
    list->limit = MIN(limit, (uint32_t)STORE_PAGE_MAX);
    return call_ask(&list->call, (void *)fn, context);
}
