/* Recording: a walk over the workspace that reads what may have changed. Archivist.
 *
 * Why a walk and not a watch (inotify, fanotify): it misses nothing, neither what was mapped nor
 * what overflowed a queue; it needs no watch for every directory, of which the kernel has few; and
 * it costs about a microsecond for each name, at the boundary of cells only. */
#include "base/clock.h"
#include "jail/files/archive.h"
#include "jail/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <sys/fsuid.h>
#include <sys/vfs.h>
#include <time.h>

enum {
    READ_TRIES = 3,             /* of a file that changes meanwhile */
    TRUSTED_MS = 4 * 60 * 1000, /* well below the age at which a blob may be removed */
};

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

struct workspace_record {
    struct archive *archive; /* what was known before */
    int store;
    const struct archive_budget *budget;
    struct archive_recorded *out;
    bool has_base;         /* the blobs of what was known need not be looked for */
    uint64_t touched_ms;   /* for the archive, once this is recorded */
    bool sees_clean_pages; /* a store into a clean page changes the ctime on this file system */
    size_t at;             /* in the known manifest: before the current path */
    char path[MANIFEST_PATH_MAX + 1];
    size_t path_len;
    struct buf manifest;
    struct archive_seen *seen;
    size_t n, cap;
};

/* ---- helpers --------------------------------------------------------------------------------- */

static int record_give_up(struct workspace_record *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int record_give_up(struct workspace_record *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->out->reason, sizeof(r->out->reason), fmt, args);
    va_end(args);
    return -1;
}

/* Because of what the workspace is: trying again does not help. */
static int over_budget(struct workspace_record *r, int given_up)
{
    r->out->is_over_budget = true;
    return given_up;
}

static int give_up_store(struct workspace_record *r, int errnum)
{
    if (errnum == -ENOSPC || errnum == -EDQUOT || errnum == -EFBIG)
        return record_give_up(r, "the disk of the data directory is full (%s): free some space",
                              strerror(-errnum));
    if (errnum == -EROFS)
        return record_give_up(r, "the data directory cannot be written to: it is read-only");
    return record_give_up(r, "the file %.300s cannot be kept in the store: %s", r->path,
                          strerror(-errnum));
}

/* What was known of the current path. The walk goes in the manifest's order, so one look forward
 * finds it. */
static const struct manifest_entry *known(struct workspace_record *r,
                                          const struct archive_seen **ret_seen)
{
    const struct manifest *m = r->archive->manifest;
    for (; m != NULL && r->at < m->n_entries; r->at++) {
        const struct manifest_entry *entry = &m->entries[r->at];
        int order = manifest_order(entry->path, entry->path_len, r->path, r->path_len);
        if (order > 0)
            break;
        if (order == 0) {
            *ret_seen = &r->archive->seen[r->at];
            return entry;
        }
    }
    return NULL;
}

static int append(struct workspace_record *r, struct manifest_entry *entry, const struct stat *st,
                  const struct archive_seen *seen)
{
    if (r->n > r->budget->files || r->n >= MANIFEST_ENTRIES_MAX)
        return over_budget(r, record_give_up(r, "there are more than %u files", r->budget->files));
    entry->path = r->path;
    entry->path_len = r->path_len;
    entry->mode = entry->type == MANIFEST_LINK ? 0777 : st->st_mode & 07777;
    entry->mtime_ns = tree_ns(&st->st_mtim);
    if (entry->target == NULL)
        entry->target = "";
    manifest_append(&r->manifest, entry);
    if (r->manifest.overflowed)
        return over_budget(r, record_give_up(r, "the names of the files are too long"));
    if (r->n == r->cap) {
        r->cap = MAX(2 * r->cap, (size_t)64);
        r->seen = mem_realloc(r->seen, r->cap * sizeof(*r->seen));
    }
    r->seen[r->n++] = seen == NULL ? (struct archive_seen){0} : *seen;
    return 0;
}

/* ---- one file -------------------------------------------------------------------------------- */

