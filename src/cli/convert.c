#include "base/fd.h"
#include "cli/args.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "notebook/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <strings.h>
#include <sys/stat.h>

static const struct cli_flag flags[] = {
    {"output", 'o', "FILE", "where to write; - (the default) is standard output"},
    {"to", 't', "FORMAT", "ipynb, html, markdown, script, cells-json; else by the suffix of -o"},
    {"from", 'f', "FORMAT", "ipynb, cells-json; else by what the file holds"},
    {0},
};

static const struct {
    const char *name;
    enum notebook_format format;
    bool is_read;
} formats[] = {
    {"ipynb", NOTEBOOK_IPYNB, true},           {"html", NOTEBOOK_HTML, false},
    {"markdown", NOTEBOOK_MARKDOWN, false},    {"script", NOTEBOOK_SCRIPT, false},
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

struct order {
    const char *in, *out; /* "-": a standard stream */
    enum notebook_format to;
    bool has_from;
    enum notebook_format from;
    const char *runtime; /* that the suffix of a script promises; NULL: none */
};

/* ---- what is asked for -------------------------------------------------------------------------
 */

static int find_format(const char *name, bool is_read, enum notebook_format *ret, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strcmp(formats[i].name, name) == 0 && (formats[i].is_read || !is_read)) {
            *ret = formats[i].format;
            return 0;
        }
    err_set(e, ERR_INVALID, "'%.64s' is no format that can be %s", name,
            is_read ? "read" : "written");
    return err_advise(e, is_read ? "ipynb or cells-json"
                                 : "ipynb, html, markdown, script or cells-json");
}

static const char *format_name(enum notebook_format format)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (formats[i].format == format)
            return formats[i].name;
    return "";
}

/* Its place in suffixes, or -1. */
static int find_suffix(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name != NULL ? name : path, '.');
    for (size_t i = 0; dot != NULL && i < ARRAY_LEN(suffixes); i++)
        if (strcasecmp(suffixes[i].suffix, dot) == 0)
            return (int)i;
    return -1;
}

static int find_target(const struct cli_args *args, struct order *o, struct err *e)
{
    const char *to = cli_value(args, "to");
    int suffix = find_suffix(o->out);
    if (suffix >= 0)
        o->runtime = suffixes[suffix].runtime;
    if (to != NULL)
        return find_format(to, false, &o->to, e);
    if (suffix >= 0) {
        o->to = suffixes[suffix].format;
        return 0;
    }
    err_set(e, ERR_INVALID, "the name of the output does not say its format");
    return err_advise(e, "give it a suffix (-o out.html), or say --to html");
}

static int read_order(const struct cli_args *args, struct order *o, struct err *e)
{
    const char *out = cli_value(args, "output"), *from = cli_value(args, "from");
    if (args->n_words != 1) {
        err_set(e, ERR_INVALID, "name one notebook");
        return err_advise(e, "cella convert analysis.ipynb -o analysis.html");
    }
    *o = (struct order){.in = args->words[0], .out = out != NULL ? out : "-"};
    o->has_from = from != NULL;
    if (from != NULL && find_format(from, true, &o->from, e) < 0)
        return -1;
    if (strcmp(o->out, "-") == 0 && cli_has(args, "json")) {
        err_set(e, ERR_INVALID, "--json and the notebook cannot both go to standard output");
        return err_advise(e, "name a file: -o FILE");
    }
    return find_target(args, o, e);
}

/* ---- files -------------------------------------------------------------------------------------
 */

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

static int read_input(const char *path, struct buf *text, struct err *e)
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

/* Beside the file and then in its place, so that nobody ever sees half of it. */
static int replace_file(const char *path, mode_t mode, const struct buf *text)
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

/* What is no plain file (/dev/null, a pipe) is written to and stays what it is; a link stays one.
 */
static int write_output(const char *path, const struct buf *text)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return fd_write_all(STDOUT_FILENO, buf_str(text), text->len);
    if (stat(path, &st) < 0)
        return replace_file(path, 0666, text);
    if (!S_ISREG(st.st_mode)) {
        _fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd_write_all(fd, buf_str(text), text->len);
    }
    _free_ char *real = realpath(path, NULL);
    return real == NULL ? -errno : replace_file(real, st.st_mode & 0777, text);
}

