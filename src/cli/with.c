/* Files given with a notebook or code: found, checked, uploaded. Command line tool. */
#include "cli/with.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "cli/api.h"
#include "cli/terminal.h"
#include "cli/transfer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    DEPTH_MAX = 24, /* directories below each other: as deep as a path of the daemon's goes */
    PLACE_MAX = 1024,
    SHOWN_BYTES = 8 << 20, /* of all files, for their names to be shown as they go; or */
    SHOWN_FILES = 50,
};

/* ---- which files ----------------------------------------------------------------------------- */

static int with_refuse(const char *path, const char *why, struct err *e)
{
    err_set(e, ERR_INVALID, "--with %.300s: %s", path, why);
    return err_advise(e, "name fewer or smaller files, or a directory that holds only what the "
                         "notebook reads");
}

static int add_file(struct cli_with *with, const char *path, const char *place,
                    const struct stat *st, struct err *e)
{
    if (!utf8_is_valid(place, strlen(place)))
        return with_refuse(path, "its name is not UTF-8", e);
    if (strlen(place) > PLACE_MAX)
        return with_refuse(path, "its path is too long", e);
    if (with->n == CLI_WITH_FILES_MAX)
        return with_refuse(path, "more than 1000 files", e);
    if (with->bytes + (uint64_t)st->st_size > CLI_WITH_BYTES_MAX)
        return with_refuse(path, "more than 1 TiB in all", e);
    for (size_t i = 0; i < with->n; i++)
        if (strcmp(with->files[i].place, place) == 0 && strcmp(with->files[i].path, path) != 0)
            return with_refuse(path, "another file would have the same name in the session", e);
    if (with->n == with->cap) {
        with->cap = MAX(2 * with->cap, (size_t)16);
        with->files = mem_realloc(with->files, with->cap * sizeof(*with->files));
    }
    with->files[with->n++] = (struct cli_with_file){
        .path = mem_strdup(path), .place = mem_strdup(place), .bytes = (uint64_t)st->st_size};
    with->bytes += (uint64_t)st->st_size;
    return 0;
}

/* Of a directory and a name in it; the directory may be "". */
static int with_join(char out[PATH_MAX], const char *dir, const char *name, struct err *e)
{
    int n = snprintf(out, PATH_MAX, "%s%s%s", dir, dir[0] != '\0' ? "/" : "", name);
    return n < PATH_MAX ? 0 : with_refuse(name, "its path is too long", e);
}

static int add_dir(struct cli_with *with, const char *path, const char *place, int depth,
                   struct err *e);

/* What begins with a dot is left out, as are pipes, sockets and directories that are links. */
static int add_entry(struct cli_with *with, const char *dir, const char *place, const char *name,
                     int depth, struct err *e)
{
    char path[PATH_MAX], there[PATH_MAX];
    struct stat st, link;
    if (name[0] == '.')
        return 0;
    if (with_join(path, dir, name, e) < 0 || with_join(there, place, name, e) < 0)
        return -1;
    if (lstat(path, &link) < 0 || stat(path, &st) < 0)
        return 0; /* gone meanwhile, or a link that leads nowhere */
    if (S_ISREG(st.st_mode))
        return add_file(with, path, there, &st, e);
    return S_ISDIR(link.st_mode) ? add_dir(with, path, there, depth + 1, e) : 0;
}

static int add_dir(struct cli_with *with, const char *path, const char *place, int depth,
                   struct err *e)
{
    struct dirent **entries = NULL;
    if (depth > DEPTH_MAX)
        return with_refuse(path, "its directories lie too deep", e);
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0)
        return err_errno(e, ERR_INVALID, errno, "--with %.300s", path);
    int status = 0;
    for (int i = 0; i < n; i++) {
        if (status == 0)
            status = add_entry(with, path, place, entries[i]->d_name, depth, e);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* ---- where they go --------------------------------------------------------------------------- */

static int with_resolve_all(const char *path, char out[PATH_MAX], struct err *e)
{
    return realpath(path, out) != NULL ? 0
                                       : err_errno(e, ERR_INVALID, errno, "--with %.300s", path);
}

/* The directory is resolved, the last name is not: a link beside the notebook is beside it. */
static int with_resolve(const char *path, char out[PATH_MAX], struct err *e)
{
    char whole[PATH_MAX], parent[PATH_MAX], dir[PATH_MAX];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len >= PATH_MAX)
        return with_refuse(path, "its path is too long", e);
    const char *slash = memrchr(path, '/', len);
    size_t dir_len = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    snprintf(whole, sizeof(whole), "%.*s", (int)len, path);
    if (whole[dir_len] == '\0' || fd_is_dots(whole + dir_len))
        return with_resolve_all(whole, out, e);
    snprintf(parent, sizeof(parent), "%.*s", (int)MAX(dir_len, (size_t)1),
             dir_len > 0 ? path : ".");
    if (with_resolve_all(parent, dir, e) < 0)
        return -1;
    return with_join(out, strcmp(dir, "/") == 0 ? "/." : dir, whole + dir_len, e);
}

