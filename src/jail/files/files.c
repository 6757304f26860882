/* One file of a workspace, put, read, moved or deleted for somebody outside of the jail. Archivist.
 * The rules of archive.h hold: a step at a time below what is held open, through no link, onto no
 * other mount. Whoever lives in the jail can change any of it at any moment, and hurts nobody else
 * by it. */
#include "base/clock.h"
#include "base/fd.h"
#include "jail/files/files_parts.h"
#include "jail/files/measure.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

enum {
    FILES_ENTRY_COST_BYTES = 512, /* as the keeper counts */
    BLOCK_BYTES = 4096,
    SHOWN = 200, /* bytes of a path in a message */
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

static int file_refuse_missing(const struct file_job *j, const char *path)
{
    struct err *e = &j->out->err;
    err_set(e, ERR_NOT_FOUND, "there is no file %.*s in the session's workspace", SHOWN, path);
    return err_advise(e, "Paths are relative to /workspace.");
}

int file_refuse(const struct file_job *j, const char *path, const char *what, const char *advice)
{
    struct err *e = &j->out->err;
    err_set(e, ERR_CONFLICT, "%.*s %s", SHOWN, path[0] != '\0' ? path : "the workspace", what);
    return err_advise(e, "%s", advice);
}

static bool file_makes(const struct file_job *j)
{
    static const bool makes[] = {[WARDEN_FILE_PUT] = true,
                                 [WARDEN_FILE_MKDIR] = true,
                                 [WARDEN_FILE_UNPACK] = true,
                                 [WARDEN_FILE_SPACE] = false};
    return makes[j->order->action];
}

int file_refuse_errno(const struct file_job *j, const char *path, int errnum)
{
    struct err *e = &j->out->err;
    if (errnum == -ENOENT && file_makes(j))
        return file_refuse(j, path, "is in a directory that went away meanwhile", "Try again.");
    if (errnum == -ENOENT)
        return file_refuse_missing(j, path);
    if (errnum == -ENOTDIR || errnum == -ELOOP)
        return file_refuse(j, path, "leads through something that is no directory, or is a link",
                           "Links are not followed: name the file by its own path.");
    if (errnum == -EISDIR)
        return file_refuse(j, path, "is a directory",
                           "Name a file in it; as an archive: GET …/archive?path=…");
    if (errnum == -EEXIST || errnum == -ENOTEMPTY)
        return file_refuse(j, path, "exists already", "Delete it first, or say \"replace\".");
    if (errnum == -EINVAL)
        return file_refuse(j, path, "cannot become a part of itself", "Name another place.");
    if (errnum == -ENOSPC || errnum == -EDQUOT)
        err_set(e, ERR_UNAVAILABLE, "the disk is full");
    else
        err_errno(e, ERR_CONFLICT, errnum, "%.*s", SHOWN, path);
    return err_advise(e, "Try again; a cell that lists the directory may tell more.");
}

/* ---- the way there --------------------------------------------------------------------------- */

/* A directory that it made belongs to the jail's user. */
static int file_open_made(const struct file_job *j, int dir, const char *name)
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

static int file_open_child(const struct file_job *j, int dir, const char *name, bool makes)
{
    int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
    return child == -ENOENT && makes ? file_open_made(j, dir, name) : child;
}

int file_open_parent(const struct file_job *j, const char *path, bool makes, const char **ret_name)
{
    char name[MANIFEST_NAME_MAX + 1];
    int dir = tree_open(j->workspace, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash; dir >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
        int child = file_open_child(j, dir, name, makes);
        close(dir);
        dir = child;
    }
    *ret_name = path;
    return dir;
}

int file_open_dir(const struct file_job *j, const char *path, bool makes)
{
    const char *name;
    if (path[0] == '\0')
        return tree_open(j->workspace, ".", O_RDONLY | O_DIRECTORY, 0);
    _fd_ int dir = file_open_parent(j, path, makes, &name);
    return dir < 0 ? dir : file_open_child(j, dir, name, makes);
}

/* What has the name: 1 a regular file, 0 nothing; else the job was refused. */
static int file_look(const struct file_job *j, const char *path, int dir, const char *name,
                     struct stat *ret_st)
{
    if (fstatat(dir, name, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : file_refuse_errno(j, path, -errno);
    if (S_ISREG(ret_st->st_mode))
        return 1;
    if (S_ISDIR(ret_st->st_mode))
        return file_refuse_errno(j, path, -EISDIR);
    return file_refuse(j, path, S_ISLNK(ret_st->st_mode) ? "is a link" : "is no regular file",
                       "Links are not followed, pipes and devices not opened. Delete it first, or "
                       "name another file.");
}

/* ---- the manifest ---------------------------------------------------------------------------- */

int file_load_base(const struct file_job *j, struct manifest **ret)
{
    struct blob_hash base;
    *ret = NULL;
    if (!j->order->amends)
        return 0;
    if (blob_parse_hex(j->order->base, &base) < 0) {
        *ret = archive_no_files(&j->top, &base);
        return 0;
    }
    return manifest_load(j->store, &base, ret, &j->out->err);
}

int file_keep_manifest(const struct file_job *j, const struct buf *manifest)
{
    struct blob_put put;
    int r = manifest->overflowed ? -EFBIG
                                 : blob_put_bytes(j->store, manifest->data, manifest->len, &put);
    if (r < 0)
        return err_errno(&j->out->err, ERR_UNAVAILABLE, r, "cannot keep the list of files");
    j->out->has_manifest = true;
    j->out->manifest = put.hash;
    return 0;
}

/* The files are as they should be; the list of files to which the session would go back as well. */
int file_amend(const struct file_job *j, const struct manifest_changes *changes)
{
    _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
    struct manifest *m;
    if (file_load_base(j, &m) < 0)
        return -1;
    if (m == NULL)
        return 0;
    manifest_amend(m, changes, &out);
    manifest_free(m);
    return file_keep_manifest(j, &out);
}

/* ---- what there is --------------------------------------------------------------------------- */

void file_put_entry(struct json_out *o, const char *path, int dir, const char *name,
                    const struct stat *st)
{
    char mode[8], at[CLOCK_RFC3339_SIZE], target[WARDEN_PATH_SIZE];
    const char *type = S_ISREG(st->st_mode)   ? "file"
                       : S_ISDIR(st->st_mode) ? "folder"
                       : S_ISLNK(st->st_mode) ? "link"
                                              : "other";
    int64_t ms = tree_ns(&st->st_mtim) / 1000000;
    snprintf(mode, sizeof(mode), "%04o", st->st_mode & 07777);
    json_put_object(o);
    json_put_member_str(o, "path", path);
    json_put_member_str(o, "type", type);
    json_put_member_int(o, "bytes", S_ISREG(st->st_mode) ? (int64_t)st->st_size : 0);
    json_put_member_str(o, "mode", mode);
    json_put_member_str(o, "modified_at", clock_rfc3339((uint64_t)MAX(ms, 0), at));
    ssize_t n = S_ISLNK(st->st_mode) ? readlinkat(dir, name, target, sizeof(target)) : -1;
    if (n > 0)
        json_put_member_text(o, "target", target, (size_t)n);
    json_put_object_end(o);
}

static int file_stat(const struct file_job *j)
{
    const char *path = j->order->path, *name = ".";
    struct stat st = j->top;
    struct json_out o = JSON_OUT(&j->out->details);
    _fd_ int dir =
        path[0] != '\0' ? file_open_parent(j, path, false, &name) : file_open_dir(j, path, false);
    if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return file_refuse_errno(j, path, dir < 0 ? dir : -errno);
    json_put_object(&o);
    json_put_key(&o, "entry");
    file_put_entry(&o, path, dir, name, &st);
    json_put_object_end(&o);
    return 0;
}

/* ---- putting --------------------------------------------------------------------------------- */

uint64_t file_on_disk(uint64_t bytes)
{
    return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

uint64_t file_space_left(const struct file_job *j)
{
    struct measure m = measure_named(j->workspace, FILES_ENTRY_COST_BYTES);
    return m.is_excessive ? 0 : j->order->max_bytes - MIN(m.bytes, j->order->max_bytes);
}

int file_refuse_space(const struct file_job *j, uint64_t bytes, uint64_t left)
{
    struct err *e = &j->out->err;
    err_set(e, ERR_TOO_LARGE,
            "it takes %llu bytes, which the session's disk limit has no room for: %llu of %llu MiB "
            "are free",
            (unsigned long long)bytes, (unsigned long long)(left / MIB),
            (unsigned long long)(j->order->max_bytes / MIB));
    return err_advise(e, "Delete files of the session, or create one with a larger "
                         "limits.disk_mb.");
}

const char *file_temp_name(char out[FILE_TEMP_SIZE])
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(out, FILE_TEMP_SIZE, ".cella-put-%llx", (unsigned long long)tree_ns(&now));
    return out;
}

int file_make(const struct file_job *j, int dir, const char *name, int from, mode_t mode,
              struct stat *ret_st)
{
    _fd_ int fd = tree_open(dir, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    int e = blob_copy_file(from, fd);
    if (e == 0 && (fchown(fd, j->top.st_uid, j->top.st_gid) < 0 || fchmod(fd, mode) < 0 ||
                   fstat(fd, ret_st) < 0))
        e = -errno;
    if (e < 0)
        unlinkat(dir, name, 0);
    return e;
}

int file_put_blob(const struct file_job *j, const char *path, const struct blob_hash *hash,
                  mode_t mode, struct manifest_entry *ret)
{
    struct stat old, st;
    const char *name;
    _fd_ int dir = file_open_parent(j, path, true, &name);
    if (dir < 0)
        return file_refuse_errno(j, path, dir);
    int found = file_look(j, path, dir, name, &old);
    if (found < 0)
        return -1;
    _fd_ int blob = blob_open(j->store, hash);
    if (blob < 0 || fstat(blob, &st) < 0)
        return err_set(&j->out->err, ERR_INTERNAL, "the bytes of the file are not in the store");
    uint64_t bytes = (uint64_t)st.st_size;
    mode = found ? old.st_mode & 0777 : mode;
    /* Written beside, with its owner and mode, then renamed: nobody sees half of it. */
    char temp[FILE_TEMP_SIZE];
    int e = file_make(j, dir, file_temp_name(temp), blob, mode, &st);
    if (e == 0 && renameat(dir, temp, dir, name) < 0) {
        e = -errno;
        unlinkat(dir, temp, 0);
    }
    if (e < 0)
        return file_refuse_errno(j, path, e);
    j->out->is_new = !found;
    *ret = (struct manifest_entry){.type = MANIFEST_FILE,
                                   .mode = mode,
                                   .size = bytes,
                                   .mtime_ns = tree_ns(&st.st_mtim),
                                   .hash = *hash,
                                   .path = path,
                                   .path_len = strlen(path),
                                   .target = ""};
    return 0;
}

/* Space that a file which is replaced gives back. */
static uint64_t file_freed(const struct file_job *j, const char *path)
{
    const char *name;
    struct stat st;
    _fd_ int dir = file_open_parent(j, path, false, &name);
    bool is_one = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISREG(st.st_mode) && st.st_nlink == 1;
    return is_one ? (uint64_t)st.st_blocks * 512 : 0;
}

static int file_put(const struct file_job *j)
{
    struct manifest_entry entry;
    struct stat st;
    struct archive_filed *out = j->out;
    const char *path = j->order->path;
    _fd_ int blob =
        blob_parse_hex(j->order->blob, &out->hash) < 0 ? -EINVAL : blob_open(j->store, &out->hash);
    if (blob < 0 || fstat(blob, &st) < 0)
        return err_set(&out->err, ERR_INTERNAL, "the bytes of the file are not in the store");
    out->bytes = (uint64_t)st.st_size;
    uint64_t left = file_space_left(j) + file_freed(j, path);
    if (file_on_disk(out->bytes) > left)
        return file_refuse_space(j, out->bytes, left);
    if (file_put_blob(j, path, &out->hash, ARCHIVE_FILE_MODE, &entry) < 0)
        return -1;
    return file_amend(j, &(struct manifest_changes){.added = &entry, .n_added = 1});
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Which bytes are meant; a length of -1: there are none such. */
static void file_resolve(const struct warden_range *range, uint64_t size, const char *tag,
                         int64_t *ret_first, int64_t *ret_length)
{
    int64_t end = (int64_t)size;
    *ret_first = 0;
    *ret_length = end;
    if (!range->is_given || (range->tag[0] != '\0' && strcmp(range->tag, tag) != 0))
        return;
    int64_t first = range->first >= 0 ? range->first : MAX(end - range->last, 0);
    int64_t last = range->first >= 0 && range->last >= 0 ? MIN(range->last, end - 1) : end - 1;
    *ret_first = first;
    *ret_length = first < end && first <= last ? last - first + 1 : -1;
}

static int file_get(const struct file_job *j)
{
    struct stat st;
    const char *name, *path = j->order->path;
    _fd_ int dir = file_open_parent(j, path, false, &name);
    if (dir < 0)
        return file_refuse_errno(j, path, dir);
    int found = file_look(j, path, dir, name, &st);
    if (found <= 0)
        return found < 0 ? -1 : file_refuse_missing(j, path);
    int fd = tree_open(dir, name, O_RDONLY, 0);
    if (fd < 0)
        return file_refuse_errno(j, path, fd);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return file_refuse_errno(j, path, -EBUSY);
    }
    char tag[WARDEN_TAG_SIZE];
    int64_t first, length;
    snprintf(tag, sizeof(tag), "%llx-%llx-%llx", (unsigned long long)st.st_ino,
             (unsigned long long)st.st_size, (unsigned long long)tree_ns(&st.st_ctim));
    j->out->bytes = (uint64_t)st.st_size;
    file_resolve(&j->order->range, j->out->bytes, tag, &first, &length);
    struct json_out o = JSON_OUT(&j->out->details);
    json_put_object(&o);
    json_put_key(&o, "entry");
    file_put_entry(&o, path, dir, name, &st);
    json_put_member_str(&o, "tag", tag);
    json_put_member_int(&o, "first", first);
    json_put_member_int(&o, "length", length);
    json_put_member_bool(&o, "is_partial",
                         j->order->range.is_given && (length < 0 || length != (int64_t)st.st_size));
    json_put_object_end(&o);
    return file_stream(j, FILE_STREAM_BYTES, fd, (uint64_t)first, (uint64_t)MAX(length, 0));
}

/* ---- the others ------------------------------------------------------------------------------ */

static int file_delete(const struct file_job *j)
{
    struct stat st;
    const char *name, *path = j->order->path;
    _fd_ int dir = file_open_parent(j, path, false, &name);
    if (dir < 0)
        return file_refuse_errno(j, path, dir);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return file_refuse_errno(j, path, -errno);
    if (S_ISDIR(st.st_mode) && !j->order->is_recursive)
        return file_refuse(j, path, "is a directory",
                           "With recursive=true it is deleted with all that is in it.");
    int64_t removed = S_ISDIR(st.st_mode) ? tree_remove(dir, name) : 0;
    if (removed < 0)
        return file_refuse_errno(j, path, (int)removed);
    if (!S_ISDIR(st.st_mode) && unlinkat(dir, name, 0) < 0)
        return file_refuse_errno(j, path, -errno);
    j->out->bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    return file_amend(j, &(struct manifest_changes){.removed = {path}});
}

static int file_mkdir(const struct file_job *j)
{
    struct stat st;
    const char *name, *path = j->order->path;
    _fd_ int dir = file_open_parent(j, path, true, &name);
    if (dir < 0)
        return file_refuse_errno(j, path, dir);
    j->out->is_new = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
    if (!j->out->is_new && !S_ISDIR(st.st_mode))
        return file_refuse_errno(j, path, -EEXIST);
    _fd_ int made = file_open_child(j, dir, name, true);
    if (made < 0 || fstat(made, &st) < 0)
        return file_refuse_errno(j, path, made < 0 ? made : -errno);
    struct manifest_entry entry = {.type = MANIFEST_DIR,
                                   .mode = st.st_mode & 07777,
                                   .mtime_ns = tree_ns(&st.st_mtim),
                                   .path = path,
                                   .path_len = strlen(path),
                                   .target = ""};
    return file_amend(j, &(struct manifest_changes){.added = &entry, .n_added = 1});
}

static int file_move(const struct file_job *j)
{
    struct stat st;
    const char *from = j->order->path, *to = j->order->other, *from_name, *to_name;
    _fd_ int from_dir = file_open_parent(j, from, false, &from_name);
    if (from_dir < 0 || fstatat(from_dir, from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return file_refuse_errno(j, from, from_dir < 0 ? from_dir : -errno);
    _fd_ int to_dir = file_open_parent(j, to, true, &to_name);
    if (to_dir < 0)
        return file_refuse_errno(j, to, to_dir);
    unsigned flags = j->order->replaces && S_ISREG(st.st_mode) ? 0 : RENAME_NOREPLACE;
    if (renameat2(from_dir, from_name, to_dir, to_name, flags) < 0)
        return file_refuse_errno(j, to, -errno);
    struct json_out o = JSON_OUT(&j->out->details);
    json_put_object(&o);
    json_put_key(&o, "entry");
    file_put_entry(&o, to, to_dir, to_name, &st);
    json_put_object_end(&o);
    _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
    struct manifest *m;
    if (file_load_base(j, &m) < 0 || m == NULL)
        return j->out->err.code == ERR_NONE ? 0 : -1;
    manifest_graft(m, from, to, true, &out);
    manifest_free(m);
    return file_keep_manifest(j, &out);
}

static int file_space(const struct file_job *j)
{
    struct json_out o = JSON_OUT(&j->out->details);
    json_put_object(&o);
    uint64_t freed = j->order->path[0] != '\0' ? file_freed(j, j->order->path) : 0;
    json_put_member_int(&o, "free", (int64_t)(file_space_left(j) + freed));
    json_put_object_end(&o);
    return 0;
}

/* Of a directory, which is sent from now on. */
static int file_send_dir(const struct file_job *j, enum file_stream_kind kind)
{
    int dir = file_open_dir(j, j->order->path, false);
    if (dir == -ENOTDIR)
        return file_refuse(j, j->order->path, "is no directory, or a link", "Name a directory.");
    if (dir < 0)
        return file_refuse_errno(j, j->order->path, dir);
    return file_stream(j, kind, dir, 0, 0);
}

static int file_pack(const struct file_job *j)
{
    return file_send_dir(j, FILE_STREAM_PACK);
}

static int file_watch(const struct file_job *j)
{
    return file_send_dir(j, FILE_STREAM_WATCH);
}

static const struct {
    int (*run)(const struct file_job *j);
    bool takes_top; /* the path may be "", the workspace */
    bool has_other; /* a second path */
} file_actions[] = {
    [WARDEN_FILE_PUT] = {file_put, false, false},
    [WARDEN_FILE_GET] = {file_get, false, false},
    [WARDEN_FILE_DELETE] = {file_delete, false, false},
    [WARDEN_FILE_STAT] = {file_stat, true, false},
    [WARDEN_FILE_LIST] = {file_list, true, false},
    [WARDEN_FILE_MKDIR] = {file_mkdir, false, false},
    [WARDEN_FILE_MOVE] = {file_move, false, true},
    [WARDEN_FILE_COPY] = {file_copy, false, true},
    [WARDEN_FILE_PACK] = {file_pack, true, false},
    [WARDEN_FILE_UNPACK] = {file_unpack, true, false},
    [WARDEN_FILE_WATCH] = {file_watch, true, false},
    [WARDEN_FILE_SPACE] = {file_space, true, false},
};

int archive_check_order(const struct warden_file_order *order, struct err *e)
{
    if (order->action >= ARRAY_LEN(file_actions))
        return err_set(e, ERR_INTERNAL, "there is no such order about files");
    bool is_top = order->path[0] == '\0' && file_actions[order->action].takes_top;
    if (!is_top && archive_check_path(order->path, e) < 0)
        return -1;
    return file_actions[order->action].has_other ? archive_check_path(order->other, e) : 0;
}

void archive_file(int workspace, const char *place, int store,
                  const struct warden_file_order *order, int bytes_out, struct archive_filed *ret)
{
    *ret = (struct archive_filed){.details = BUF_INIT(ARCHIVE_DETAILS_MAX)};
    struct file_job j = {.workspace = workspace,
                         .place = place,
                         .store = store,
                         .bytes_out = bytes_out,
                         .order = order,
                         .out = ret};
    if (archive_check_order(order, &ret->err) < 0)
        return;
    if (fstat(workspace, &j.top) < 0)
        err_errno(&ret->err, ERR_UNAVAILABLE, errno, "the workspace cannot be looked at");
    else
        file_actions[order->action].run(&j);
}