/* After this, every store into a page of the file changes its ctime. False: that cannot be had. */
static bool make_stores_seen(const struct workspace_record *r, int fd, uid_t owner)
{
    /* A read lease is refused exactly while somebody has the file open for writing, which who maps
     * it to write has too. Only its owner may ask. */
    setfsuid(owner);
    bool is_refused = fcntl(fd, F_SETLEASE, F_RDLCK) < 0;
    if (!is_refused)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    setfsuid(geteuid());
    if (!is_refused)
        return true;
    return r->sees_clean_pages &&
           sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE) == 0;
}

/* Reading once is enough to find that nothing changed, and twice is too much where something did.
 */
static bool is_stored(const struct workspace_record *r, int fd, const struct manifest_entry *old,
                      struct blob_put *put)
{
    return old != NULL && old->size == put->bytes &&
           blob_hash_file(fd, old->size, &put->hash) == 0 && blob_is_same(&put->hash, &old->hash) &&
           (r->has_base || blob_touch(r->store, &old->hash) == 0);
}

/* What the session may have made a terabyte of for nothing. On file systems that count what is not
 * on the disk yet. */
static bool is_hole(const struct workspace_record *r, int fd)
{
    struct stat st;
    return r->sees_clean_pages && fstat(fd, &st) == 0 && st.st_blocks == 0 &&
           lseek(fd, 0, SEEK_DATA) < 0 && errno == ENXIO;
}

/* What is known of the file from the last time. */
struct known_file {
    const struct manifest_entry *likely; /* its bytes may be the same; or NULL */
    const struct manifest_entry *hole;   /* it was one; or NULL */
};

static int store_file(struct workspace_record *r, int fd, const struct stat *st,
                      const struct known_file *old, bool is_all_hole, struct blob_put *put)
{
    uint64_t size = (uint64_t)st->st_size, left = r->budget->new_bytes - r->out->new_bytes;
    *put = (struct blob_put){.bytes = size};
    if (is_all_hole && old->hole != NULL && old->hole->size == size &&
        (r->has_base || blob_touch(r->store, &old->hole->hash) == 0)) {
        put->hash = old->hole->hash; /* zeros need not be hashed twice */
        return 0;
    }
    if (is_stored(r, fd, old->likely, put))
        return 0;
    if (size > left) {
        /* What is too large for the rest of the budget may be in the store all the same. */
        int e = blob_hash_file(fd, size, &put->hash);
        if (e == 0 && blob_touch(r->store, &put->hash) < 0)
            return record_give_up(r, "more than %llu MB changed at once",
                                  (unsigned long long)(r->budget->new_bytes >> 20));
        return e;
    }
    return blob_put_file(r->store, fd, size, put);
}

/* The bytes of an open file. -EAGAIN: it changed in a way that leaves nothing to record. */
static int read_file(struct workspace_record *r, int fd, struct stat *st,
                     const struct known_file *old, struct manifest_entry *entry,
                     struct archive_seen *seen)
{
    struct stat after;
    struct blob_put put;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t began_ns = tree_ns(&now);
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
        return -EAGAIN;
    bool is_seen = make_stores_seen(r, fd, st->st_uid);
    /* A write() that is under way has changed the ctime already and the bytes not yet. Asking for
     * holes waits for it, on file systems where reading does not. */
    lseek(fd, 0, SEEK_HOLE);
    bool is_all_hole = is_hole(r, fd);
    int e = store_file(r, fd, st, old, is_all_hole, &put);
    if (e == -EFBIG && fstat(fd, &after) == 0 && after.st_size > st->st_size)
        return -EAGAIN; /* it grew: not the disk's fault */
    if (e < 0)
        return e;
    if (fstat(fd, &after) < 0)
        return -EAGAIN;
    *seen = archive_see(st, began_ns);
    seen->is_hole = is_all_hole;
    if (!archive_is_same_stat(seen, &after)) {
        r->out->is_torn = true;
        seen->inode = 0;
        seen->is_hole = false;
    }
    seen->is_settled &= is_seen;
    entry->hash = put.hash;
    entry->size = put.bytes;
    r->out->new_bytes += put.is_new ? put.bytes : 0;
    return 0;
}

