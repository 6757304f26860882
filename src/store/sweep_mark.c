/* What is referred to, and stays: by rows of states, named ones and shared files, by pictures of
 * cells, by checkpoints and by states in memory.
 *
 * Marks are the first eight bytes of hashes. Two blobs that agree in those keep each other, which
 * costs only space. */
#include "jail/files/manifest.h"
#include "store/sweep_parts.h"

#include <errno.h>

enum { ROWS_A_STEP = 32, PLACES = 2 * SWEEP_MARKS_MAX };

/* ---- marks ----------------------------------------------------------------------------------- */

void sweep_unmark_all(struct sweep *sw)
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

/* The place of this mark, or the empty one where it would be. */
static uint64_t *sweep_mark_place_of(const struct sweep *sw, const struct blob_hash *hash)
{
    uint64_t mark = mark_of(hash);
    size_t at = (size_t)(mark * 0x9e3779b97f4a7c15ULL >> 32) % PLACES;
    while (sw->marks[at] != 0 && sw->marks[at] != mark)
        at = (at + 1) % PLACES;
    return &sw->marks[at];
}

static void mark(struct sweep *sw, const struct blob_hash *hash)
{
    if (!is_in_range(sw, hash) || sw->n_marks >= SWEEP_MARKS_MAX)
        return;
    uint64_t *place = sweep_mark_place_of(sw, hash);
    if (*place == 0) {
        *place = mark_of(hash);
        sw->n_marks++;
    }
}

static void mark_each(void *context, const struct blob_hash *hash)
{
    mark(context, hash);
}

static void mark_hex(struct sweep *sw, const char *hex)
{
    struct blob_hash hash;
    if (hex != NULL && blob_parse_hex(hex, &hash) == 0)
        mark(sw, &hash);
}

/* A manifest that is gone or damaged cannot be restored, so its files keep nobody. What could be
 * read another time stops the sweep. */
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

bool sweep_is_unused(const struct sweep *sw, const struct blob_hash *hash)
{
    return is_in_range(sw, hash) && *sweep_mark_place_of(sw, hash) == 0;
}

void sweep_mark(struct store *store, const struct blob_hash *hash)
{
    if (store->sweep != NULL)
        mark(store->sweep, hash);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Rows of (rowid, records, hash of a manifest), the next few of them. */
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
        state_each_hash(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), mark_each,
                        sw);
        if (mark_manifest(store, db_text(s, 2), e) < 0) {
            sqlite3_reset(s);
            return -1;
        }
    }
    return got < 0 ? -1 : n == ROWS_A_STEP;
}

int sweep_mark_states(struct store *store, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT rowid, records, files FROM states WHERE rowid>?1 ORDER BY rowid LIMIT ?2"};
    return mark_rows(store, &sql, e);
}

int sweep_mark_named(struct store *store, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT rowid, records, NULL FROM named WHERE rowid>?1 ORDER BY rowid LIMIT ?2"};
    return mark_rows(store, &sql, e);
}

int sweep_mark_shared(struct store *store, struct err *e)
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

int sweep_mark_images(struct store *store, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT rowid, hash FROM images WHERE rowid>?1 ORDER BY rowid LIMIT ?2"};
    struct sweep *sw = store->sweep;
    sqlite3_stmt *s =
        db_ask(&store->db, &sql, e, DB_NUMBER(sw->cursor), DB_NUMBER(SWEEP_BODIES_A_STEP));
    if (s == NULL)
        return -1;
    int got, n = 0;
    while ((got = db_step(&store->db, s, e)) > 0) {
        struct blob_hash hash = db_hash(s, 1);
        n++;
        sw->cursor = db_number(s, 0);
        mark(sw, &hash);
    }
    return got < 0 ? -1 : n == SWEEP_BODIES_A_STEP;
}

static void copy_pins(struct store *store)
{
    struct sweep *sw = store->sweep;
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

int sweep_mark_pins(struct store *store, struct err *e)
{
    struct sweep *sw = store->sweep;
    if (sw->cursor == 0)
        copy_pins(store);
    if (sw->cursor >= sw->n_pins)
        return 0;
    return mark_manifest(store, sw->pins[sw->cursor++], e) < 0 ? -1 : 1;
}

/* One that a worker is still reading is not among them: its blobs are young. */
int sweep_mark_live(struct store *store, struct err *e)
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