/* ---- converting --------------------------------------------------------------------------------
 */

static int read_document(const struct order *o, struct document **ret, struct err *e)
{
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (read_input(o->in, &text, e) < 0)
        return -1;
    if (!o->has_from)
        return notebook_read(buf_str(&text), text.len, ret, e);
    if (o->from == NOTEBOOK_IPYNB)
        return notebook_read_ipynb(buf_str(&text), text.len, ret, e);
    return notebook_read_cells_json(buf_str(&text), text.len, ret, e);
}

static int check_language(const struct order *o, const struct document *doc, struct err *e)
{
    if (o->to != NOTEBOOK_SCRIPT || o->runtime == NULL || strcmp(o->runtime, doc->runtime) == 0)
        return 0;
    err_set(e, ERR_INVALID, "the notebook's language is %.64s", notebook_language_name(doc));
    return err_advise(e, "name the script with %s", notebook_language(doc)->suffix);
}

static void append_name(struct buf *text, const char *path)
{
    cli_append_safe(text, path, strlen(path), false);
}

static void report(const struct order *o, const struct document *doc, size_t bytes)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    append_name(&text, o->out);
    buf_printf(&text, ": %s, %zu cells, %zu outputs, ", format_name(o->to), doc->n_cells,
               notebook_count_outputs(doc));
    cli_describe_size(&text, bytes);
    buf_append_char(&text, '\n');
    cli_say(STDOUT_FILENO, "%s", buf_str(&text));
}

static bool report_json(const struct order *o, const struct document *doc, size_t bytes)
{
    _json_ json_t *answer = json_object();
    json_object_set_new(answer, "input", json_string(o->in));
    json_object_set_new(answer, "output", json_string(o->out));
    json_object_set_new(answer, "format", json_string(format_name(o->to)));
    json_object_set_new(answer, "language", json_string(notebook_language_name(doc)));
    json_object_set_new(answer, "cells", json_integer((json_int_t)doc->n_cells));
    json_object_set_new(answer, "code_cells",
                        json_integer((json_int_t)notebook_count(doc, CELL_CODE)));
    json_object_set_new(answer, "outputs", json_integer((json_int_t)notebook_count_outputs(doc)));
    json_object_set_new(answer, "renamed_ids", json_integer((json_int_t)doc->n_renamed));
    json_object_set_new(answer, "bytes", json_integer((json_int_t)bytes));
    return cli_print_json(answer);
}

static int convert(const struct order *o, bool is_json, struct err *e)
{
    _document_ struct document *doc = NULL;
    _buf_ struct buf text = BUF_INIT(2 * NOTEBOOK_BYTES_MAX);
    if (read_document(o, &doc, e) < 0 || check_language(o, doc, e) < 0 ||
        notebook_write(doc, o->to, &text, e) < 0)
        return err_context(e, "%.200s", o->in);
    int r = write_output(o->out, &text);
    if (r == -EPIPE)
        return CLI_EXIT_PIPE;
    if (r < 0)
        return err_errno(e, ERR_INVALID, -r, "%.200s cannot be written", o->out);
    if (strcmp(o->out, "-") == 0)
        return 0;
    if (is_json)
        return report_json(o, doc, text.len) ? 0 : CLI_EXIT_PIPE;
    report(o, doc, text.len);
    return 0;
}

static int run(const struct cli_args *args, struct err *e)
{
    struct order order;
    if (read_order(args, &order, e) < 0)
        return -1;
    return convert(&order, cli_has(args, "json"), e);
}

const struct cli_verb cli_convert_verb = {
    .name = "convert",
    .summary = "convert a notebook: ipynb, HTML, Markdown, script, cells.json",
    .usage = "[OPTION...] IN -o OUT",
    .about = "Reads a notebook of Jupyter (format 4) or a cells.json and writes it in another\n"
             "format, without running it; - is standard input or output. HTML is one page that\n"
             "needs nothing else and runs no scripts; a script has its cells marked by comments.",
    .flags = flags,
    .examples = "cella convert analysis.ipynb -o analysis.html\n"
                "cella convert mcp_repl/cells.json -o analysis.ipynb\n"
                "cella convert analysis.ipynb -o analysis.py\n"
                "cat analysis.ipynb | cella convert - --to markdown | less",
    .run = run,
};
