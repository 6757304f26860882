/* Removing blobs that nothing refers to any more: mark what rows, live states and pins refer to,
 * then remove the rest, in steps of some milliseconds between the groups. Daemon; a step at a time
 * on the writer thread. Why nothing in use is removed:
 *
 * 1. What a row refers to when marking begins is marked. Rows that are written while a sweep goes
 * on mark what they refer to themselves (sweep_mark). Rows are written by this thread only.
 * 2. Live states and pins are marked last. A state that is read later is read from a row.
 * 3. What is neither is a blob that was just written: it is younger than STORE_BLOB_AGE_MIN.
 *
 * Marks are the first eight bytes of hashes. Two blobs that agree in those keep each other, which
 * costs only space. If there are too many marks, only some first bytes are swept at a time. */
#include "base/clock.h"
#include "base/fd.h"
#include "jail/files/manifest.h"
#include "store/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

enum {
    SWEEP_LATER_MS = (STORE_BLOB_AGE_MIN + 1) * 60 * 1000,
    FIRST_BYTES = 256,
    ROWS_A_STEP = 32,
    BODIES_A_STEP = 512,
    MARKS_MAX = 1 << 20,
    PLACES = 2 * MARKS_MAX, /* of marks */
};

enum sweep_phase {
    SWEEP_EXPIRE, /* rows whose time has passed */
    SWEEP_STATES, /* marking ... */
    SWEEP_NAMED,
    SWEEP_SHARED,
    SWEEP_IMAGES,
    SWEEP_PINS,
    SWEEP_LIVE,
    SWEEP_ROWS,  /* removing ... */
    SWEEP_FILES, /* after their rows: invariant 3 */
    SWEEP_DONE,
};

struct sweep {
    enum sweep_phase phase;
    uint64_t cursor;             /* row or place in the present phase */
    unsigned first, width;       /* bytes: what is swept now */
    uint64_t *marks;             /* open addressing; 0 is an empty place */
    size_t n_marks;              /* of MARKS_MAX */
    char (*pins)[BLOB_HEX_SIZE]; /* as they were when their phase began */
    size_t n_pins;
    bool has_young; /* garbage that must wait */
};

/* ---- marks ----------------------------------------------------------------------------------- */

static void sweep_unmark_all(struct sweep *sw)
{
    sw->n_marks = 0;
    memset(sw->marks, 0, PLACES * sizeof(*sw->marks));
}

static bool is_in_range(const struct sweep *sw, const struct blob_hash *hash)
{
    return hash->bytes[0] >= sw->first && hash->bytes[0] < sw->first + sw->width;
}

static uint64_t mark_of(const struct blob_hash *hash)
{
    uint64_t mark;
    memcpy(&mark, hash->bytes, sizeof(mark));
    return mark + (mark == 0);
}

/* The place of the hash's mark, or the empty place where it would be. */
static uint64_t *mark_place(const struct sweep *sw, const struct blob_hash *hash)
{
    uint64_t mark = mark_of(hash);
    size_t at = (size_t)(mark * 0x9e3779b97f4a7c15ULL >> 32) % PLACES;
    while (sw->marks[at] != 0 && sw->marks[at] != mark)
        at = (at + 1) % PLACES;
    return &sw->marks[at];
}

static void mark(void *context, const struct blob_hash *hash)
{
    struct sweep *sw = context;
    if (!is_in_range(sw, hash) || sw->n_marks >= MARKS_MAX)
        return;
    uint64_t *place = mark_place(sw, hash);
    if (*place == 0) {
        *place = mark_of(hash);
        sw->n_marks++;
    }
}

static void mark_hex(struct sweep *sw, const char *hex)
{
    struct blob_hash hash;
    if (hex != NULL && blob_parse_hex(hex, &hash) == 0)
        mark(sw, &hash);
}

/* A manifest that is gone or damaged cannot be restored, so its files are not marked. An error that
 * may pass stops the sweep. */
static int mark_manifest(struct store *store, const char *hex, struct err *e)
{
    struct blob_hash hash;
    struct manifest *manifest;
    _free_ char *data = NULL;
    size_t len;
    if (hex == NULL || blob_parse_hex(hex, &hash) < 0)
        return 0;
    mark(store->sweep, &hash);
    int rc = blob_read(store->blobs, &hash, MANIFEST_BYTES_MAX, &data, &len);
    if (rc < 0 && rc != -ENOENT && rc != -EBADMSG)
        return err_errno(e, ERR_UNAVAILABLE, rc, "reading a list of files");
    if (rc < 0 || manifest_parse(data, len, &manifest, e) < 0)
        return 0;
    for (size_t i = 0; i < manifest->n_entries; i++) {
        if (manifest->entries[i].type == MANIFEST_FILE)
            mark(store->sweep, &manifest->entries[i].hash);
    }
    manifest_free(manifest);
    return 0;
}