static int record_changed(struct workspace_record *r, int dir, const char *name,
                          const struct known_file *old)
{
    struct stat st;
    struct archive_seen seen;
    struct manifest_entry entry = {.type = MANIFEST_FILE};
    int e = -EAGAIN;
    for (int i = 0; i < READ_TRIES && e == -EAGAIN; i++) {
        _fd_ int fd = tree_open(dir, name, O_RDONLY, 0);
        if (fd == -EAGAIN)
            return record_give_up(r, "the file %.300s is locked by a lease", r->path);
        if (fd == -ENOENT || fd == -ELOOP) { /* gone, or no file any more */
            r->out->is_torn = true;
            return 0;
        }
        if (fd < 0)
            return record_give_up(r, "the file %.300s cannot be read: %s", r->path, strerror(-fd));
        e = read_file(r, fd, &st, old, &entry, &seen);
        r->out->is_torn |= e == -EAGAIN;
    }
    if (e == -EAGAIN)
        return record_give_up(r, "the file %.300s does not stop changing", r->path);
    if (e < 0)
        return r->out->reason[0] != '\0' ? -1 : give_up_store(r, e);
    return append(r, &entry, &st, &seen);
}

/* ---- everything else ------------------------------------------------------------------------- */

static int record_link(struct workspace_record *r, int dir, const char *name, const struct stat *st)
{
    char target[MANIFEST_PATH_MAX + 1];
    ssize_t n = readlinkat(dir, name, target, sizeof(target));
    if (n <= 0 || n > MANIFEST_PATH_MAX) {
        r->out->is_torn = true;
        return 0;
    }
    target[n] = '\0';
    struct manifest_entry entry = {
        .type = MANIFEST_LINK, .target = target, .target_len = (size_t)n};
    return append(r, &entry, st, NULL);
}

static int record_other(struct workspace_record *r, const struct stat *st)
{
    struct manifest_entry entry = {.type = MANIFEST_OTHER};
    r->out->skipped++;
    return append(r, &entry, st, NULL);
}

static int record_dir(struct workspace_record *r, int dir, int depth);

static int record_name(struct workspace_record *r, int dir, const char *name, int depth)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        r->out->is_torn = true;
        return 0;
    }
    if (S_ISREG(st.st_mode)) {
        const struct archive_seen *seen = NULL;
        struct manifest_entry entry = {.type = MANIFEST_FILE, .size = (uint64_t)st.st_size};
        if (r->out->bytes + (uint64_t)st.st_size > r->budget->bytes)
            return over_budget(r, record_give_up(r, "the files have more than %llu MB",
                                                 (unsigned long long)(r->budget->bytes >> 20)));
        r->out->bytes += (uint64_t)st.st_size;
        const struct manifest_entry *old = known(r, &seen);
        if (old != NULL && old->type == MANIFEST_FILE && archive_is_unchanged(seen, &st) &&
            (r->has_base || blob_touch(r->store, &old->hash) == 0)) {
            entry.hash = old->hash;
            return append(r, &entry, &st, seen);
        }
        struct known_file was = {0};
        if (old != NULL && old->type == MANIFEST_FILE) {
            /* Read because it was young, or only its permissions or its name changed. */
            was.likely = seen->mtime_ns == tree_ns(&st.st_mtim) ? old : NULL;
            was.hole = seen->is_hole ? old : NULL;
        }
        return record_changed(r, dir, name, &was);
    }
    if (S_ISDIR(st.st_mode)) {
        if (depth >= MANIFEST_DEPTH_MAX)
            return over_budget(r, record_give_up(r, "directories lie more than %d deep: %.300s",
                                                 MANIFEST_DEPTH_MAX, r->path));
        _fd_ int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
        if (child == -ENOENT || child == -ELOOP || child == -ENOTDIR) {
            r->out->is_torn = true;
            return 0;
        }
        if (child == -EXDEV) /* nobody in a jail can mount, so it is the administrator's */
            return over_budget(
                r, record_give_up(r, "another file system is mounted on %.300s", r->path));
        if (child < 0)
            return record_give_up(r, "the directory %.300s cannot be read: %s", r->path,
                                  strerror(-child));
        return record_dir(r, child, depth + 1);
    }
    return S_ISLNK(st.st_mode) ? record_link(r, dir, name, &st) : record_other(r, &st);
}

