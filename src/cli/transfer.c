/* Files between here and a session's workspace. Command line tool. A folder goes as one tar
 * archive; what comes from a session is a stranger's: its names are checked and no link of it is
 * made. */
#include "cli/transfer.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cli/api.h"
#include "cli/terminal.h"
#include "jail/files/archive.h"
#include "jail/files/tree.h"
#include "wire/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    SHOWN_AFTER_BYTES = 8 << 20, /* what is smaller is there before anybody looks */
    SHOWN_EVERY_MS = 200,
    TRANSFER_LISTED_MAX = 1000 * 1000,
    URL_MAX = 8 << 10,
};

/* ---- places ---------------------------------------------------------------------------------- */

static char *place_path(const char *text, size_t len)
{
    if (len >= 10 && strncmp(text, "/workspace", 10) == 0 && (len == 10 || text[10] == '/')) {
        text += 10;
        len -= 10;
    }
    while (len > 0 && (text[0] == '/' || (text[0] == '.' && (len == 1 || text[1] == '/')))) {
        text++;
        len--;
    }
    while (len > 0 && text[len - 1] == '/')
        len--;
    char *path = mem_alloc(len + 1);
    memcpy(path, text, len);
    return path;
}

struct cli_place cli_place_of(const char *word)
{
    struct cli_place place = {.text = word};
    const char *colon = strchr(word, ':'), *slash = strchr(word, '/');
    size_t len = strlen(word);
    place.is_folder = len > 0 && (word[len - 1] == '/' || word[len - 1] == ':');
    if (colon == NULL || colon == word || (slash != NULL && slash < colon))
        return place;
    place.session = mem_alloc((size_t)(colon - word) + 1);
    memcpy(place.session, word, (size_t)(colon - word));
    place.path = place_path(colon + 1, strlen(colon + 1));
    return place;
}

void cli_place_free(struct cli_place *place)
{
    free(place->session);
    free(place->path);
    *place = (struct cli_place){0};
}

/* ---- a line while it lasts ------------------------------------------------------------------- */

void cli_transfer_begin(struct cli_transfer *t, const char *name, uint64_t total)
{
    *t = (struct cli_transfer){.shows = t->shows, .name = name, .total = total};
}

static void transfer_count(struct cli_transfer *t, size_t len)
{
    t->done += len;
    uint64_t now_ms = clock_mono_ms();
    if (!t->shows || MAX(t->total, t->done) < SHOWN_AFTER_BYTES ||
        (t->shown_ms != 0 && now_ms - t->shown_ms < SHOWN_EVERY_MS))
        return;
    t->shown_ms = now_ms;
    _buf_ struct buf line = BUF_INIT(4 * KIB);
    buf_append_str(&line, "\r\x1b[K");
    cli_append_safe(&line, t->name, MIN(strlen(t->name), (size_t)60), false);
    buf_printf(&line, ": %.1f", (double)t->done / 1e6);
    if (t->total > 0)
        buf_printf(&line, " of %.1f", (double)t->total / 1e6);
    cli_say(STDERR_FILENO, "%s MB", buf_str(&line));
}

