/* The catalogue of bodies that rows refer to. All of this runs on the store's thread, inside the
 * transaction of a group. */
#include "base/fd.h"
#include "jail/files/manifest.h"
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>

/* Each fsync costs a flush of the disk, and a blob takes three (its bytes, its name, the folder's
 * name): one syncfs is cheaper, unless others have much unwritten data on the same disk, for which
 * it would wait too. */
enum { SYNC_ALL_FROM_BUSY = 24, DIRTY_MUCH_KB = 64 * 1024 };

int bodies_is_known(struct store *store, const struct blob_hash *hash, struct err *e)
{
    static const struct db_sql sql = {"SELECT 1 FROM bodies WHERE hash=?1"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_BYTES(hash->bytes, sizeof(hash->bytes)));
    sqlite3_reset(s);
    return got;
}

static int bodies_add_row(struct store *store, const struct blob_hash *hash, uint64_t bytes,
                          const void *data, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT OR IGNORE INTO bodies(hash, bytes, data) VALUES(?1,?2,?3)"};
    return db_do(&store->db, &sql, e, DB_BYTES(hash->bytes, sizeof(hash->bytes)), DB_NUMBER(bytes),
                 DB_BYTES(data, (size_t)bytes));
}

int bodies_keep_blob(struct store *store, const struct blob_hash *hash, uint64_t bytes,
                     struct err *e)
{
    sweep_mark(store, hash);
    int known = bodies_is_known(store, hash, e);
    if (known != 0)
        return known < 0 ? -1 : 0;
    /* Touched, so that no sweep removes the blob before its row is committed. */
    int rc = blob_touch(store->blobs, hash);
    if (rc == -ENOENT)
        return err_set(e, ERR_INTERNAL, "bytes that were to be saved are not there any more");
    if (rc < 0)
        return err_errno(e, ERR_UNAVAILABLE, rc, "keeping a blob");
    if (store->n_to_sync == store->max_to_sync) {
        store->max_to_sync = store->max_to_sync == 0 ? 64 : 2 * store->max_to_sync;
        store->to_sync = mem_realloc(store->to_sync, store->max_to_sync * sizeof(*store->to_sync));
    }
    store->to_sync[store->n_to_sync++] = *hash;
    return bodies_add_row(store, hash, bytes, NULL, e);
}

int bodies_keep_state(struct store *store, const struct store_state *state, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < state->n_records && rc == 0; i++) {
        const struct store_record *r = &state->records[i];
        struct blob_hash hash;
        if (!r->has_body)
            continue;
        if (blob_parse_hex(r->hash, &hash) < 0)
            return err_set(e, ERR_INTERNAL, "a record of the state has no proper hash");
        if (r->data == NULL) {
            rc = bodies_keep_blob(store, &hash, r->bytes, e);
            continue;
        }
        sweep_mark(store, &hash);
        int known = bodies_is_known(store, &hash, e);
        rc = known < 0 ? -1 : 0;
        if (known == 0)
            rc = bodies_add_row(store, &hash, r->bytes, r->data, e);
    }
    return rc;
}

/* A manifest's row is made after those of its files, so a manifest that is known needs no look at
 * them, unless a sweep wants to know what is in use. */
int bodies_keep_manifest(struct store *store, const char *hex, struct err *e)
{
    struct blob_hash hash;
    struct manifest *manifest;
    if (blob_parse_hex(hex, &hash) < 0)
        return err_set(e, ERR_INVALID, "\"%.70s\" is not the name of a manifest", hex);
    int known = bodies_is_known(store, &hash, e);
    if (known < 0 || (known > 0 && store->sweep == NULL))
        return known < 0 ? -1 : 0;
    if (manifest_load(store->blobs, &hash, &manifest, e) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < manifest->n_entries && rc == 0; i++) {
        const struct manifest_entry *entry = &manifest->entries[i];
        if (entry->type == MANIFEST_FILE)
            rc = bodies_keep_blob(store, &entry->hash, entry->size, e);
    }
    manifest_free(manifest);
    return rc < 0 ? -1 : bodies_keep_blob(store, &hash, 0, e);
}

int bodies_drop(struct store *store, const struct blob_hash *hash, struct err *e)
{
    static const struct db_sql sql = {"DELETE FROM bodies WHERE hash=?1"};
    return db_do(&store->db, &sql, e, DB_BYTES(hash->bytes, sizeof(hash->bytes)));
}

/* ---- damage ---------------------------------------------------------------------------------- */

struct damage_call {
    struct store_call call;
    struct blob_hash hash;
};

static int apply_damage(struct store *store, struct store_call *call, struct err *e)
{
    return bodies_drop(store, &CONTAINER_OF(call, struct damage_call, call)->hash, e);
}

static const struct call_type damage_type = {.apply = apply_damage, .is_write = true};

void bodies_drop_damaged(struct store *store, const char *hex)
{
    struct err ignored;
    struct blob_hash hash;
    if (blob_parse_hex(hex, &hash) < 0)
        return;
    blob_remove_idle(store->blobs, &hash, ANY_AGE);
    struct damage_call *call = call_new(store, &damage_type, sizeof(*call), NULL);
    call->hash = hash;
    call_queue(&call->call, &ignored);
}

/* ---- reading and syncing --------------------------------------------------------------------- */

int bodies_load(struct store *store, struct store_state *state, struct err *e)
{
    static const struct db_sql sql = {"SELECT data FROM bodies WHERE hash=?1"};
    for (size_t i = 0; i < state->n_records; i++) {
        struct store_record *r = &state->records[i];
        struct blob_hash hash;
        sqlite3_stmt *s;
        if (!r->has_body || r->bytes > INLINE_MAX)
            continue;
        if (blob_parse_hex(r->hash, &hash) < 0)
            return -1;
        int got = db_first(&store->db, &sql, &s, e, DB_BYTES(hash.bytes, sizeof(hash.bytes)));
        /* A row of another length is damage: without data it is looked for among the blobs, not
         * found, and told as lost. */
        if (got > 0 && sqlite3_column_type(s, 0) == SQLITE_BLOB &&
            (uint64_t)sqlite3_column_bytes(s, 0) == r->bytes) {
            r->data = mem_alloc((size_t)r->bytes + 1);
            if (r->bytes > 0)
                memcpy(r->data, sqlite3_column_blob(s, 0), (size_t)r->bytes);
        }
        sqlite3_reset(s);
        if (got < 0)
            return -1;
    }
    return 0;
}

static bool is_disk_busy(void)
{
    _free_ char *text = NULL;
    size_t len;
    if (fd_read_file(AT_FDCWD, "/proc/meminfo", 16 * KIB, &text, &len) < 0)
        return true;
    const char *dirty = strstr(text, "\nDirty:");
    return dirty == NULL || strtoull(dirty + strlen("\nDirty:"), NULL, 10) > DIRTY_MUCH_KB;
}

int bodies_sync(struct store *store, struct err *e)
{
    int rc = 0;
    if (store->n_to_sync > 0 && (store->n_to_sync >= SYNC_ALL_FROM_BUSY || !is_disk_busy())) {
        rc = blob_sync_all(store->blobs);
    } else {
        for (size_t i = 0; i < store->n_to_sync && rc == 0; i++)
            rc = blob_sync(store->blobs, &store->to_sync[i]);
    }
    store->n_to_sync = 0;
    if (rc < 0) {
        err_errno(e, ERR_UNAVAILABLE, rc, "writing saved bytes to disk");
        return err_advise(e, "Check the disk of the data directory; it is tried again.");
    }
    return 0;
}