static bool sweep_is_unused(const struct sweep *sw, const struct blob_hash *hash)
{
    return is_in_range(sw, hash) && *mark_place(sw, hash) == 0;
}

void sweep_mark(struct store *store, const struct blob_hash *hash)
{
    if (store->sweep != NULL)
        mark(store->sweep, hash);
}

/* ---- marking phases: 1 if there is more, 0 if it is done, -1 --------------------------------- */

/* Rows of (rowid, records, hashes of two manifests), the next few of them. */
static int mark_rows(struct store *store, const struct db_sql *sql, struct err *e)
{
    struct sweep *sw = store->sweep;
    sqlite3_stmt *s = db_ask(&store->db, sql, e, DB_NUMBER(sw->cursor), DB_NUMBER(ROWS_A_STEP));
    if (s == NULL)
        return -1;
    int got, n = 0;
    while ((got = db_step(&store->db, s, e)) > 0) {
        n++;
        sw->cursor = db_number(s, 0);
        /* A row that cannot be read cannot be restored either. */
        state_each_hash(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), mark, sw);
        if (mark_manifest(store, db_text(s, 2), e) < 0 ||
            mark_manifest(store, db_text(s, 3), e) < 0) {
            sqlite3_reset(s);
            return -1;
        }
    }
    return got < 0 ? -1 : n == ROWS_A_STEP;
}

static int sweep_mark_states(struct store *store, struct err *e)
{
    static const struct db_sql sql = {"SELECT rowid, records, files, explored FROM states WHERE "
                                      "rowid>?1 ORDER BY rowid LIMIT ?2"};
    return mark_rows(store, &sql, e);
}

static int sweep_mark_named(struct store *store, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT rowid, records, NULL, NULL FROM named WHERE rowid>?1 ORDER BY rowid LIMIT ?2"};
    return mark_rows(store, &sql, e);
}

static int sweep_mark_shared(struct store *store, struct err *e)
{
    static const struct db_sql sql = {"SELECT hash FROM shared"};
    sqlite3_stmt *s = db_ask(&store->db, &sql, e);
    int got;
    if (s == NULL)
        return -1;
    while ((got = db_step(&store->db, s, e)) > 0)
        mark_hex(store->sweep, db_text(s, 0));
    return got;
}

static int sweep_mark_images(struct store *store, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT rowid, hash FROM images WHERE rowid>?1 ORDER BY rowid LIMIT ?2"};
    struct sweep *sw = store->sweep;
    sqlite3_stmt *s = db_ask(&store->db, &sql, e, DB_NUMBER(sw->cursor), DB_NUMBER(BODIES_A_STEP));
    if (s == NULL)
        return -1;
    int got, n = 0;
    while ((got = db_step(&store->db, s, e)) > 0) {
        struct blob_hash hash = db_hash(s, 1);
        n++;
        sw->cursor = db_number(s, 0);
        mark(sw, &hash);
    }
    return got < 0 ? -1 : n == BODIES_A_STEP;
}

static int sweep_mark_pins(struct store *store, struct err *e)
{
    struct sweep *sw = store->sweep;
    if (sw->cursor == 0) {
        const char *key;
        void *count;
        size_t at = 0;
        free(sw->pins);
        sw->n_pins = 0;
        pthread_mutex_lock(&store->lock);
        sw->pins = mem_alloc((store->pins.count + 1) * sizeof(*sw->pins));
        while (map_next(&store->pins, &at, &key, &count))
            snprintf(sw->pins[sw->n_pins++], BLOB_HEX_SIZE, "%s", key);
        pthread_mutex_unlock(&store->lock);
    }
    if (sw->cursor >= sw->n_pins)
        return 0;
    return mark_manifest(store, sw->pins[sw->cursor++], e) < 0 ? -1 : 1;
}

/* A state that a worker is still reading is not among them: its blobs are young. */
static int sweep_mark_live(struct store *store, struct err *e)
{
    (void)e;
    pthread_mutex_lock(&store->lock);
    for (const struct store_state *state = store->states; state != NULL; state = state->next) {
        for (size_t i = 0; i < state->n_records; i++) {
            if (state->records[i].has_body)
                mark_hex(store->sweep, state->records[i].hash);
        }
    }
    pthread_mutex_unlock(&store->lock);
    return 0;
}

/* ---- the other phases ------------------------------------------------------------------------ */

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
    struct blob_hash unused[BODIES_A_STEP];
    size_t n_unused = 0;
    sqlite3_stmt *s = db_ask(&store->db, &sql, e, DB_NUMBER(sw->cursor), DB_NUMBER(BODIES_A_STEP));
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
        got = bodies_drop(store, &unused[i], e);
    return got < 0 ? -1 : n == BODIES_A_STEP;
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

