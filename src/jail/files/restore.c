/* Restoring: one walk over the manifest and the workspace side by side. Archivist. */
#include "jail/files/archive.h"
#include "jail/files/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <time.h>

/* Names that we hold in memory of one directory. No workspace within its quota has as many. */
enum { NAMES_MAX = 1 << 20 };

struct workspace_restore {
    const struct archive *archive; /* what was known before */
    const struct manifest *manifest;
    struct archive_seen *seen; /* as its entries: what is known afterwards */
    int store;
    uid_t uid; /* who owns everything */
    gid_t gid;
    struct archive_restored *out;
    unsigned n_temps;
};

/* ---- helpers --------------------------------------------------------------------------------- */

static void complain(struct workspace_restore *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void complain(struct workspace_restore *r, const char *fmt, ...)
{
    if (r->out->n_errors == ARCHIVE_ERRORS_MAX) {
        r->out->n_errors_dropped++;
        return;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->out->errors[r->out->n_errors++], ARCHIVE_ERROR_SIZE, fmt, args);
    va_end(args);
}

static void complain_entry(struct workspace_restore *r, const struct manifest_entry *entry,
                           int errnum)
{
    const char *why = errnum == -ENOENT    ? "its content is missing in the store"
                      : errnum == -EBADMSG ? "its content is damaged in the store"
                      : errnum == -ENOSPC || errnum == -EDQUOT || errnum == -EFBIG
                          ? "the disk is full"
                          : strerror(-errnum);
    complain(r, "%.300s: %s", entry->path, why);
}

static const char *name_of(const struct manifest_entry *entry)
{
    const char *slash = strrchr(entry->path, '/');
    return slash == NULL ? entry->path : slash + 1;
}

static struct timespec time_of(int64_t ns)
{
    int64_t rest = ns % 1000000000;
    if (rest < 0)
        rest += 1000000000;
    return (struct timespec){.tv_sec = (ns - rest) / 1000000000, .tv_nsec = rest};
}

static const char *temp_name(struct workspace_restore *r, char out[48])
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(out, 48, ".cella-new-%llx-%u", (unsigned long long)tree_ns(&now), r->n_temps++);
    return out;
}

/* It was there, and is not any more, or not with these bytes. */
static void note_lost(struct workspace_restore *r, const char *parent, const char *name)
{
    if (r->out->n_lost < ARCHIVE_LOST_MAX)
        snprintf(r->out->lost[r->out->n_lost++], ARCHIVE_LOST_SIZE, "%s%s%s", parent,
                 parent[0] != '\0' ? "/" : "", name);
}

/* False: it is still there, and that was said. */
static bool remove_name(struct workspace_restore *r, int dir, const char *name, const char *path)
{
    int64_t n = tree_remove(dir, name);
    if (n < 0)
        complain(r, "%.200s%s%.100s: cannot be removed: %s", path, path[0] ? "/" : "", name,
                 strerror((int)-n));
    else
        r->out->removed += (uint64_t)n;
    return n >= 0;
}

/* Nothing is renamed onto a directory. */
static bool make_way(struct workspace_restore *r, int dir, const struct manifest_entry *entry,
                     const struct stat **st)
{
    if (*st == NULL || !S_ISDIR((*st)->st_mode))
        return true;
    *st = NULL;
    return remove_name(r, dir, name_of(entry), "");
}

/* Owner, permissions and time of what is open; in this order, for each changes the next. Returns
 * whether anything of them that a manifest tells was different, or -errno. */
static int set_attributes(const struct workspace_restore *r, int fd,
                          const struct manifest_entry *entry)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    bool is_mode_changed = (st.st_mode & 07777) != entry->mode;
    bool is_changed = is_mode_changed || tree_ns(&st.st_mtim) != entry->mtime_ns;
    if (st.st_uid != r->uid || st.st_gid != r->gid) {
        if (fchown(fd, r->uid, r->gid) < 0)
            return -errno;
        is_mode_changed = true; /* giving a file away takes some bits from it */
    }
    if (is_mode_changed && fchmod(fd, entry->mode) < 0)
        return -errno;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(entry->mtime_ns)};
    if (tree_ns(&st.st_mtim) != entry->mtime_ns && futimens(fd, times) < 0)
        return -errno;
    return is_changed;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Remembers a file that is now as it should be. It was changed just now or may be, so it counts as
 * settled only if its ctime is old. */