/* From `home` if it lies below it, else its own name. */
static const char *with_place_of(const char *home, const char *path)
{
    size_t len = strlen(home);
    if (strcmp(home, path) == 0)
        return "";
    if (strncmp(home, path, len) == 0 && path[len] == '/')
        return path + len + 1;
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int with_add(struct cli_with *with, const char *given, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    if (stat(given, &st) < 0)
        return err_errno(e, ERR_INVALID, errno, "--with %.300s", given);
    if (with_resolve(given, path, e) < 0)
        return -1;
    const char *place = with_place_of(with->home, path);
    if (S_ISDIR(st.st_mode))
        return add_dir(with, path, place, 0, e);
    if (!S_ISREG(st.st_mode))
        return with_refuse(given, "it is neither a file nor a directory", e);
    return add_file(with, path, place, &st, e);
}

int cli_with_read(const struct cli_args *args, const char *notebook, struct cli_with *ret,
                  struct err *e)
{
    size_t at = 0;
    const char *given;
    /* A directory that is not there has no notebook: reading the notebook will say so. */
    const char *slash = strrchr(notebook, '/');
    char dir[PATH_MAX], home[PATH_MAX];
    snprintf(dir, sizeof(dir), "%.*s", slash != NULL ? (int)(slash - notebook + 1) : 1,
             slash != NULL ? notebook : ".");
    ret->home = mem_strdup(realpath(dir, home) != NULL ? home : "");
    while ((given = cli_value_next(args, "with", &at)) != NULL)
        if (with_add(ret, given, e) < 0)
            return -1;
    return 0;
}

void cli_with_free(struct cli_with *with)
{
    for (size_t i = 0; i < with->n; i++) {
        free(with->files[i].path);
        free(with->files[i].place);
    }
    free(with->files);
    free(with->home);
    *with = (struct cli_with){0};
}

/* ---- putting them there ---------------------------------------------------------------------- */

static int with_put_one(struct cli_with *with, const struct cli_with_file *file,
                        struct cli_client *c, const char *session_id, struct err *e)
{
    struct cli_transfer transfer = {.shows = with->shows};
    _fd_ int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_errno(e, ERR_INVALID, errno, "--with %.300s", file->path);
    int status = cli_file_put(c, session_id, fd, file->place, &transfer, e);
    with->left_by = transfer.left_by;
    return status < 0 ? err_context(e, "--with %.100s", file->place) : 0;
}

int cli_with_put(struct cli_with *with, struct cli_client *c, const char *session_id, struct err *e)
{
    bool is_shown = with->shows && (with->bytes >= SHOWN_BYTES || with->n >= SHOWN_FILES);
    int status = 0;
    for (size_t i = 0; i < with->n && status == 0; i++) {
        _buf_ struct buf line = BUF_INIT(16 * KIB);
        const struct cli_with_file *file = &with->files[i];
        if (is_shown) {
            buf_printf(&line, "\r\x1b[Kfile %zu of %zu, %.1f MB: ", i + 1, with->n,
                       (double)file->bytes / 1e6);
            cli_append_safe(&line, file->place, MIN(strlen(file->place), (size_t)40), false);
            cli_say(STDERR_FILENO, "%s", buf_str(&line));
        }
        status = with_put_one(with, file, c, session_id, e);
    }
    if (is_shown)
        cli_say(STDERR_FILENO, "\r\x1b[K");
    return status;
}

/* ---- what was missing ------------------------------------------------------------------------ */

static const char no_such_file[] = "o such file or directory";

/* The last text in quotes: [Errno 2] No such file or directory: 'data.csv'. */
static bool find_name(const char *message, size_t len, char out[PATH_MAX])
{
    if (memmem(message, len, no_such_file, strlen(no_such_file)) == NULL)
        return false;
    const char *end = memrchr(message, '\'', len);
    const char *begin =
        end != NULL && end > message ? memrchr(message, '\'', (size_t)(end - message)) : NULL;
    if (begin == NULL || end - begin < 2 || end - begin > PATH_MAX)
        return false;
    snprintf(out, PATH_MAX, "%.*s", (int)(end - begin - 1), begin + 1);
    return true;
}

/* Below the notebook's directory, as far as the name says. */
static const char *beside(const char *name)
{
    if (strncmp(name, "/workspace/", 11) == 0)
        name += 11;
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    bool climbs =
        strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 || strstr(name, "/../") != NULL;
    return name[0] == '/' || name[0] == '\0' || climbs ? NULL : name;
}

bool cli_with_advise(const struct cli_with *with, const char *notebook, const char *message,
                     size_t len)
{
    char name[PATH_MAX], path[2 * PATH_MAX], typed[2 * PATH_MAX];
    struct stat st;
    const char *place = find_name(message, len, name) ? beside(name) : NULL;
    if (place == NULL)
        return false;
    for (size_t i = 0; i < with->n; i++)
        if (strcmp(with->files[i].place, place) == 0)
            return false;
    snprintf(path, sizeof(path), "%s/%s", with->home, place);
    if (stat(path, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        return false;
    const char *slash = strrchr(notebook, '/');
    int dir_len = slash != NULL ? (int)(slash - notebook + 1) : 0;
    snprintf(typed, sizeof(typed), "%.*s%s", dir_len, notebook, place);
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_append_str(&text, "cella: ");
    cli_append_safe(&text, place, strlen(place), false);
    buf_append_str(&text,
                   " is beside the notebook, but not in its sandbox. Take it along: --with ");
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./,+=@%";
    bool is_plain = strspn(typed, plain) == strlen(typed);
    if (!is_plain)
        buf_append_char(&text, '\'');
    cli_append_safe(&text, typed, strlen(typed), false);
    if (!is_plain)
        buf_append_char(&text, '\'');
    cli_say(STDERR_FILENO, "%s\n", buf_str(&text));
    return true;
}
