/* Removing what nobody refers to any more: mark what rows, live states and pins refer to, then
 * remove the rest, in steps of some milliseconds between the groups.  Why nothing in use is
 * removed: - What a row refers to when marking begins is marked. Rows that are written while a
 * sweep goes on mark what they refer to themselves (sweep_mark). Rows are written by this thread
 * only. - Live states and pins are marked last. A state that is read later is read from a row. -
 * What is neither is a blob that was just written: it is younger than STORE_BLOB_AGE_MIN.  If there
 * are too many marks, only some first bytes are swept at a time. Daemon; a step at a time on the
 * writer thread. */
#include "base/clock.h"
#include "store/sweep_parts.h"

#include <assert.h>
#include <errno.h>

enum {
    SWEEP_LATER_MS = (STORE_BLOB_AGE_MIN + 1) * 60 * 1000,
    FIRST_BYTES = 256,
};

/* ---- phases: 1 if there is more, 0 if it is done, -1 ----------------------------------------- */

static int expire(struct store *store, struct err *e)
{
    static const struct db_sql steps[] = {
        {"DELETE FROM named WHERE expires_ms<>0 AND expires_ms<=?1"},
        {"DELETE FROM shared WHERE expires_ms<=?1"},
    };
    return db_run_each(&store->db, steps, ARRAY_LEN(steps), clock_wall_ms(), e);
}

static int remove_rows(struct store *store, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT rowid, hash FROM bodies WHERE rowid>?1 ORDER BY rowid LIMIT ?2"};
    struct sweep *sw = store->sweep;
    struct blob_hash unused[SWEEP_BODIES_A_STEP];
    size_t n_unused = 0;
    sqlite3_stmt *s =
        db_ask(&store->db, &sql, e, DB_NUMBER(sw->cursor), DB_NUMBER(SWEEP_BODIES_A_STEP));
    if (s == NULL)
        return -1;
    int got, n = 0;
    while ((got = db_step(&store->db, s, e)) > 0) {
        struct blob_hash hash = db_hash(s, 1);
        n++;
        sw->cursor = db_number(s, 0);
        if (sweep_is_unused(sw, &hash))
            unused[n_unused++] = hash;
    }
    for (size_t i = 0; i < n_unused && got >= 0; i++)
        got = bodies_forget(store, &unused[i], e);
    return got < 0 ? -1 : n == SWEEP_BODIES_A_STEP;
}

static int remove_blob(void *context, const struct blob_hash *hash, uint64_t bytes)
{
    struct store *store = context;
    (void)bytes;
    if (sweep_is_unused(store->sweep, hash) &&
        blob_remove_idle(store->blobs, hash, STORE_BLOB_AGE_MIN * 60) == -EBUSY)
        store->sweep->has_young = true;
    return 0;
}

static int remove_files(struct store *store, struct err *e)
{
    struct sweep *sw = store->sweep;
    (void)e;
    blob_each_in(store->blobs, (unsigned char)(sw->first + sw->cursor), remove_blob, store);
    return ++sw->cursor < sw->width;
}

static int (*const phases[])(struct store *store, struct err *e) = {
    [SWEEP_EXPIRE] = expire,
    [SWEEP_STATES] = sweep_mark_states,
    [SWEEP_NAMED] = sweep_mark_named,
    [SWEEP_SHARED] = sweep_mark_shared,
    [SWEEP_IMAGES] = sweep_mark_images,
    [SWEEP_PINS] = sweep_mark_pins,
    [SWEEP_LIVE] = sweep_mark_live,
    [SWEEP_ROWS] = remove_rows,
    [SWEEP_FILES] = remove_files,
};

/* ---- a sweep --------------------------------------------------------------------------------- */

static struct sweep *sweep_new(void)
{
    struct sweep *sw = mem_alloc(sizeof(*sw));
    sw->width = FIRST_BYTES;
    sw->marks = mem_alloc(2 * SWEEP_MARKS_MAX * sizeof(*sw->marks));
    return sw;
}

static void sweep_free(struct sweep *sw)
{
    free(sw->marks);
    free(sw->pins);
    free(sw);
}