static void remember(struct workspace_restore *r, const struct manifest_entry *entry,
                     const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    r->seen[entry - r->manifest->entries] = archive_see(st, tree_ns(&now));
}

static int fill_beside(struct workspace_restore *r, int dir, const char *temp,
                       const struct manifest_entry *entry, int blob)
{
    struct stat st;
    _fd_ int fd = tree_open(dir, temp, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    int e = blob_copy_file(blob, fd);
    if (e == 0)
        e = set_attributes(r, fd, entry);
    if (e >= 0)
        e = renameat(dir, temp, dir, name_of(entry)) < 0 ? -errno : 0;
    if (e < 0)
        unlinkat(dir, temp, 0);
    else if (fstat(fd, &st) == 0)
        remember(r, entry, &st);
    return e;
}

/* A new inode, which takes the place of what has the name now, unless that is a directory. */
static int make_file(struct workspace_restore *r, int dir, const struct manifest_entry *entry)
{
    char temp[48];
    _fd_ int blob = blob_open_checked(r->store, &entry->hash);
    return blob < 0 ? blob : fill_beside(r, dir, temp_name(r, temp), entry, blob);
}

static int replace_file(struct workspace_restore *r, int dir, const struct manifest_entry *entry)
{
    int e = make_file(r, dir, entry);
    return e < 0 ? e : 1;
}

/* Does the file have these bytes? What is known saves reading them. */
static bool has_content(const struct workspace_restore *r, const struct stat *st, int fd,
                        const struct manifest_entry *entry)
{
    if ((uint64_t)st->st_size != entry->size)
        return false;
    const struct manifest *m = r->archive->manifest;
    const struct manifest_entry *old =
        m == NULL ? NULL : manifest_find(m, entry->path, entry->path_len);
    if (old != NULL && old->type == MANIFEST_FILE &&
        archive_is_unchanged(&r->archive->seen[old - m->entries], st))
        return blob_is_same(&old->hash, &entry->hash);
    struct blob_hash hash;
    return blob_hash_file(fd, entry->size, &hash) == 0 && blob_is_same(&hash, &entry->hash);
}

static bool has_attributes(const struct workspace_restore *r, const struct stat *st,
                           const struct manifest_entry *entry)
{
    return (st->st_mode & 07777) == entry->mode && tree_ns(&st->st_mtim) == entry->mtime_ns &&
           st->st_uid == r->uid && st->st_gid == r->gid;
}

static int put_right(struct workspace_restore *r, int dir, int fd,
                     const struct manifest_entry *entry, bool has_its_content)
{
    struct stat st;
    if (!has_its_content) {
        _fd_ int blob = blob_open_checked(r->store, &entry->hash);
        int e = blob < 0 ? blob : blob_overwrite_file(blob, fd);
        if (e == -EOPNOTSUPP) /* a whole file is worth more than the same inode */
            return replace_file(r, dir, entry);
        if (e < 0)
            return e;
    }
    int changed = set_attributes(r, fd, entry);
    if (changed < 0)
        return changed;
    if (fstat(fd, &st) == 0)
        remember(r, entry, &st);
    return changed || !has_its_content;
}

/* A regular file that exists: 1 if it had to be changed, 0 if not, or -errno. */
static int mend_file(struct workspace_restore *r, int dir, const struct manifest_entry *entry)
{
    struct stat st;
    _fd_ int fd = tree_open(dir, name_of(entry), O_RDWR, 0);
    if (fd == -ETXTBSY ||
        fd == -EAGAIN) { /* it runs, or is leased: its inode has to stay as it is */
        return replace_file(r, dir, entry);
    }
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -EBUSY;
    bool has_its_content = has_content(r, &st, fd, entry);
    if (has_its_content && has_attributes(r, &st, entry)) {
        remember(r, entry, &st);
        return 0;
    }
    /* Another name of the same inode may have had other bytes, which must not become these. */
    if (st.st_nlink > 1) {
        return replace_file(r, dir, entry);
    }
    return put_right(r, dir, fd, entry, has_its_content);
}

/* Nothing is opened that is known to be right. */
static bool is_right(struct workspace_restore *r, const struct stat *st,
                     const struct manifest_entry *entry)
{
    const struct manifest *m = r->archive->manifest;
    const struct manifest_entry *old =
        m == NULL ? NULL : manifest_find(m, entry->path, entry->path_len);
    if (old == NULL || old->type != MANIFEST_FILE || !blob_is_same(&old->hash, &entry->hash) ||
        !has_attributes(r, st, entry))
        return false;
    const struct archive_seen *seen = &r->archive->seen[old - m->entries];
    if (!archive_is_unchanged(seen, st))
        return false;
    r->seen[entry - r->manifest->entries] = *seen;
    return true;
}

static void restore_file(struct workspace_restore *r, int dir, const struct manifest_entry *entry,
                         const struct stat *st)
{
    if (st != NULL && S_ISREG(st->st_mode)) {
        int e = is_right(r, st, entry) ? 0 : mend_file(r, dir, entry);
        if (e < 0)
            complain_entry(r, entry, e);
        else
            r->out->changed += (uint64_t)e;
        if (e > 0)
            note_lost(r, "", entry->path);
        return;
    }
    if (!make_way(r, dir, entry, &st))
        return;
    int e = make_file(r, dir, entry);
    if (e < 0)
        complain_entry(r, entry, e);
    else if (st == NULL)
        r->out->created++;
    else
        r->out->changed++;
}

/* ---- links and the rest ---------------------------------------------------------------------- */

static bool is_same_link(int dir, const struct manifest_entry *entry)
{
    char target[MANIFEST_PATH_MAX + 1];
    ssize_t n = readlinkat(dir, name_of(entry), target, sizeof(target));
    return n == (ssize_t)entry->target_len && memcmp(target, entry->target, entry->target_len) == 0;
}

static int make_link(struct workspace_restore *r, int dir, const struct manifest_entry *entry)
{
    char temp[48];
    temp_name(r, temp);
    if (symlinkat(entry->target, dir, temp) < 0)
        return -errno;
    if (renameat(dir, temp, dir, name_of(entry)) == 0)
        return 0;
    int e = -errno;
    unlinkat(dir, temp, 0);
    return e;
}

static void restore_link(struct workspace_restore *r, int dir, const struct manifest_entry *entry,
                         const struct stat *st)
{
    const char *name = name_of(entry);
    if (st == NULL || !S_ISLNK(st->st_mode) || !is_same_link(dir, entry)) {
        if (!make_way(r, dir, entry, &st))
            return;
        int e = make_link(r, dir, entry);
        if (e < 0) {
            complain_entry(r, entry, e);
            return;
        }
        if (st == NULL)
            r->out->created++;
        else
            r->out->changed++;
    }
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(entry->mtime_ns)};
    if (fchownat(dir, name, r->uid, r->gid, AT_SYMLINK_NOFOLLOW) < 0 ||
        utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        complain_entry(r, entry, -errno);
}

/* ---- directories ----------------------------------------------------------------------------- */

static void restore_dir(struct workspace_restore *r, int dir, const struct manifest_entry *entry);

static void restore_subdir(struct workspace_restore *r, int dir, const struct manifest_entry *entry,
                           const struct stat *st)
{
    const char *name = name_of(entry);
    bool exists = st != NULL && S_ISDIR(st->st_mode);
    if (st != NULL && !exists && !remove_name(r, dir, name, ""))
        return;
    if (!exists && mkdirat(dir, name, 0700) < 0) {
        complain_entry(r, entry, -errno);
        return;
    }
    r->out->created += !exists;
    _fd_ int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
    if (child < 0)
        complain_entry(r, entry, child == -ENOENT ? -EBUSY : child);
    else
        restore_dir(r, child, entry);
}

static void restore_entry(struct workspace_restore *r, int dir, const struct manifest_entry *entry)
{
    struct stat found;
    const struct stat *st = &found;
    if (fstatat(dir, name_of(entry), &found, AT_SYMLINK_NOFOLLOW) < 0)
        st = NULL;
    switch (entry->type) {
    case MANIFEST_FILE:
        restore_file(r, dir, entry, st);
        break;
    case MANIFEST_DIR:
        restore_subdir(r, dir, entry, st);
        break;
    case MANIFEST_LINK:
        restore_link(r, dir, entry, st);
        break;
    case MANIFEST_OTHER:
        /* What has no content is left if it is there, and not made again: nobody would be at its
         * other end. */
        if (st != NULL && (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode)))
            remove_name(r, dir, name_of(entry), "");
        break;
    }
}

