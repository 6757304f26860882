/* The first start after the machine's: what a power cut may have left half written goes. */
#include "base/fd.h"
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>

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
