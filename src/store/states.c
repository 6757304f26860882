/* States of sessions: saved, chosen to resume from, read back, forgotten. Owns the table states.
 * Daemon; applied by the store's writer thread. */
#include "base/clock.h"
#include "store/internal.h"

/* ---- put ------------------------------------------------------------------------------------- */

struct state_put_call {
    struct store_call call;
    struct store_saved at;
};

static int states_choose(struct store *store, uint64_t key, uint64_t checkpoint, struct err *e)
{
    static const struct db_sql sql = {"UPDATE sessions SET resume=?2 WHERE key=?1"};
    return db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER(checkpoint));
}

static int states_apply_put(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO states(session, checkpoint, through, at_ms, bytes, files, records,"
        " explored) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)"};
    struct state_put_call *put = CONTAINER_OF(call, struct state_put_call, call);
    uint64_t key;
    if (session_key(store, call->scope, &key, e) < 0 ||
        bodies_keep_state(store, put->call.state, e) < 0 ||
        (put->at.files[0] != '\0' && bodies_keep_manifest(store, put->at.files, e) < 0) ||
        (put->at.explored[0] != '\0' && bodies_keep_manifest(store, put->at.explored, e) < 0))
        return -1;
    _buf_ struct buf packed = BUF_INIT(PACKED_MAX);
    state_pack(put->call.state, &packed);
    if (packed.overflowed)
        return err_set(e, ERR_TOO_LARGE, "the state has too many records to be saved");
    if (db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER(put->at.checkpoint),
              DB_NUMBER(put->at.through), DB_NUMBER(put->at.at_ms),
              DB_NUMBER(put->call.state->bytes),
              DB_TEXT(put->at.files[0] == '\0' ? NULL : put->at.files),
              DB_BYTES(buf_str(&packed), packed.len),
              DB_TEXT(put->at.explored[0] == '\0' ? NULL : put->at.explored)) < 0)
        return -1;
    return states_choose(store, key, put->at.checkpoint, e);
}

static const struct call_type states_put_type = {
    .apply = states_apply_put, .deliver = call_deliver_done, .is_write = true, .needs_disk = true};

struct store_call *store_put_state(struct store *store, const char *session,
                                   const struct store_saved *at, struct store_state *state,
                                   store_done_fn fn, void *context, struct err *e)
{
    struct state_put_call *put = call_new(store, &states_put_type, sizeof(*put), session);
    put->at = *at;
    if (put->at.at_ms == 0)
        put->at.at_ms = clock_wall_ms();
    put->call.state = store_state_ref(state);
    put->call.bytes += state_memory(state);
    put->call.fn = (void *)fn;
    put->call.context = context;
    put->call.is_awaited = fn != NULL;
    return call_queue(&put->call, e) < 0 ? NULL : &put->call;
}

/* ---- choosing and forgetting ----------------------------------------------------------------- */

struct choose_call {
    struct store_call call;
    uint64_t checkpoint;
};

static int apply_choose(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql
        forget = {"DELETE FROM states WHERE checkpoint=0 AND session=(SELECT key FROM sessions"
                  " WHERE id=?1)"},
        choose = {"UPDATE sessions SET resume=coalesce((SELECT max(checkpoint) FROM states"
                  " WHERE session=sessions.key AND checkpoint<=?2), 0) WHERE id=?1"};
    uint64_t checkpoint = CONTAINER_OF(call, struct choose_call, call)->checkpoint;
    /* What the beginning was when it was saved is not what it is now. */
    if (checkpoint == 0 && db_do(&store->db, &forget, e, DB_TEXT(call->scope)) < 0)
        return -1;
    return db_do(&store->db, &choose, e, DB_TEXT(call->scope), DB_NUMBER(checkpoint));
}

static const struct call_type choose_type = {.apply = apply_choose, .is_write = true};

int store_resume_from(struct store *store, const char *session, uint64_t checkpoint, struct err *e)
{
    struct choose_call *c = call_new(store, &choose_type, sizeof(*c), session);
    c->checkpoint = checkpoint;
    return call_queue(&c->call, e);
}

struct copy_call {
    struct store_call call; /* of the session that gets it */
    const char *from;
    uint64_t checkpoint, as;
};

static int apply_copy(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR REPLACE INTO states(session, checkpoint, through, at_ms, bytes, files, records,"
        " explored) SELECT ?1, ?2, 0, t.at_ms, t.bytes, t.files, t.records, t.explored"
        " FROM states AS t, sessions AS s"
        " WHERE s.id=?3 AND t.session=s.key AND t.checkpoint=?4"};
    const struct copy_call *copy = CONTAINER_OF(call, struct copy_call, call);
    uint64_t key;
    if (session_key(store, call->scope, &key, e) < 0)
        return -1;
    if (db_do(&store->db, &sql, e, DB_NUMBER(key), DB_NUMBER(copy->as), DB_TEXT(copy->from),
              DB_NUMBER(copy->checkpoint)) < 0)
        return -1;
    return states_choose(store, key, copy->as, e);
}

