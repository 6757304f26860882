/* One file of a workspace, put, read or deleted for somebody outside of the jail. The rules of
 * archive.h hold: a step at a time below what is held open, through no link, onto no other mount.
 * Whoever lives in the jail can change any of it at any moment, and hurts nobody else by it. */
#include "base/fd.h"
#include "jail/files/archive.h"
#include "jail/files/measure.h"
#include "jail/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

enum {
    ENTRY_COST_BYTES = 512, /* as the keeper counts */
    BLOCK_BYTES = 4096,
    SHOWN = 200, /* bytes of a path in a message */
};

struct job {
    int store;
    const struct warden_file_order *order;
    const char *name; /* the last part of the path */
    struct stat top;  /* the workspace, whose owner owns everything in it */
    struct archive_filed *out;
};

int archive_check_path(const char *path, struct err *e)
{
    const char *wrong = strlen(path) >= WARDEN_PATH_SIZE ? "it is too long" : NULL;
    size_t depth = 0;
    for (const char *at = path; at != NULL && wrong == NULL; depth++) {
        const char *slash = strchr(at, '/');
        size_t len = slash != NULL ? (size_t)(slash - at) : strlen(at);
        if (len == 0)
            wrong = "it begins or ends with a slash, or has two of them side by side";
        else if (at[0] == '.' && (len == 1 || (len == 2 && at[1] == '.')))
            wrong = "it has a '.' or '..' in it";
        else if (len > MANIFEST_NAME_MAX || depth == MANIFEST_DEPTH_MAX)
            wrong = "a name in it is too long, or it has too many";
        at = slash != NULL ? slash + 1 : NULL;
    }
    if (wrong == NULL)
        return 0;
    err_set(e, ERR_INVALID, "that is no path of a file: %s", wrong);
    return err_advise(e, "Name it below /workspace, for example data/points.csv.");
}

/* ---- what can be wrong ----------------------------------------------------------------------- */

static int refuse_missing(const struct job *j)
{
    struct err *e = &j->out->err;
    err_set(e, ERR_NOT_FOUND, "there is no file %.*s in the session's workspace", SHOWN,
            j->order->path);
    return err_advise(e, "Paths are relative to /workspace.");
}

static int refuse_kind(const struct job *j, const char *what, const char *advice)
{
    struct err *e = &j->out->err;
    err_set(e, ERR_CONFLICT, "%.*s %s", SHOWN, j->order->path, what);
    return err_advise(e, "%s", advice);
}

static int refuse_errno(const struct job *j, int errnum)
{
    struct err *e = &j->out->err;
    if (errnum == -ENOENT && j->order->action == WARDEN_FILE_PUT)
        return refuse_kind(j, "is in a directory that went away meanwhile", "Try again.");
    if (errnum == -ENOENT)
        return refuse_missing(j);
    if (errnum == -ENOTDIR || errnum == -ELOOP)
        return refuse_kind(j, "leads through something that is no directory, or is a link",
                           "Links are not followed: name the file by its own path.");
    if (errnum == -EISDIR)
        return refuse_kind(j, "is a directory", "Name a file in it.");
    if (errnum == -ENOSPC || errnum == -EDQUOT)
        err_set(e, ERR_UNAVAILABLE, "the disk is full");
    else
        err_errno(e, ERR_CONFLICT, errnum, "%.*s", SHOWN, j->order->path);
    return err_advise(e, "Try again; a cell that lists the directory may tell more.");
}

/* ---- the way there --------------------------------------------------------------------------- */

/* A directory that it made belongs to the jail's user. */
static int open_made(const struct job *j, int dir, const char *name)
{
    if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0 &&
        (fchown(fd, j->top.st_uid, j->top.st_gid) < 0 || fchmod(fd, MANIFEST_DIR_MODE) < 0)) {
        int e = -errno;
        close(fd);
        return e;
    }
    return fd;
}

/* The directory that the file is in, or -errno. */
static int open_parent(struct job *j, int workspace)
{
    char name[MANIFEST_NAME_MAX + 1];
    int dir = tree_open(workspace, ".", O_RDONLY | O_DIRECTORY, 0);
    bool makes = j->order->action == WARDEN_FILE_PUT;
    for (const char *slash; dir >= 0 && (slash = strchr(j->name, '/')) != NULL;
         j->name = slash + 1) {
        snprintf(name, sizeof(name), "%.*s", (int)(slash - j->name), j->name);
        int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
        if (child == -ENOENT && makes)
            child = open_made(j, dir, name);
        close(dir);
        dir = child;
    }
    return dir;
}

