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

static int read_boot(struct store *store, char **ret_boot, struct err *e)
{
    static const struct db_sql sql = {"SELECT value FROM about WHERE key='boot'"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e);
    if (got > 0 && db_text(s, 0) != NULL)
        *ret_boot = mem_strdup(db_text(s, 0));
    sqlite3_reset(s);
    return got < 0 ? -1 : 0;
}

static int write_boot(struct store *store, const char *boot, struct err *e)
{
    static const struct db_sql sql = {"INSERT OR REPLACE INTO about VALUES('boot', ?1)"};
    return db_do(&store->db, &sql, e, DB_TEXT(boot));
}

int sweep_after_boot(struct store *store, struct err *e)
{
    _free_ char *now = NULL, *last = NULL;
    size_t len;
    sweep_want(store);
    if (read_boot(store, &last, e) < 0)
        return -1;
    if (fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 128, &now, &len) < 0)
        now = mem_strdup("unknown"); /* then it is done at every start: slow, never wrong */
    if (last != NULL && strcmp(last, now) == 0 && strcmp(now, "unknown") != 0)
        return 0;
    if (blob_each(store->blobs, remove_unlisted, store) < 0)
        return err_set(e, ERR_UNAVAILABLE, "the database cannot be read");
    return write_boot(store, now, e);
}
