/* Many files of a workspace at once: lists, copies, archives that are unpacked. Archivist; the
 * rules of files.c hold. */
#include "base/fd.h"
#include "jail/files/files_parts.h"
#include "wire/json.h"
#include "wire/tar.h"

#include <errno.h>
#include <fcntl.h>

enum {
    VISITED_MAX = 200 * 1000,                     /* names that one list looks at */
    PAGE_BYTES = ARCHIVE_DETAILS_MAX - 20 * 1024, /* one entry more always fits */
    ENTRY_BYTES = 512,                            /* of the disk limit, for each name */
    UNPACKED_MAX = 100 * 1000,                    /* names in an archive */
    PIECE = 64 * 1024,
};

/* ---- patterns -------------------------------------------------------------------------------- */

/* One of "[a-z]", at the bracket; NULL if it does not match. Without an end it is a bracket. */
static const char *file_match_set(const char *pattern, char c)
{
    const char *at = pattern + 1;
    bool is_not = *at == '!' || *at == '^', matches = false;
    at += is_not;
    for (bool is_first = true; *at != '\0' && (*at != ']' || is_first); is_first = false) {
        bool is_range = at[1] == '-' && at[2] != '\0' && at[2] != ']';
        unsigned char low = (unsigned char)at[0], high = (unsigned char)(is_range ? at[2] : at[0]);
        matches |= low <= (unsigned char)c && (unsigned char)c <= high;
        at += is_range ? 3 : 1;
    }
    if (*at == '\0')
        return c == '[' ? pattern + 1 : NULL;
    return matches != is_not && c != '/' ? at + 1 : NULL;
}

/* Two places to come back to, one for each kind of star, are enough: whatever a star has taken, the
 * part behind it is tried at the next place, so time is bounded by the product of both lengths. */