/* What has the name now: 1 a regular file, 0 nothing; else that was refused. */
static int look(const struct job *j, int dir, struct stat *st)
{
    if (fstatat(dir, j->name, st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : refuse_errno(j, -errno);
    if (S_ISREG(st->st_mode))
        return 1;
    if (S_ISDIR(st->st_mode))
        return refuse_errno(j, -EISDIR);
    if (j->order->action == WARDEN_FILE_DELETE)
        return 1;
    return refuse_kind(j, S_ISLNK(st->st_mode) ? "is a link" : "is no regular file",
                       "Links are not followed, pipes and devices not opened. Delete it first, or "
                       "name another file.");
}

/* ---- the manifest ---------------------------------------------------------------------------- */

/* The file is as it should be; the list of files to which the session would go back as well. */
static int amend(const struct job *j, const struct manifest_entry *file)
{
    _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
    struct blob_hash base;
    struct blob_put put;
    struct manifest *m = NULL;
    if (!j->order->amends)
        return 0;
    if (blob_parse_hex(j->order->base, &base) < 0)
        m = archive_no_files(&j->top, &base);
    else if (manifest_load(j->store, &base, &m, &j->out->err) < 0)
        return -1;
    manifest_amend(m, j->order->path, file, &out);
    manifest_free(m);
    int r = out.overflowed ? -EFBIG : blob_put_bytes(j->store, out.data, out.len, &put);
    if (r < 0)
        return err_errno(&j->out->err, ERR_UNAVAILABLE, r, "cannot keep the list of files");
    j->out->has_manifest = true;
    j->out->manifest = put.hash;
    return 0;
}

/* ---- putting --------------------------------------------------------------------------------- */

static uint64_t on_disk(uint64_t bytes)
{
    return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static int check_space(const struct job *j, int workspace, const struct stat *old, uint64_t bytes)
{
    struct measure m = measure_named(workspace, ENTRY_COST_BYTES);
    uint64_t freed = old != NULL && old->st_nlink == 1 ? (uint64_t)old->st_blocks * 512 : 0;
    uint64_t taken = m.bytes - MIN(freed, m.bytes), limit = j->order->max_bytes;
    if (!m.is_excessive && bytes <= limit && taken + on_disk(bytes) <= limit)
        return 0;
    struct err *e = &j->out->err;
    err_set(e, ERR_TOO_LARGE,
            "the file has %llu bytes, which the session's disk limit has no room for: %llu of %llu "
            "MiB are in use",
            (unsigned long long)bytes, (unsigned long long)(taken / MIB),
            (unsigned long long)(limit / MIB));
    return err_advise(e, "Delete files of the session, or create one with a larger "
                         "limits.disk_mb.");
}

static const char *temp_name(char out[48])
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(out, 48, ".cella-put-%llx", (unsigned long long)tree_ns(&now));
    return out;
}

/* Written beside, with its owner and mode, then renamed: nobody sees half of it. */
static int fill(const struct job *j, int dir, const char *temp, int blob, mode_t mode,
                struct stat *ret_st)
{
    _fd_ int fd = tree_open(dir, temp, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    int e = blob_copy_file(blob, fd);
    if (e == 0 && (fchown(fd, j->top.st_uid, j->top.st_gid) < 0 || fchmod(fd, mode) < 0 ||
                   fstat(fd, ret_st) < 0 || renameat(dir, temp, dir, j->name) < 0))
        e = -errno;
    if (e < 0)
        unlinkat(dir, temp, 0);
    return e;
}

static int put(struct job *j, int workspace, int dir)
{
    struct stat old, st;
    char temp[48];
    int found = look(j, dir, &old);
    if (found < 0)
        return -1;
    struct archive_filed *out = j->out;
    _fd_ int blob =
        blob_parse_hex(j->order->blob, &out->hash) < 0 ? -EINVAL : blob_open(j->store, &out->hash);
    if (blob < 0 || fstat(blob, &st) < 0)
        return err_set(&out->err, ERR_INTERNAL, "the bytes of the file are not in the store");
    out->bytes = (uint64_t)st.st_size;
    if (check_space(j, workspace, found ? &old : NULL, out->bytes) < 0)
        return -1;
    mode_t mode = found ? old.st_mode & 0777 : ARCHIVE_FILE_MODE;
    int e = fill(j, dir, temp_name(temp), blob, mode, &st);
    if (e < 0)
        return refuse_errno(j, e);
    out->is_new = !found;
    struct manifest_entry entry = {.type = MANIFEST_FILE,
                                   .mode = mode,
                                   .size = out->bytes,
                                   .mtime_ns = tree_ns(&st.st_mtim),
                                   .hash = out->hash,
                                   .path = j->order->path,
                                   .path_len = strlen(j->order->path),
                                   .target = ""};
    return amend(j, &entry);
}

/* ---- the others ------------------------------------------------------------------------------ */

static int get(struct job *j, int dir)
{
    struct stat st;
    struct blob_put put;
    int found = look(j, dir, &st);
    if (found <= 0)
        return found < 0 ? -1 : refuse_missing(j);
    _fd_ int fd = tree_open(dir, j->name, O_RDONLY, 0);
    if (fd < 0)
        return refuse_errno(j, fd);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return refuse_errno(j, -EBUSY);
    int e = blob_put_file(j->store, fd, j->order->max_bytes, &put);
    if (e == -EFBIG) {
        err_set(&j->out->err, ERR_TOO_LARGE, "%.*s has %lld bytes; at most %llu can be read", SHOWN,
                j->order->path, (long long)st.st_size, (unsigned long long)j->order->max_bytes);
        return err_advise(&j->out->err, "Let a cell split or compress it.");
    }
    if (e < 0)
        return refuse_errno(j, e);
    j->out->hash = put.hash;
    j->out->bytes = put.bytes;
    return 0;
}

static int delete (struct job *j, int dir)
{
    struct stat st;
    int found = look(j, dir, &st);
    if (found <= 0)
        return found < 0 ? -1 : refuse_missing(j);
    if (unlinkat(dir, j->name, 0) < 0)
        return refuse_errno(j, -errno);
    j->out->bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    return amend(j, NULL);
}

void archive_file(int workspace, int store, const struct warden_file_order *order,
                  struct archive_filed *ret)
{
    *ret = (struct archive_filed){0};
    struct job j = {.store = store, .order = order, .name = order->path, .out = ret};
    if (archive_check_path(order->path, &ret->err) < 0)
        return;
    if (fstat(workspace, &j.top) < 0) {
        err_errno(&ret->err, ERR_UNAVAILABLE, errno, "the workspace cannot be looked at");
        return;
    }
    _fd_ int dir = open_parent(&j, workspace);
    if (dir < 0)
        refuse_errno(&j, dir);
    else if (order->action == WARDEN_FILE_PUT)
        put(&j, workspace, dir);
    else if (order->action == WARDEN_FILE_GET)
        get(&j, dir);
    else
        delete (&j, dir);
}