/* Takes the line away. */
static void cli_transfer_end(struct cli_transfer *t)
{
    if (t->shown_ms != 0)
        cli_say(STDERR_FILENO, "\r\x1b[K");
    t->shown_ms = 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

void cli_append_path(struct buf *out, const char *path, bool in_query)
{
    for (const char *c = path; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || strchr("-_.~", *c) != NULL ||
                        (*c == '/' && !in_query);
        if (is_plain)
            buf_append_char(out, *c);
        else
            buf_printf(out, "%%%02X", (unsigned char)*c);
    }
}

void cli_session_path(struct buf *out, const char *session_id, const char *what, const char *path)
{
    buf_printf(out, "/v1/sessions/%s/%s/", session_id, what);
    cli_append_path(out, path, false);
}

int cli_file_stat(struct cli_client *c, const char *session_id, const char *path,
                  json_t **ret_entry, struct err *e)
{
    _buf_ struct buf url = BUF_INIT(URL_MAX);
    if (path[0] == '\0') {
        *ret_entry = json_pack("{ss ss}", "path", "", "type", "folder");
        return 0;
    }
    cli_session_path(&url, session_id, "stat", path);
    return cli_api_get(c, "GET", buf_str(&url), ret_entry, e);
}

int cli_file_list(struct cli_client *c, const char *session_id, const char *path, const char *query,
                  json_t **ret_entries, struct err *e)
{
    _json_ json_t *all = json_array();
    _free_ char *after = NULL;
    do {
        _buf_ struct buf url = BUF_INIT(2 * URL_MAX);
        _json_ json_t *page = NULL;
        buf_printf(&url, "/v1/sessions/%s/files?limit=1000&path=", session_id);
        cli_append_path(&url, path, true);
        buf_append_str(&url, query);
        if (after != NULL) {
            buf_append_str(&url, "&after=");
            cli_append_path(&url, after, true);
        }
        if (cli_api_get(c, "GET", buf_str(&url), &page, e) < 0)
            return -1;
        const json_t *entry = json_object_get(page, "entry");
        const char *type = cli_json_text(entry, "type", NULL);
        if (type != NULL && strcmp(type, "folder") != 0)
            json_array_append(all, (json_t *)(uintptr_t)entry); /* a file is what it is */
        json_array_extend(all, json_object_get(page, "entries"));
        const char *next = cli_json_text(page, "next", NULL);
        if (json_array_size(all) > TRANSFER_LISTED_MAX ||
            (after != NULL && next != NULL && strcmp(after, next) == 0))
            return err_set(e, ERR_TOO_LARGE, "there are too many files");
        free(after);
        after = next != NULL ? mem_strdup(next) : NULL;
    } while (after != NULL);
    *ret_entries = take_ptr(all);
    return 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The context of all callbacks of a request below. */
struct transfer_work {
    struct cli_transfer *t;
    int fd;
    const char *name;
    int problem; /* -errno of what is here */
    struct packing *packing;
    struct unpacking *unpacking;
};

static bool transfer_on_signal(void *context, int signo)
{
    struct transfer_work *w = context;
    w->t->left_by = signo;
    return false;
}

static ssize_t transfer_read(void *context, char *data, size_t size, struct err *e)
{
    struct transfer_work *w = context;
    ssize_t n;
    do
        n = read(w->fd, data, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "%.200s", w->name);
    transfer_count(w->t, (size_t)n);
    return n;
}

int cli_file_put(struct cli_client *c, const char *session_id, int fd, const char *path,
                 struct cli_transfer *t, struct err *e)
{
    struct stat st;
    struct transfer_work w = {.t = t, .fd = fd, .name = path};
    bool is_known = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    _buf_ struct buf url = BUF_INIT(URL_MAX);
    _json_ json_t *answer = NULL;
    cli_session_path(&url, session_id, "files", path);
    cli_transfer_begin(t, path, is_known ? (uint64_t)st.st_size : 0);
    struct cli_request request = {.method = "PUT",
                                  .path = buf_str(&url),
                                  .read_body = transfer_read,
                                  .body_total = is_known ? (int64_t)st.st_size : -1,
                                  .on_signal = transfer_on_signal,
                                  .context = &w};
    int status = cli_api_call(c, &request, &answer, e);
    cli_transfer_end(t);
    return status;
}

/* ---- a folder that is sent ------------------------------------------------------------------- */

struct packing_name {
    char *path; /* below the folder */
    bool is_dir;
};

struct packing {
    int top;
    dev_t device;
    struct packing_name *names;
    size_t n, cap, at;
    int file;         /* that is being sent, or -1 */
    uint64_t left;    /* of it */
    size_t padding;   /* behind it */
    struct buf ready; /* a head, or the end */
    bool is_over;
    size_t n_left_out;
};

static enum tree_step packing_find(void *context, const struct tree_found *found)
{
    struct packing *p = context;
    bool is_dir = S_ISDIR(found->st.st_mode);
    if ((!is_dir && !S_ISREG(found->st.st_mode)) || found->st.st_dev != p->device) {
        p->n_left_out++;
        return TREE_PASS_OVER;
    }
    if (p->n == p->cap) {
        p->cap = MAX(2 * p->cap, (size_t)64);
        p->names = mem_realloc(p->names, p->cap * sizeof(*p->names));
    }
    p->names[p->n++] = (struct packing_name){.path = mem_strdup(found->path), .is_dir = is_dir};
    return TREE_GO_ON;
}

static int packing_open_next(struct packing *p, struct err *e)
{
    struct stat st;
    if (p->at == p->n) {
        tar_put_end(&p->ready);
        p->is_over = true;
        return 0;
    }
    const struct packing_name *name = &p->names[p->at++];
    /* This user's own files: links in the way to them were not gone through. */
    p->file = openat(p->top, name->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (p->file < 0 || fstat(p->file, &st) < 0)
        return err_errno(e, ERR_INVALID, errno, "%.200s", name->path);
    struct tar_entry *entry = mem_alloc(sizeof(*entry));
    entry->type = name->is_dir ? TAR_DIR : TAR_FILE;
    entry->mode = st.st_mode & 0777;
    entry->mtime_s = st.st_mtim.tv_sec;
    entry->size = name->is_dir ? 0 : (uint64_t)st.st_size;
    snprintf(entry->path, sizeof(entry->path), "%s", name->path);
    tar_put_head(&p->ready, entry);
    p->left = entry->size;
    p->padding = tar_padding(entry->size);
    free(entry);
    return 0;
}

static ssize_t packing_read(void *context, char *data, size_t size, struct err *e)
{
    struct transfer_work *w = context;
    struct packing *p = w->packing;
    while (p->ready.len == 0 && p->left == 0 && p->padding == 0 && !p->is_over) {
        cleanup_fd(&p->file);
        p->file = -1;
        if (packing_open_next(p, e) < 0)
            return -1;
    }
    size_t n = MIN(size, p->ready.len);
    if (n > 0) {
        memcpy(data, p->ready.data, n);
        buf_consume(&p->ready, n);
    } else if (p->left > 0) {
        n = (size_t)MIN((uint64_t)size, p->left);
        ssize_t got = read(p->file, data, n);
        if (got < 0)
            return err_errno(e, ERR_UNAVAILABLE, errno, "%.200s", w->name);
        if (got == 0)
            memset(data, 0, n); /* it was cut meanwhile */
        n = got > 0 ? (size_t)got : n;
        p->left -= n;
    } else if (p->padding > 0) {
        n = MIN(size, p->padding);
        memset(data, 0, n);
        p->padding -= n;
    }
    transfer_count(w->t, n);
    return (ssize_t)n;
}

int cli_folder_put(struct cli_client *c, const char *session_id, const char *local,
                   const char *path, struct cli_transfer *t, struct err *e)
{
    struct packing p = {.file = -1, .ready = BUF_INIT(2 * TAR_EXTENSION_MAX)};
    struct transfer_work w = {.t = t, .name = local, .packing = &p};
    p.top = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p.top < 0)
        return err_errno(e, ERR_NOT_FOUND, errno, "%.200s", local);
    struct stat st;
    p.device = fstat(p.top, &st) == 0 ? st.st_dev : 0;
    tree_walk(p.top, packing_find, &p);
    cli_transfer_begin(t, local, 0);
    _buf_ struct buf url = BUF_INIT(URL_MAX);
    _json_ json_t *answer = NULL;
    buf_printf(&url, "/v1/sessions/%s/archive?path=", session_id);
    cli_append_path(&url, path, true);
    struct cli_request request = {.method = "PUT",
                                  .path = buf_str(&url),
                                  .read_body = packing_read,
                                  .body_total = -1,
                                  .on_signal = transfer_on_signal,
                                  .context = &w};
    int status = cli_api_call(c, &request, &answer, e);
    cli_transfer_end(t);
    if (status == 0 && p.n_left_out > 0)
        cli_say(STDERR_FILENO, "cella: %zu links, pipes or mounts were left out\n", p.n_left_out);
    for (size_t i = 0; i < p.n; i++)
        free(p.names[i].path);
    free(p.names);
    buf_free(&p.ready);
    cleanup_fd(&p.file);
    close(p.top);
    return status;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool transfer_write(void *context, const char *data, size_t len)
{
    struct transfer_work *w = context;
    size_t done = 0;
    w->problem = cli_write(w->fd, data, len, &done);
    transfer_count(w->t, len);
    return w->problem == 0;
}

static int transfer_fetch(struct cli_client *c, const char *url, cli_on_stream take,
                          struct transfer_work *w, struct err *e)
{
    struct buf body = BUF_INIT(0);
    struct cli_request request = {.method = "GET",
                                  .path = url,
                                  .take_body = take,
                                  .on_signal = transfer_on_signal,
                                  .context = w};
    int status = cli_api_fetch(c, &request, &body, e);
    buf_free(&body);
    cli_transfer_end(w->t);
    if (status < 0 && w->problem < 0)
        return err_errno(e, ERR_UNAVAILABLE, w->problem, "%.200s", w->name);
    return status;
}

int cli_file_get(struct cli_client *c, const char *session_id, const char *path, int fd,
                 struct cli_transfer *t, struct err *e)
{
    struct transfer_work w = {.t = t, .fd = fd, .name = path};
    _buf_ struct buf url = BUF_INIT(URL_MAX);
    cli_session_path(&url, session_id, "files", path);
    return transfer_fetch(c, buf_str(&url), transfer_write, &w, e);
}

int cli_folder_get_packed(struct cli_client *c, const char *session_id, const char *path, int fd,
                          struct cli_transfer *t, struct err *e)
{
    struct transfer_work w = {.t = t, .fd = fd, .name = path};
    _buf_ struct buf url = BUF_INIT(URL_MAX);
    buf_printf(&url, "/v1/sessions/%s/archive?path=", session_id);
    cli_append_path(&url, path, true);
    return transfer_fetch(c, buf_str(&url), transfer_write, &w, e);
}

static mode_t transfer_mode(uint32_t mode)
{
    mode_t mask = umask(0);
    umask(mask);
    return ((mode & 0777) | 0600) & ~mask;
}

/* Folders on the way to a local path. */
static int transfer_make_way(const char *local, struct err *e)
{
    char way[PATH_MAX];
    for (const char *slash = strchr(local + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        snprintf(way, sizeof(way), "%.*s", (int)(slash - local), local);
        if (mkdir(way, 0777) < 0 && errno != EEXIST)
            return err_errno(e, ERR_INVALID, errno, "%.200s", way);
    }
    return 0;
}

int cli_file_get_to(struct cli_client *c, const char *session_id, const char *path,
                    const char *local, uint32_t mode, struct cli_transfer *t, struct err *e)
{
    char part[PATH_MAX];
    struct stat st;
    if (snprintf(part, sizeof(part), "%s.%d.part", local, (int)getpid()) >= (int)sizeof(part))
        return err_set(e, ERR_INVALID, "the path is too long: %.200s", local);
    if (transfer_make_way(local, e) < 0)
        return -1;
    bool is_odd = stat(local, &st) == 0 && !S_ISREG(st.st_mode); /* a terminal, a pipe */
    const char *to = is_odd ? local : part;
    _fd_ int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (is_odd ? 0 : O_EXCL), 0600);
    if (fd < 0)
        return err_errno(e, ERR_INVALID, errno, "%.200s", to);
    int status = cli_file_get(c, session_id, path, fd, t, e);
    if (status == 0 && !is_odd && (fchmod(fd, transfer_mode(mode)) < 0 || rename(part, local) < 0))
        status = err_errno(e, ERR_UNAVAILABLE, errno, "%.200s", local);
    if (status < 0 && !is_odd)
        unlink(part);
    return status;
}

/* ---- a folder that comes --------------------------------------------------------------------- */

struct unpacking {
    struct tar_reader reader;
    int top;
    int file; /* that is being written; -1: it is left out */
    mode_t mode;
    size_t n_left_out;
    struct err err;
};

/* The folder that a path is in, below the top, through no link that was there before. */
static int unpacking_open_parent(const struct unpacking *u, const char *path, const char **ret_name)
{
    char name[MANIFEST_NAME_MAX + 1];
    int dir = openat(u->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; dir >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
        mkdirat(dir, name, 0777);
        int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
        close(dir);
        dir = child;
    }
    *ret_name = path;
    return dir;
}

static int unpacking_entry(void *context, const struct tar_entry *entry)
{
    struct transfer_work *w = context;
    struct unpacking *u = w->unpacking;
    const char *name;
    if (entry->type != TAR_FILE && entry->type != TAR_DIR) {
        u->n_left_out++;
        return 0;
    }
    if (archive_check_path(entry->path, &u->err) < 0)
        return err_context(&u->err, "%.100s", entry->path);
    _fd_ int dir = unpacking_open_parent(u, entry->path, &name);
    if (dir < 0)
        return err_errno(&u->err, ERR_INVALID, dir, "%.200s", entry->path);
    u->mode = transfer_mode(entry->mode);
    if (entry->type == TAR_DIR) {
        if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
            return err_errno(&u->err, ERR_INVALID, errno, "%.200s", entry->path);
        return 0;
    }
    u->file = tree_open(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return u->file < 0 ? err_errno(&u->err, ERR_INVALID, u->file, "%.200s", entry->path) : 0;
}

static int unpacking_data(void *context, const char *data, size_t len)
{
    struct unpacking *u = ((struct transfer_work *)context)->unpacking;
    int r = u->file >= 0 ? fd_write_all(u->file, data, len) : 0;
    return r < 0 ? err_errno(&u->err, ERR_UNAVAILABLE, r, "%.200s", u->reader.entry.path) : 0;
}

static int unpacking_end(void *context)
{
    struct unpacking *u = ((struct transfer_work *)context)->unpacking;
    if (u->file >= 0)
        fchmod(u->file, u->mode);
    cleanup_fd(&u->file);
    u->file = -1;
    return 0;
}

static bool unpacking_take(void *context, const char *data, size_t len)
{
    struct transfer_work *w = context;
    transfer_count(w->t, len);
    return tar_read(&w->unpacking->reader, data, len) == 0;
}

int cli_folder_get(struct cli_client *c, const char *session_id, const char *path,
                   const char *local, struct cli_transfer *t, struct err *e)
{
    static const struct tar_listener listener = {unpacking_entry, unpacking_data, unpacking_end};
    if (transfer_make_way(local, e) < 0)
        return -1;
    if (mkdir(local, 0777) < 0 && errno != EEXIST)
        return err_errno(e, ERR_INVALID, errno, "%.200s", local);
    struct unpacking *u = mem_alloc(sizeof(*u));
    struct transfer_work w = {.t = t, .name = local, .unpacking = u};
    u->file = -1;
    u->top = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = u->top < 0 ? err_errno(e, ERR_INVALID, errno, "%.200s", local) : 0;
    tar_reader_init(&u->reader, &listener, &w);
    cli_transfer_begin(t, local, 0);
    _buf_ struct buf url = BUF_INIT(URL_MAX);
    buf_printf(&url, "/v1/sessions/%s/archive?path=", session_id);
    cli_append_path(&url, path, true);
    if (status == 0)
        status = transfer_fetch(c, buf_str(&url), unpacking_take, &w, e);
    if (u->err.code != ERR_NONE)
        *e = u->err;
    else if (status == 0 && tar_read_end(&u->reader) < 0)
        status = err_set(e, ERR_UNAVAILABLE, "the archive is broken: %s", u->reader.wrong);
    if (status == 0 && u->n_left_out > 0)
        cli_say(STDERR_FILENO, "cella: %zu links were left out\n", u->n_left_out);
    tar_reader_free(&u->reader);
    cleanup_fd(&u->file);
    cleanup_fd(&u->top);
    free(u);
    return status;
}