bool file_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *star_text = NULL, *deep = NULL, *deep_text = NULL;
    bool is_by_names = false; /* "**" and a slash: what follows begins where a name does */
    while (*text != '\0') {
        const char *next = NULL;
        if (pattern[0] == '*' && pattern[1] == '*') {
            deep = pattern + 2;
            is_by_names = *deep == '/';
            deep += is_by_names;
            deep_text = text;
            star = NULL;
            pattern = deep;
            continue;
        }
        if (*pattern == '*') {
            star = ++pattern;
            star_text = text;
            continue;
        }
        if (*pattern == '?' && *text != '/')
            next = pattern + 1;
        else if (*pattern == '[')
            next = file_match_set(pattern, *text);
        else if (*pattern == *text)
            next = pattern + 1;
        if (next != NULL) {
            pattern = next;
            text++;
        } else if (star != NULL && *star_text != '/') {
            pattern = star;
            text = ++star_text;
        } else if (deep != NULL) {
            const char *slash = strchr(deep_text, '/');
            if (is_by_names && slash == NULL)
                return false;
            deep_text = is_by_names ? slash + 1 : deep_text + 1;
            text = deep_text;
            pattern = deep;
            star = NULL;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct file_page {
    const struct file_job *j;
    struct json_out o;
    const char *after; /* below the directory; NULL for all */
    size_t after_len;
    size_t n, n_visited;
    char next[WARDEN_PATH_SIZE]; /* the last path of this page, if there are more; "" */
};

/* The path in the workspace of what lies below the directory of the order; NULL if too long. */
static const char *file_full_path(const struct file_job *j, const char *path, char *out)
{
    const char *top = j->order->path;
    int n = snprintf(out, WARDEN_PATH_SIZE, "%s%s%s", top, top[0] != '\0' ? "/" : "", path);
    return n < WARDEN_PATH_SIZE ? out : NULL;
}

static enum tree_step file_list_one(void *context, const struct tree_found *found)
{
    struct file_page *page = context;
    const struct warden_file_order *order = page->j->order;
    char full[WARDEN_PATH_SIZE];
    enum tree_step further = order->is_recursive ? TREE_GO_ON : TREE_PASS_OVER;
    if (page->after != NULL) {
        int way = manifest_order(found->path, found->path_len, page->after, page->after_len);
        bool leads_there = page->after_len > found->path_len &&
                           page->after[found->path_len] == '/' &&
                           memcmp(found->path, page->after, found->path_len) == 0;
        if (way < 0)
            return leads_there ? further : TREE_PASS_OVER;
        if (way == 0)
            return further;
    }
    if (file_full_path(page->j, found->path, full) == NULL)
        return TREE_PASS_OVER;
    if (page->n == order->limit || page->o.buf->len > PAGE_BYTES || page->n_visited == VISITED_MAX)
        return TREE_STOP;
    const char *matched = strchr(order->pattern, '/') != NULL ? found->path : found->name;
    page->n_visited++;
    snprintf(page->next, sizeof(page->next), "%s", full);
    if (order->pattern[0] != '\0' && !file_matches(order->pattern, matched))
        return further;
    file_put_entry(&page->o, full, found->dir, found->name, &found->st);
    page->n++;
    return further;
}

int file_list(const struct file_job *j)
{
    const struct warden_file_order *order = j->order;
    const char *name = ".";
    struct stat st;
    _fd_ int parent = order->path[0] != '\0' ? file_open_parent(j, order->path, false, &name)
                                             : file_open_dir(j, "", false);
    if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return file_refuse_errno(j, order->path, parent < 0 ? parent : -errno);
    struct file_page page = {.j = j, .o = JSON_OUT(&j->out->details)};
    size_t top_len = strlen(order->path);
    bool is_below = top_len == 0 || (strncmp(order->other, order->path, top_len) == 0 &&
                                     order->other[top_len] == '/');
    if (order->other[0] != '\0' && is_below) {
        page.after = order->other + top_len + (top_len > 0);
        page.after_len = strlen(page.after);
    }
    json_put_object(&page.o);
    json_put_key(&page.o, "entry");
    file_put_entry(&page.o, order->path, parent, name, &st);
    json_put_key(&page.o, "entries");
    json_put_array(&page.o);
    bool has_more = false;
    if (S_ISDIR(st.st_mode)) {
        _fd_ int dir = tree_open(parent, name, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0)
            return file_refuse_errno(j, order->path, dir);
        has_more = !tree_walk(dir, file_list_one, &page);
    }
    json_put_array_end(&page.o);
    json_put_member_str(&page.o, "next", has_more ? page.next : NULL);
    json_put_object_end(&page.o);
    return 0;
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct file_copying {
    const struct file_job *j;
    uint64_t left; /* bytes on the disk that may be used */
    uint64_t bytes;
    bool is_full;
};

static int file_copy_dir(struct file_copying *c, int from, int to, int depth);

/* What `name` is in one directory it becomes in another, as `new_name`. Pipes, sockets and devices
 * are left out. */
static int file_copy_name(struct file_copying *c, int from, const char *name, int to,
                          const char *new_name, int depth)
{
    struct stat st, ignored;
    char target[TREE_PATH_MAX + 1];
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* gone meanwhile */
    bool counts = S_ISREG(st.st_mode);
    uint64_t bytes = counts ? (uint64_t)st.st_blocks * 512 : 0;
    uint64_t taken = file_on_disk(bytes) + ENTRY_BYTES;
    c->bytes += bytes;
    c->is_full |= taken > c->left;
    c->left -= MIN(taken, c->left);
    if (c->is_full)
        return -EFBIG;
    if (S_ISREG(st.st_mode)) {
        _fd_ int file = tree_open(from, name, O_RDONLY, 0);
        if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
            return file < 0 ? file : -EBUSY;
        return file_make(c->j, to, new_name, file, st.st_mode & 0777, &ignored);
    }
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(from, name, target, sizeof(target));
        if (n <= 0 || n > TREE_PATH_MAX)
            return -EBUSY;
        target[n] = '\0';
        if (symlinkat(target, to, new_name) < 0 ||
            fchownat(to, new_name, c->j->top.st_uid, c->j->top.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
    }
    if (!S_ISDIR(st.st_mode) || depth >= TREE_DEPTH_MAX)
        return 0;
    _fd_ int child = tree_open(from, name, O_RDONLY | O_DIRECTORY, 0);
    if (child < 0 || mkdirat(to, new_name, 0700) < 0)
        return child < 0 ? child : -errno;
    _fd_ int made = tree_open(to, new_name, O_RDONLY | O_DIRECTORY, 0);
    int e = made < 0 ? made : file_copy_dir(c, child, made, depth + 1);
    if (e == 0 && (fchown(made, c->j->top.st_uid, c->j->top.st_gid) < 0 ||
                   fchmod(made, st.st_mode & 0777) < 0))
        e = -errno;
    return e;
}

static int file_copy_dir(struct file_copying *c, int from, int to, int depth)
{
    struct tree_names names = {0};
    int e = tree_list(from, TREE_NAMES_MAX, &names);
    for (size_t i = 0; i < names.n && e == 0; i++)
        e = file_copy_name(c, from, names.names[i], to, names.names[i], depth);
    tree_names_free(&names);
    return e;
}

static bool file_is_within(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Made beside, then renamed: nobody sees half of it. */
int file_copy(const struct file_job *j)
{
    const char *from = j->order->path, *to = j->order->other, *from_name, *to_name;
    struct file_copying c = {.j = j, .left = file_space_left(j)};
    struct stat st;
    char temp[FILE_TEMP_SIZE];
    uint64_t free_bytes = c.left;
    if (file_is_within(to, from))
        return file_refuse_errno(j, to, -EINVAL);
    _fd_ int from_dir = file_open_parent(j, from, false, &from_name);
    if (from_dir < 0 || fstatat(from_dir, from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return file_refuse_errno(j, from, from_dir < 0 ? from_dir : -errno);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return file_refuse(j, from, "is no file that can be copied", "Name a file or a directory.");
    _fd_ int to_dir = file_open_parent(j, to, true, &to_name);
    if (to_dir < 0)
        return file_refuse_errno(j, to, to_dir);
    int e = file_copy_name(&c, from_dir, from_name, to_dir, file_temp_name(temp), 0);
    unsigned flags = j->order->replaces && S_ISREG(st.st_mode) ? 0 : RENAME_NOREPLACE;
    if (e == 0 && renameat2(to_dir, temp, to_dir, to_name, flags) < 0)
        e = -errno;
    if (e < 0) {
        tree_remove(to_dir, temp);
        return c.is_full ? file_refuse_space(j, c.bytes, free_bytes) : file_refuse_errno(j, to, e);
    }
    j->out->bytes = c.bytes;
    struct json_out o = JSON_OUT(&j->out->details);
    json_put_object(&o);
    json_put_key(&o, "entry");
    file_put_entry(&o, to, to_dir, to_name, &st);
    json_put_object_end(&o);
    _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
    struct manifest *m;
    if (file_load_base(j, &m) < 0 || m == NULL)
        return j->out->err.code == ERR_NONE ? 0 : -1;
    manifest_graft(m, from, to, false, &out);
    manifest_free(m);
    return file_keep_manifest(j, &out);
}

/* ---- archives -------------------------------------------------------------------------------- */

/* Read twice: all names, kinds and sizes are checked before the first file is made. */
struct file_unpacking {
    const struct file_job *j;
    struct tar_reader reader;
    uint64_t needed, n_files, n_dirs;
    char path[WARDEN_PATH_SIZE]; /* of the current entry in the workspace; "": the top */
    mode_t mode;
    struct blob_writer *writer;
    struct manifest_entry *added; /* with paths of their own */
    size_t n_added, cap;
};

static int file_refuse_entry(struct file_unpacking *u, const char *path, const char *why)
{
    struct err *e = &u->j->out->err;
    err_set(e, ERR_INVALID, "the archive is refused because of %.200s: %s", path, why);
    return err_advise(e, "Nothing of it was unpacked. It may hold files and directories, by paths "
                         "below the place where it is unpacked.");
}

/* Where an entry belongs: u->path. */
static int file_place_entry(struct file_unpacking *u, const struct tar_entry *entry)
{
    struct err wrong;
    const char *path = entry->path;
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    u->path[0] = '\0';
    if (entry->type != TAR_FILE && entry->type != TAR_DIR)
        return file_refuse_entry(u, entry->path,
                                 entry->type == TAR_OTHER ? "it is a pipe, a device or unknown"
                                                          : "links are not unpacked");
    if (entry->type == TAR_DIR && (path[0] == '\0' || strcmp(path, ".") == 0)) {
        snprintf(u->path, sizeof(u->path), "%s", u->j->order->path);
        return 0;
    }
    if (archive_check_path(path, &wrong) < 0)
        return file_refuse_entry(u, entry->path, wrong.message);
    if (file_full_path(u->j, path, u->path) == NULL || archive_check_path(u->path, &wrong) < 0)
        return file_refuse_entry(u, entry->path, "its path is too long");
    return 0;
}

/* What has the entry's name already must be of its kind, and all on the way there directories: else
 * the archive would be half unpacked when it is met. */
static int file_check_place(struct file_unpacking *u, const struct tar_entry *entry)
{
    struct stat st;
    const char *name = ".";
    _fd_ int dir = u->path[0] != '\0' ? file_open_parent(u->j, u->path, false, &name)
                                      : file_open_dir(u->j, "", false);
    bool is_there = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (dir == -ENOENT || (dir >= 0 && !is_there && errno == ENOENT))
        return 0;
    bool is_way = is_there && entry->type == TAR_DIR && S_ISDIR(st.st_mode);
    bool is_replaced = is_there && entry->type == TAR_FILE && S_ISREG(st.st_mode);
    if (is_way || is_replaced)
        return 0;
    return file_refuse(u->j, u->path,
                       !is_there ? "leads through what is no directory, or is a link"
                       : entry->type == TAR_FILE
                           ? "is a file in the archive, and something else here"
                           : "is a directory in the archive, and something else here",
                       "Nothing was unpacked. Delete what is in the way, or unpack into another "
                       "directory (path).");
}

static int file_check_entry(void *context, const struct tar_entry *entry)
{
    struct file_unpacking *u = context;
    if (file_place_entry(u, entry) < 0 || file_check_place(u, entry) < 0)
        return -1;
    u->n_files += entry->type == TAR_FILE;
    u->n_dirs += entry->type == TAR_DIR;
    u->needed += file_on_disk(entry->size) + ENTRY_BYTES;
    if (u->n_files + u->n_dirs > UNPACKED_MAX)
        return file_refuse_entry(u, entry->path, "it has too many files");
    return 0;
}

static int file_pass_data(void *context, const char *data, size_t len)
{
    (void)context;
    (void)data;
    (void)len;
    return 0;
}

static int file_pass_end(void *context)
{
    (void)context;
    return 0;
}

static void file_note_unpacked(struct file_unpacking *u, const struct manifest_entry *entry)
{
    if (u->n_added == u->cap) {
        u->cap = MAX(2 * u->cap, (size_t)64);
        u->added = mem_realloc(u->added, u->cap * sizeof(*u->added));
    }
    u->added[u->n_added] = *entry;
    u->added[u->n_added++].path = mem_strdup(entry->path);
}

static int file_unpack_entry(void *context, const struct tar_entry *entry)
{
    struct file_unpacking *u = context;
    struct stat st;
    if (file_place_entry(u, entry) < 0)
        return -1;
    u->mode = (entry->mode & 0777) | 0600;
    if (entry->type == TAR_FILE) {
        int e = blob_writer_new(u->j->store, &u->writer);
        return e < 0 ? file_refuse_errno(u->j, u->path, e) : 0;
    }
    _fd_ int dir = file_open_dir(u->j, u->path, true);
    if (dir < 0 || fstat(dir, &st) < 0)
        return file_refuse_errno(u->j, u->path, dir < 0 ? dir : -errno);
    if (u->path[0] != '\0')
        file_note_unpacked(u, &(struct manifest_entry){.type = MANIFEST_DIR,
                                                       .mode = st.st_mode & 07777,
                                                       .mtime_ns = tree_ns(&st.st_mtim),
                                                       .path = u->path,
                                                       .path_len = strlen(u->path),
                                                       .target = ""});
    return 0;
}

static int file_unpack_data(void *context, const char *data, size_t len)
{
    struct file_unpacking *u = context;
    int e = blob_writer_add(u->writer, data, len);
    return e < 0 ? file_refuse_errno(u->j, u->path, e) : 0;
}

static int file_unpack_end(void *context)
{
    struct file_unpacking *u = context;
    struct blob_put put;
    struct manifest_entry entry;
    int e = blob_writer_finish(u->writer, &put);
    blob_writer_free(take_ptr(u->writer));
    if (e < 0)
        return file_refuse_errno(u->j, u->path, e);
    if (file_put_blob(u->j, u->path, &put.hash, u->mode, &entry) < 0)
        return -1;
    u->j->out->bytes += put.bytes;
    file_note_unpacked(u, &entry);
    return 0;
}

static int file_read_archive(struct file_unpacking *u, int archive,
                             const struct tar_listener *listener)
{
    _free_ char *piece = mem_alloc(PIECE);
    ssize_t n = 1;
    int status = 0;
    tar_reader_init(&u->reader, listener, u);
    for (off_t at = 0; status == 0 && n > 0; at += n) {
        n = pread(archive, piece, PIECE, at);
        status = n > 0 ? tar_read(&u->reader, piece, (size_t)n) : tar_read_end(&u->reader);
    }
    if (u->reader.wrong != NULL || n < 0) {
        err_set(&u->j->out->err, ERR_INVALID, "the archive cannot be read: %s",
                n < 0 ? strerror(errno) : u->reader.wrong);
        err_advise(&u->j->out->err, "Send an uncompressed tar archive, as tar -cf makes it.");
    }
    tar_reader_free(&u->reader);
    return status;
}

int file_unpack(const struct file_job *j)
{
    static const struct tar_listener check = {file_check_entry, file_pass_data, file_pass_end};
    static const struct tar_listener make = {file_unpack_entry, file_unpack_data, file_unpack_end};
    struct file_unpacking *u = mem_alloc(sizeof(*u));
    struct blob_hash hash;
    u->j = j;
    _fd_ int archive =
        blob_parse_hex(j->order->blob, &hash) < 0 ? -EINVAL : blob_open(j->store, &hash);
    int status = archive < 0
                     ? err_set(&j->out->err, ERR_INTERNAL, "the archive is not in the store")
                     : file_read_archive(u, archive, &check);
    uint64_t left = status == 0 ? file_space_left(j) : 0;
    if (status == 0 && u->needed > left)
        status = file_refuse_space(j, u->needed, left);
    if (status == 0 && j->order->path[0] != '\0') {
        _fd_ int top = file_open_dir(j, j->order->path, true);
        status = top < 0 ? file_refuse_errno(j, j->order->path, top) : 0;
    }
    if (status == 0) {
        status = file_read_archive(u, archive, &make);
        /* Code of the session put something into its way meanwhile, or the archive did itself. */
        if (status != 0)
            err_advise(&j->out->err, "%zu of its %llu names were unpacked before, up to %.300s.",
                       u->n_added, (unsigned long long)(u->n_files + u->n_dirs),
                       u->n_added > 0 ? u->added[u->n_added - 1].path : "none");
    }
    if (status == 0)
        status =
            file_amend(j, &(struct manifest_changes){.added = u->added, .n_added = u->n_added});
    struct json_out o = JSON_OUT(&j->out->details);
    json_put_object(&o);
    json_put_member_int(&o, "files", (int64_t)u->n_files);
    json_put_member_int(&o, "folders", (int64_t)u->n_dirs);
    json_put_object_end(&o);
    blob_writer_free(u->writer);
    for (size_t i = 0; i < u->n_added; i++)
        free((char *)(uintptr_t)u->added[i].path);
    free(u->added);
    free(u);
    return status;
}
