/* Notebooks read from files and written to them. Command line tool; files are replaced as a
 * whole. */
#include "cli/document.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <strings.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    enum notebook_format format;
    bool is_read;
} document_formats[] = {
    {"ipynb", NOTEBOOK_IPYNB, true},           {"html", NOTEBOOK_HTML, false},
    {"markdown", NOTEBOOK_MARKDOWN, false},    {"script", NOTEBOOK_SCRIPT, true},
    {"cells-json", NOTEBOOK_CELLS_JSON, true},
};

static const struct {
    const char *suffix;
    enum notebook_format format;
    const char *runtime; /* of a script */
} suffixes[] = {
    {".ipynb", NOTEBOOK_IPYNB, NULL},       {".html", NOTEBOOK_HTML, NULL},
    {".htm", NOTEBOOK_HTML, NULL},          {".md", NOTEBOOK_MARKDOWN, NULL},
    {".markdown", NOTEBOOK_MARKDOWN, NULL}, {".py", NOTEBOOK_SCRIPT, "python"},
    {".js", NOTEBOOK_SCRIPT, "node"},       {".mjs", NOTEBOOK_SCRIPT, "node"},
    {".cjs", NOTEBOOK_SCRIPT, "node"},      {".sh", NOTEBOOK_SCRIPT, "bash"},
    {".bash", NOTEBOOK_SCRIPT, "bash"},     {".json", NOTEBOOK_CELLS_JSON, NULL},
};

int cli_format_find(const char *name, bool is_read, enum notebook_format *ret, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(document_formats); i++)
        if (strcmp(document_formats[i].name, name) == 0 &&
            (document_formats[i].is_read || !is_read)) {
            *ret = document_formats[i].format;
            return 0;
        }
    err_set(e, ERR_INVALID, "'%.64s' is no format that can be %s", name,
            is_read ? "read" : "written");
    return err_advise(e, is_read ? "ipynb, cells-json or script"
                                 : "ipynb, html, markdown, script or cells-json");
}

const char *cli_format_name(enum notebook_format format)
{
    for (size_t i = 0; i < ARRAY_LEN(document_formats); i++)
        if (document_formats[i].format == format)
            return document_formats[i].name;
    return "";
}

bool cli_format_of_file(const char *path, enum notebook_format *ret, const char **ret_runtime)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name != NULL ? name : path, '.');
    for (size_t i = 0; dot != NULL && i < ARRAY_LEN(suffixes); i++)
        if (strcasecmp(suffixes[i].suffix, dot) == 0) {
            *ret = suffixes[i].format;
            *ret_runtime = suffixes[i].runtime;
            return true;
        }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_stdin(struct buf *text)
{
    for (;;) {
        if (!buf_reserve(text, 64 * KIB))
            return -EFBIG;
        ssize_t n = read(STDIN_FILENO, text->data + text->len, 64 * KIB);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        text->len += (size_t)n;
    }
}

int cli_document_read_bytes(const char *path, struct buf *text, struct err *e)
{
    int r;
    if (strcmp(path, "-") == 0) {
        r = read_stdin(text);
    } else {
        r = fd_read_file(AT_FDCWD, path, NOTEBOOK_BYTES_MAX, &text->data, &text->len);
        text->cap = r == 0 ? text->len + 1 : 0;
    }
    if (r == 0)
        return 0;
    if (r == -EFBIG) {
        err_set(e, ERR_TOO_LARGE, "it is larger than %zu MB", NOTEBOOK_BYTES_MAX / MIB);
        return err_advise(e, "clear the outputs of its largest cells and save it again");
    }
    return err_errno(e, r == -ENOENT ? ERR_NOT_FOUND : ERR_INVALID, -r, "it cannot be read");
}

int cli_document_read(const struct cli_document_source *source, struct document **ret,
                      struct err *e)
{
    enum notebook_format by_name = NOTEBOOK_IPYNB;
    const char *runtime = NULL;
    bool is_script = cli_format_of_file(source->path, &by_name, &runtime) && runtime != NULL;
    if (source->has_format)
        is_script = source->format == NOTEBOOK_SCRIPT;
    if (runtime == NULL)
        runtime = source->runtime != NULL ? source->runtime : "python";
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (cli_document_read_bytes(source->path, &text, e) < 0)
        return -1;
    if (is_script)
        return notebook_read_script(buf_str(&text), text.len, runtime, ret, e);
    if (!source->has_format)
        return notebook_read(buf_str(&text), text.len, ret, e);
    if (source->format == NOTEBOOK_IPYNB)
        return notebook_read_ipynb(buf_str(&text), text.len, ret, e);
    return notebook_read_cells_json(buf_str(&text), text.len, ret, e);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Beside the file and then in its place, so that nobody ever sees half of it. */
static int document_replace_file(const char *path, mode_t mode, const struct buf *text)
{
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof(temporary), "%s.%ld~", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return -ENAMETOOLONG;
    _fd_ int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, buf_str(text), text->len);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(temporary);
    return r;
}

/* What is no plain file (/dev/null, a pipe) is written to and stays what it is. */
int cli_document_write(const char *path, const struct buf *text)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return fd_write_all(STDOUT_FILENO, buf_str(text), text->len);
    if (stat(path, &st) < 0)
        return document_replace_file(path, 0666, text);
    if (!S_ISREG(st.st_mode)) {
        _fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_write_all(fd, buf_str(text), text->len);
    }
    _free_ char *real = realpath(path, NULL);
    return real == NULL ? -errno : document_replace_file(real, st.st_mode & 0777, text);
}