static void sweep_free(struct sweep *sw)
{
    free(sw->marks);
    free(sw->pins);
    free(sw);
}

static int step(struct store *store, struct err *e)
{
    struct sweep *sw = store->sweep;
    bool removes_rows = sw->phase == SWEEP_EXPIRE || sw->phase == SWEEP_ROWS;
    store->db.is_broken = false;
    /* Rows are removed on disk before the blobs go, so these commits are synced. */
    if (removes_rows && db_exec(&store->db, "PRAGMA synchronous=FULL; BEGIN IMMEDIATE", e) < 0)
        return -1;
    int more = phases[sw->phase](store, e);
    if (removes_rows && (more < 0 || db_exec(&store->db, "COMMIT", e) < 0)) {
        sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    /* Full marks are no marks: nothing may be removed by them. */
    if (more >= 0 && sw->n_marks >= MARKS_MAX && sw->phase < SWEEP_ROWS) {
        if (sw->width == 1)
            return err_set(e, ERR_LIMIT, "there are too many blobs to look for unused ones");
        /* Fewer first bytes at a time, from the beginning of the present ones. */
        sw->width = MAX(sw->width / 2, 1U);
        sw->phase = SWEEP_STATES;
        sw->cursor = 0;
        sweep_unmark_all(sw);
        return 1;
    }
    if (more == 0) {
        sw->cursor = 0;
        if (++sw->phase >= SWEEP_DONE && sw->first + sw->width < FIRST_BYTES) {
            sw->first += sw->width;
            sw->phase = SWEEP_STATES;
            sweep_unmark_all(sw);
        }
    }
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
        struct sweep *sw = mem_alloc(sizeof(*sw));
        sw->width = FIRST_BYTES;
        sw->marks = mem_alloc(PLACES * sizeof(*sw->marks));
        store->sweep = sw;
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
    /* The next one: for garbage that was too young, or for what expires. store.lock is held. */
    uint64_t now = clock_mono_ms(), wall = clock_wall_ms();
    uint64_t at = (more < 0 || store->sweep->has_young) ? now + SWEEP_LATER_MS : 0;
    if (expiry != 0) {
        uint64_t due = now + (expiry > wall ? expiry - wall : 0) + SWEEP_LATER_MS;
        at = at == 0 ? due : MIN(at, due);
    }
    if (at != 0 && (store->sweep_wanted_ms == 0 || at < store->sweep_wanted_ms))
        store->sweep_wanted_ms = at;
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

/* ---- manifests that only memory knows: on the loop ------------------------------------------- */

void store_pin(struct store *store, const char *manifest)
{
    pthread_mutex_lock(&store->lock);
    size_t *count = map_get(&store->pins, manifest);
    if (count == NULL) {
        count = mem_alloc(sizeof(*count));
        map_set(&store->pins, manifest, count);
    }
    ++*count;
    pthread_mutex_unlock(&store->lock);
}

void store_unpin(struct store *store, const char *manifest)
{
    pthread_mutex_lock(&store->lock);
    size_t *count = map_get(&store->pins, manifest);
    if (count != NULL && --*count == 0)
        free(map_remove(&store->pins, manifest));
    pthread_mutex_unlock(&store->lock);
}

/* ---- the first start after the machine's: what a power cut may have left half written goes -----
 */

static int remove_unlisted(void *context, const struct blob_hash *hash, uint64_t bytes)
{
    struct store *store = context;
    struct err ignored;
    (void)bytes;
    int known = bodies_is_known(store, hash, &ignored);
    if (known == 0)
        blob_remove_idle(store->blobs, hash, ANY_AGE);
    return known < 0 ? -EIO : 0;
}

int sweep_after_boot(struct store *store, struct err *e)
{
    static const struct db_sql get = {"SELECT value FROM about WHERE key='boot'"},
                               put = {"INSERT OR REPLACE INTO about VALUES('boot', ?1)"};
    _free_ char *now = NULL, *last = NULL;
    size_t len;
    sqlite3_stmt *s;
    sweep_want(store);
    int got = db_first(&store->db, &get, &s, e);
    if (got > 0 && db_text(s, 0) != NULL)
        last = mem_strdup(db_text(s, 0));
    sqlite3_reset(s);
    if (got < 0)
        return -1;
    if (fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 128, &now, &len) < 0)
        now = mem_strdup("unknown"); /* then it is done at every start: slow, never wrong */
    if (last != NULL && strcmp(last, now) == 0 && strcmp(now, "unknown") != 0)
        return 0;
    if (blob_each(store->blobs, remove_unlisted, store) < 0)
        return err_set(e, ERR_UNAVAILABLE, "the database cannot be read");
    return db_do(&store->db, &put, e, DB_TEXT(now));
}