/* First, so that its space is free for what follows. Both lists are in the order of names. */
static void remove_surplus(struct workspace_restore *r, int dir,
                           const struct manifest_entry *parent)
{
    const struct manifest *m = r->manifest;
    size_t top = (size_t)(parent - m->entries), end = manifest_after(m, top), at = top + 1;
    struct tree_names names = {0};
    int e = tree_list(dir, NAMES_MAX, &names);
    if (e < 0)
        complain_entry(r, parent, e);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.names[i];
        while (at < end && strcmp(name_of(&m->entries[at]), name) < 0)
            at = manifest_after(m, at);
        if (at >= end || strcmp(name_of(&m->entries[at]), name) != 0)
            if (remove_name(r, dir, name, parent->path))
                note_lost(r, parent->path, name);
    }
    tree_names_free(&names);
}

static void restore_dir(struct workspace_restore *r, int dir, const struct manifest_entry *entry)
{
    const struct manifest *m = r->manifest;
    size_t top = (size_t)(entry - m->entries), end = manifest_after(m, top);
    remove_surplus(r, dir, entry);
    for (size_t at = top + 1; at < end; at = manifest_after(m, at))
        restore_entry(r, dir, &m->entries[at]);
    int e = set_attributes(r, dir, entry); /* last: everything before changed its time */
    if (e < 0)
        complain_entry(r, entry, e);
}