static const struct call_type copy_type = {.apply = apply_copy, .is_write = true};

int store_copy_state(struct store *store, const char *session, uint64_t checkpoint, const char *to,
                     uint64_t as, struct err *e)
{
    struct copy_call *copy = call_new(store, &copy_type, sizeof(*copy), to);
    copy->from = arena_strdup(&copy->call.memory, session);
    copy->checkpoint = checkpoint;
    copy->as = as;
    return call_queue(&copy->call, e);
}

struct keep_call {
    struct store_call call;
    const uint64_t *kept;
    size_t n_kept;
    uint32_t newest;
};

static int apply_keep(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql
        all = {"SELECT t.rowid, t.checkpoint, s.resume FROM states AS t, sessions AS s"
               " WHERE s.id=?1 AND t.session=s.key ORDER BY t.rowid DESC"},
        forget = {"DELETE FROM states WHERE rowid=?1"};
    const struct keep_call *k = CONTAINER_OF(call, struct keep_call, call);
    sqlite3_stmt *s = db_ask(&store->db, &all, e, DB_TEXT(call->scope));
    if (s == NULL)
        return -1;
    int got;
    for (size_t i = 0; (got = db_step(&store->db, s, e)) > 0; i++) {
        uint64_t checkpoint = db_number(s, 1);
        bool is_kept = i < k->newest || checkpoint == db_number(s, 2);
        for (size_t n = 0; n < k->n_kept && !is_kept; n++)
            is_kept = k->kept[n] == checkpoint;
        if (is_kept)
            continue;
        sweep_want(store);
        if (db_do(&store->db, &forget, e, DB_NUMBER(db_number(s, 0))) < 0)
            return -1;
    }
    return got;
}

static const struct call_type keep_type = {.apply = apply_keep, .is_write = true};

int store_keep_states(struct store *store, const char *session, const uint64_t *kept, size_t n_kept,
                      uint32_t newest, struct err *e)
{
    struct keep_call *k = call_new(store, &keep_type, sizeof(*k), session);
    k->kept = arena_copy(&k->call.memory, kept, n_kept * sizeof(*kept));
    k->n_kept = n_kept;
    k->newest = newest;
    k->call.bytes += n_kept * sizeof(*kept);
    return call_queue(&k->call, e);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct state_get_call {
    struct store_call call;
    uint64_t checkpoint;
    struct store_saved at;
};

static int states_apply_get(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT t.checkpoint, t.through, t.at_ms, t.bytes, t.files, t.records, t.explored"
        " FROM states AS t, sessions AS s WHERE s.id=?1 AND t.session=s.key AND"
        " t.checkpoint = CASE WHEN ?3 THEN s.resume ELSE ?2 END"};
    struct state_get_call *get = CONTAINER_OF(call, struct state_get_call, call);
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_TEXT(call->scope), DB_NUMBER(get->checkpoint),
                       DB_NUMBER(get->checkpoint == STORE_RESUME));
    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(e, ERR_NOT_FOUND, "no such state of session %.40s is saved", call->scope);
    struct store_saved *at = &get->at;
    const char *files = db_text(s, 4);
    *at = (struct store_saved){
        .checkpoint = db_number(s, 0),
        .through = db_number(s, 1),
        .at_ms = db_number(s, 2),
        .bytes = db_number(s, 3),
    };
    if (files != NULL)
        snprintf(at->files, sizeof(at->files), "%s", files);
    const char *explored = db_text(s, 6);
    if (explored != NULL)
        snprintf(at->explored, sizeof(at->explored), "%s", explored);
    int rc = state_unpack(store, sqlite3_column_blob(s, 5), (size_t)sqlite3_column_bytes(s, 5),
                          &get->call.state, e);
    sqlite3_reset(s);
    return rc < 0 ? -1 : bodies_load(store, get->call.state, e);
}

static void states_deliver_get(struct store_call *call, const struct err *e)
{
    struct state_get_call *get = CONTAINER_OF(call, struct state_get_call, call);
    struct store_state *state = e == NULL ? take_ptr(get->call.state) : NULL;
    ((store_state_fn)call->fn)(call->context, state, &get->at, e);
}

static const struct call_type states_get_type = {.apply = states_apply_get,
                                                 .deliver = states_deliver_get};

struct store_call *store_get_state(struct store *store, const char *session, uint64_t checkpoint,
                                   store_state_fn fn, void *context)
{
    struct state_get_call *get = call_new(store, &states_get_type, sizeof(*get), session);
    get->checkpoint = checkpoint;
    return call_ask(&get->call, (void *)fn, context);
}