static int record_names(struct workspace_record *r, int dir, const struct tree_names *names,
                        int depth)
{
    size_t parent_len = r->path_len;
    for (size_t i = 0; i < names->n; i++) {
        size_t len = strlen(names->names[i]);
        if (parent_len + len + 1 > MANIFEST_PATH_MAX)
            return over_budget(
                r, record_give_up(r, "a path has more than %d bytes", MANIFEST_PATH_MAX));
        if (parent_len > 0)
            r->path[r->path_len++] = '/';
        memcpy(r->path + r->path_len, names->names[i], len + 1);
        r->path_len += len;
        if (record_name(r, dir, names->names[i], depth) < 0)
            return -1;
        r->path_len = parent_len;
        r->path[parent_len] = '\0';
    }
    return 0;
}

static int record_dir(struct workspace_record *r, int dir, int depth)
{
    struct stat st, after;
    struct manifest_entry entry = {.type = MANIFEST_DIR};
    struct tree_names names = {0};
    if (fstat(dir, &st) < 0)
        return record_give_up(r, "the directory %.300s cannot be read: %s", r->path,
                              strerror(errno));
    if (append(r, &entry, &st, NULL) < 0)
        return -1;
    int e = tree_list(dir, r->budget->files, &names);
    if (e == -E2BIG)
        return over_budget(r, record_give_up(r, "there are more than %u files", r->budget->files));
    if (e < 0)
        return record_give_up(r, "the directory %.300s cannot be read: %s", r->path, strerror(-e));
    e = record_names(r, dir, &names, depth);
    tree_names_free(&names);
    if (e == 0 && (fstat(dir, &after) < 0 || tree_ns(&after.st_ctim) != tree_ns(&st.st_ctim)))
        r->out->is_torn = true;
    return e;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool sees_clean_pages(int workspace)
{
    struct statfs fs;
    if (fstatfs(workspace, &fs) < 0)
        return false;
    return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
           fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == F2FS_SUPER_MAGIC;
}

static int record_finish(struct workspace_record *r)
{
    struct blob_put put;
    struct manifest *m;
    struct err e;
    manifest_end(&r->manifest, r->n);
    int failed = blob_put_bytes(r->store, r->manifest.data, r->manifest.len, &put);
    if (failed < 0)
        return give_up_store(r, failed);
    if (manifest_parse(r->manifest.data, r->manifest.len, &m, &e) < 0)
        return record_give_up(r, "%s", e.message);
    archive_know(r->archive, m, &put.hash, take_ptr(r->seen), r->touched_ms);
    r->out->has_manifest = true;
    r->out->manifest = put.hash;
    r->out->files = r->n - 1;
    return 0;
}

void archive_record(struct archive *a, int workspace, int store, const struct blob_hash *base,
                    const struct archive_budget *budget, struct archive_recorded *ret)
{
    *ret = (struct archive_recorded){0};
    uint64_t now_ms = clock_mono_ms();
    bool has_base = base != NULL && a->manifest != NULL && blob_is_same(base, &a->hash) &&
                    a->touched_ms != 0 && now_ms - a->touched_ms < TRUSTED_MS;
    struct workspace_record r = {
        .archive = a,
        .store = store,
        .budget = budget,
        .out = ret,
        .has_base = has_base,
        .touched_ms = has_base ? a->touched_ms : now_ms,
        .sees_clean_pages = sees_clean_pages(workspace),
        .manifest = BUF_INIT(MANIFEST_BYTES_MAX),
    };
    manifest_begin(&r.manifest);
    if (record_dir(&r, workspace, 0) == 0)
        record_finish(&r);
    buf_free(&r.manifest);
    free(r.seen);
}