/* What a workspace begins as: nothing but itself. */
struct manifest *archive_no_files(const struct stat *top, struct blob_hash *ret_hash)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    struct manifest_entry entry = {.type = MANIFEST_DIR,
                                   .mode = top->st_mode & 07777,
                                   .mtime_ns = tree_ns(&top->st_mtim),
                                   .path = "",
                                   .target = ""};
    struct manifest *m = NULL;
    struct err e;
    manifest_begin(&out);
    manifest_append(&out, &entry);
    manifest_end(&out, 1);
    if (manifest_parse(out.data, out.len, &m, &e) < 0)
        abort(); /* it is ours */
    blob_hash_of(out.data, out.len, ret_hash);
    return m;
}

void archive_restore(struct archive *a, int workspace, int store, const struct blob_hash *wanted,
                     struct archive_restored *ret)
{
    *ret = (struct archive_restored){0};
    struct workspace_restore r = {.archive = a, .store = store, .out = ret};
    struct blob_hash hash;
    struct manifest *m = NULL;
    struct stat st;
    struct err e;
    if (fstat(workspace, &st) < 0) {
        complain(&r, "the workspace cannot be looked at: %s", strerror(errno));
        return;
    }
    if (wanted == NULL) {
        m = archive_no_files(&st, &hash);
    } else if (manifest_load(store, wanted, &m, &e) < 0) {
        complain(&r, "%s", e.message);
        return;
    } else {
        hash = *wanted;
    }
    r.uid = st.st_uid;
    r.gid = st.st_gid;
    r.manifest = m;
    r.seen = mem_alloc(m->n_entries * sizeof(*r.seen));
    restore_dir(&r, workspace, &m->entries[0]);
    archive_know(a, m, &hash, r.seen, 0);
}