/* What is removed is removed on disk before the blobs go, so these commits are synced. */
static int run_phase(struct store *store, struct err *e)
{
    enum sweep_phase phase = store->sweep->phase;
    store->db.is_broken = false;
    if (phase != SWEEP_EXPIRE && phase != SWEEP_ROWS)
        return phases[phase](store, e);
    if (db_exec(&store->db, "PRAGMA synchronous=FULL; BEGIN IMMEDIATE", e) < 0)
        return -1;
    int more = phases[phase](store, e);
    if (more < 0 || db_exec(&store->db, "COMMIT", e) < 0) {
        sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return more;
}

static void next_phase(struct sweep *sw)
{
    sw->cursor = 0;
    if (++sw->phase < SWEEP_DONE || sw->first + sw->width >= FIRST_BYTES)
        return;
    sw->first += sw->width;
    sw->phase = SWEEP_STATES;
    sweep_unmark_all(sw);
}

/* Fewer first bytes at a time, from the beginning of the present ones. */
static void narrow(struct sweep *sw)
{
    sw->width = MAX(sw->width / 2, 1U);
    sw->phase = SWEEP_STATES;
    sw->cursor = 0;
    sweep_unmark_all(sw);
}

static int step(struct store *store, struct err *e)
{
    struct sweep *sw = store->sweep;
    int more = run_phase(store, e);
    /* Full marks are no marks: nothing may be removed by them. */
    if (more >= 0 && sw->n_marks >= SWEEP_MARKS_MAX && sw->phase < SWEEP_ROWS) {
        if (sw->width == 1)
            return err_set(e, ERR_LIMIT, "there are too many blobs to look for unused ones");
        narrow(sw);
        return 1;
    }
    if (more == 0)
        next_phase(sw);
    return more < 0 ? -1 : sw->phase != SWEEP_DONE;
}

static uint64_t next_expiry(struct store *store)
{
    static const struct db_sql sql = {
        "SELECT min(t) FROM (SELECT min(expires_ms) AS t FROM named WHERE expires_ms<>0"
        " UNION ALL SELECT min(expires_ms) FROM shared)"};
    struct err ignored;
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, &ignored);
    uint64_t at = got > 0 ? db_number(s, 0) : 0;
    sqlite3_reset(s);
    return at;
}

/* The next one: for garbage that was too young, or for what expires. store.lock is held. */
static void plan_next(struct store *store, uint64_t expiry_ms, bool is_unfinished)
{
    uint64_t now = clock_mono_ms(), wall = clock_wall_ms();
    uint64_t at = is_unfinished ? now + SWEEP_LATER_MS : 0;
    if (expiry_ms != 0) {
        uint64_t due = now + (expiry_ms > wall ? expiry_ms - wall : 0) + SWEEP_LATER_MS;
        at = at == 0 ? due : MIN(at, due);
    }
    if (at != 0 && (store->sweep_wanted_ms == 0 || at < store->sweep_wanted_ms))
        store->sweep_wanted_ms = at;
}

static void sweep_finish(struct store *store, const struct err *e)
{
    LIST_EACH(&store->sweepers, it) {
        struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        call->has_failed = e != NULL;
        if (e != NULL)
            call->error = *e;
        list_remove(it);
        list_append(&store->done, it);
    }
    if (!list_is_empty(&store->done))
        uv_async_send(&store->async);
}

/* ---- for the writer -------------------------------------------------------------------------- */

uint64_t sweep_due(const struct store *store, uint64_t due)
{
    if (store->sweep != NULL)
        return 0;
    /* One begins when nothing is queued, so that what was deleted before it is gone. */
    return store->sweep_wanted_ms == 0 || store->n_queued > 0 ? due
                                                              : MIN(due, store->sweep_wanted_ms);
}

void sweep_step(struct store *store)
{
    struct err e = {0};
    if (store->sweep == NULL) {
        store->sweep_wanted_ms = 0;
        store->sweep = sweep_new();
    }
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_lock(&store->db_lock);
    int more = step(store, &e);
    uint64_t expiry = more > 0 ? 0 : next_expiry(store);
    if (more <= 0)
        blob_remove_unfinished(store->blobs, STORE_BLOB_AGE_MIN * 60);
    pthread_mutex_unlock(&store->db_lock);
    pthread_mutex_lock(&store->lock);
    if (more > 0)
        return;
    plan_next(store, expiry, more < 0 || store->sweep->has_young);
    sweep_free(take_ptr(store->sweep));
    sweep_finish(store, more < 0 ? &e : NULL);
}

void sweep_cancel(struct store *store)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "the daemon stops");
    if (store->sweep != NULL)
        sweep_free(take_ptr(store->sweep));
    sweep_finish(store, &e);
}

void sweep_want(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    if (store->sweep_wanted_ms == 0)
        store->sweep_wanted_ms = clock_mono_ms() + SWEEP_LATER_MS;
    pthread_mutex_unlock(&store->lock);
}

static const struct call_type sweep_type = {.deliver = call_deliver_done};

struct store_call *store_sweep(struct store *store, store_done_fn fn, void *context)
{
    struct store_call *call = call_new(store, &sweep_type, sizeof(*call), NULL);
    call->fn = (void *)fn;
    call->context = context;
    pthread_mutex_lock(&store->lock);
    assert(!store->is_stopping);
    list_append(&store->sweepers, &call->node);
    store->sweep_wanted_ms = clock_mono_ms();
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
    return call;
}
