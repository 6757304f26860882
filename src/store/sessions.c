/* Sessions: what must be known to make one again. Owns the table sessions. Daemon; applied by the
 * store's writer thread. */
#include "store/internal.h"

/* ---- put ------------------------------------------------------------------------------------- */

struct session_put_call {
    struct store_call call;
    struct store_session row; /* its texts in the call's memory */
};

static int sessions_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT INTO sessions(id, spec, line, created_ms, used_ms, n_execs, n_checkpoints)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(id) DO UPDATE SET spec=excluded.spec,"
        " line=excluded.line, used_ms=excluded.used_ms, n_execs=excluded.n_execs,"
        " n_checkpoints=excluded.n_checkpoints"};
    const struct store_session *row = &CONTAINER_OF(call, struct session_put_call, call)->row;
    return db_do(&store->db, &sql, e, DB_TEXT(row->id), DB_TEXT(row->spec), DB_TEXT(row->line),
                 DB_NUMBER(row->created_ms), DB_NUMBER(row->used_ms), DB_NUMBER(row->n_execs),
                 DB_NUMBER(row->n_checkpoints));
}

static const struct call_type sessions_put_type = {.apply = sessions_apply_put, .is_write = true};

int store_put_session(struct store *store, const struct store_session *row, struct err *e)
{
    size_t bytes = strlen(row->spec) + (row->line == NULL ? 0 : strlen(row->line));
    if (!ids_is_uuid(row->id, strlen(row->id)))
        return err_set(e, ERR_INVALID, "the session has no id to be saved under");
    if (bytes > STORE_ROW_BYTES)
        return err_set(e, ERR_TOO_LARGE, "what describes the session has %zu bytes, more than %zu",
                       bytes, (size_t)STORE_ROW_BYTES);
    struct session_put_call *put = call_new(store, &sessions_put_type, sizeof(*put), row->id);
    struct arena *memory = &put->call.memory;
    put->call.bytes += bytes;
    put->row = *row;
    put->row.id = arena_strdup(memory, row->id);
    put->row.spec = arena_strdup(memory, row->spec);
    put->row.line = row->line == NULL ? NULL : arena_strdup(memory, row->line);
    put->call.row = put->row.id;
    return call_queue(&put->call, e);
}

int session_key(struct store *store, const char *id, uint64_t *ret_key, struct err *e)
{
    static const struct db_sql sql = {"SELECT key FROM sessions WHERE id=?1"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_TEXT(id));
    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(e, ERR_NOT_FOUND, "no session %.40s is saved", id);
    *ret_key = db_number(s, 0);
    sqlite3_reset(s);
    return 0;
}

/* ---- delete ---------------------------------------------------------------------------------- */

static int sessions_apply_delete(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM states WHERE session=?1"},
        {"DELETE FROM sessions WHERE key=?1"},
    };
    uint64_t key;
    struct err missing;
    if (session_key(store, call->scope, &key, &missing) < 0) {
        *e = missing;
        return store->db.is_broken ? -1 : 0; /* the session is gone, as was asked for */
    }
    sweep_want(store);
    return db_run_each(&store->db, steps, ARRAY_LEN(steps), key, e);
}

static const struct call_type sessions_delete_type = {
    .apply = sessions_apply_delete, .is_write = true, .ends_rows = true};

int store_delete_session(struct store *store, const char *id, struct err *e)
{
    struct store_call *call = call_new(store, &sessions_delete_type, sizeof(*call), id);
    return call_queue(call, e);
}

/* ---- all of them ----------------------------------------------------------------------------- */

int store_each_session(struct store *store,
                       void (*fn)(void *context, const struct store_session *row), void *context,
                       struct err *e)
{
    /* Each lookup below reads one index; none reads a state or a cell. */
    static const struct db_sql sql = {
        "SELECT s.id, s.spec, s.line, s.created_ms, s.used_ms, s.n_execs, s.n_checkpoints, "
        "s.resume,"
        " (SELECT through FROM states WHERE session=s.key AND checkpoint=s.resume),"
        " n.last_exec,"
        " (SELECT max(checkpoint) FROM states WHERE session=s.key),"
        " n.n_cells,"
        " (SELECT count(*) FROM states WHERE session=s.key)"
        " FROM sessions AS s LEFT JOIN notebooks AS n ON n.id=s.id ORDER BY s.key"};
    pthread_mutex_lock(&store->db_lock);
    sqlite3_stmt *s = db_ask(&store->db, &sql, e);
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(&store->db, s, e)) > 0) {
        const struct store_session row = {
            .id = db_text(s, 0),
            .spec = db_text(s, 1),
            .line = db_text(s, 2),
            .created_ms = db_number(s, 3),
            .used_ms = db_number(s, 4),
            .n_execs = MAX(db_number(s, 5), MAX(db_number(s, 9), db_number(s, 8))),
            .n_checkpoints = MAX(db_number(s, 6), db_number(s, 10)),
            .resume = db_number(s, 7),
            .saved_through = db_number(s, 8),
            .n_cells = db_number(s, 11),
            .n_states = db_number(s, 12),
        };
        fn(context, &row);
    }
    pthread_mutex_unlock(&store->db_lock);
    return got;
}
