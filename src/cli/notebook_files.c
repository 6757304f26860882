/* Notebooks made, brought in and out, watched and removed. Command line tool. */
#include "base/clock.h"
#include "cli/cell.h"
#include "cli/document.h"
#include "cli/notebook.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <errno.h>

enum { LARGE_DEADLINE_MS = 300000 };

/* ---- files ----------------------------------------------------------------------------------- */

static int find_format(const struct cli_args *args, const char *out, enum notebook_format *ret,
                       struct err *e)
{
    const char *given = cli_value(args, "format"), *runtime;
    *ret = NOTEBOOK_IPYNB;
    if (given != NULL)
        return cli_format_find(given, false, ret, e);
    if (strcmp(out, "-") == 0 || cli_format_of_file(out, ret, &runtime))
        return 0;
    err_set(e, ERR_INVALID, "the name of the output does not say its format");
    return err_advise(e, "give it a suffix (-o out.html), or say --format html");
}

int cli_notebook_export(const struct cli_args *args, struct cli_client *c, const char *const *words,
                        size_t n_words, struct err *e)
{
    (void)n_words;
    const char *out = cli_value(args, "output");
    char id[CLI_NOTEBOOK_ID_SIZE], path[CLI_NOTEBOOK_PATH_SIZE];
    enum notebook_format format;
    out = out != NULL ? out : "-";
    if (strcmp(out, "-") == 0 && cli_has(args, "json")) {
        err_set(e, ERR_INVALID, "--json and the notebook cannot both go to standard output");
        return err_advise(e, "name a file: -o FILE");
    }
    if (find_format(args, out, &format, e) < 0 || cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    snprintf(path, sizeof(path), "/v1/notebooks/%s/export?format=%s", id, cli_format_name(format));
    struct cli_request request = {
        .method = "GET", .path = path, .deadline_ms = clock_mono_ms() + LARGE_DEADLINE_MS};
    _buf_ struct buf text = BUF_INIT(0);
    if (cli_api_fetch(c, &request, &text, e) < 0)
        return -1;
    int status = cli_document_write(out, &text);
    if (status == -EPIPE)
        return CLI_EXIT_PIPE;
    if (status < 0)
        return err_errno(e, ERR_UNAVAILABLE, -status, "%.200s cannot be written", out);
    if (!cli_has(args, "json")) {
        if (strcmp(out, "-") != 0) {
            /* "out.html: html, 23.1 KB" */
            _buf_ struct buf line = BUF_INIT(64 * KIB);
            cli_append_safe(&line, out, strlen(out), false);
            buf_printf(&line, ": %s, ", cli_format_name(format));
            cli_describe_size(&line, text.len);
            cli_say(STDOUT_FILENO, "%s\n", buf_str(&line));
        }
        return 0;
    }
    _json_ json_t *answer =
        json_pack("{s:s, s:s, s:s, s:I}", "notebook_id", id, "output", out, "format",
                  cli_format_name(format), "bytes", (json_int_t)text.len);
    return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
}

/* A script is made a notebook here: the daemon reads notebooks. */
static int read_import(const struct cli_args *args, const char *path, json_t *body, struct err *e)
{
    const char *given = cli_value(args, "format"), *runtime = NULL;
    enum notebook_format format = NOTEBOOK_IPYNB;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    bool is_script = cli_format_of_file(path, &format, &runtime) && runtime != NULL;
    if (given != NULL && cli_format_find(given, true, &format, e) < 0)
        return -1;
    if (given != NULL)
        is_script = format == NOTEBOOK_SCRIPT;
    if (is_script) {
        _document_ struct document *doc = NULL;
        struct cli_document_source source = {.path = path,
                                             .has_format = true,
                                             .format = NOTEBOOK_SCRIPT,
                                             .runtime = cli_value(args, "runtime")};
        if (cli_document_read(&source, &doc, e) < 0)
            return err_context(e, "%.200s", path);
        notebook_write_ipynb(doc, &text);
    } else if (cli_document_read_bytes(path, &text, e) < 0) {
        return err_context(e, "%.200s", path);
    }
    if (given != NULL && !is_script)
        json_object_set_new(body, "format", json_string(given));
    json_t *content = json_stringn(buf_str(&text), text.len);
    if (content == NULL)
        return err_set(e, ERR_INVALID, "%.200s is not UTF-8", path);
    json_object_set_new(body, "content", content);
    return 0;
}

int cli_notebook_import(const struct cli_args *args, struct cli_client *c, const char *const *words,
                        size_t n_words, struct err *e)
{
    (void)n_words;
    _json_ json_t *body = json_object(), *answer = NULL;
    static const char *const names[] = {"title", "runtime", "profile"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (cli_has(args, names[i]))
            json_object_set_new(body, names[i], json_string(cli_value(args, names[i])));
    if (read_import(args, words[0], body, e) < 0)
        return -1;
    _free_ char *text = json_dumps(body, JSON_COMPACT);
    struct buf view = {.data = text, .len = strlen(text)};
    if (cli_api_post(c, "/v1/notebooks/import", &view, LARGE_DEADLINE_MS, &answer, e) < 0)
        return err_context(e, "%.200s", words[0]);
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    const char *id = cli_json_text(answer, "notebook_id", NULL);
    cli_say(STDOUT_FILENO, "notebook %.64s\n", id != NULL ? id : "?");
    return 0;
}

/* ---- watching -------------------------------------------------------------------------------- */

struct watch {
    bool is_json;
    bool is_over;    /* the notebook is gone, or nobody reads what we write */
    bool is_stopped; /* by Ctrl-C */
};

static void append_cell_news(struct buf *line, const json_t *cell)
{
    size_t len = 0;
    const char *id = cli_json_text(cell, "cell_id", NULL),
               *state = cli_json_text(cell, "status", NULL);
    const char *source = cli_json_text(cell, "code", &len);
    buf_printf(line, "  %lld  %.64s  %.16s", (long long)cli_json_int(cell, "index", 0),
               id != NULL ? id : "?", state != NULL ? state : "");
    if (source != NULL) {
        buf_append_str(line, "  ");
        cli_notebook_append_title(line, source, len);
    }
}

static void append_output_news(struct buf *line, const json_t *event)
{
    size_t len = 0;
    const char *id = cli_json_text(event, "cell_id", NULL);
    const char *text = cli_json_text(event, "text", &len);
    const json_t *output = json_object_get(event, "output");
    const char *ref = cli_json_text(output, "ref", NULL);
    _buf_ struct buf shown = BUF_INIT(64 * MIB);
    buf_printf(line, "  %.64s  ", id != NULL ? id : "?");
    if (ref != NULL)
        buf_append_str(&shown, ref);
    else if (output != NULL)
        cli_describe_output(&shown, output);
    else if (text != NULL)
        buf_append(&shown, text, len);
    cli_notebook_append_title(line, buf_str(&shown), shown.len);
}

static bool notebook_files_take_event(void *context, const char *name, const char *data, size_t len)
{
    struct watch *watch = context;
    struct err ignored;
    _json_ json_t *event = NULL;
    if (cli_api_read(data, len, &event, &ignored) < 0)
        return true;
    bool is_written;
    if (watch->is_json) {
        json_object_set_new(event, "event", json_string(name));
        is_written = cli_print_json(event);
    } else {
        const json_t *cell = json_object_get(event, "cell");
        const char *id = cli_json_text(event, "cell_id", NULL);
        _buf_ struct buf line = BUF_INIT(64 * KIB);
        cli_append_safe(&line, name, strlen(name), false);
        if (cell != NULL)
            append_cell_news(&line, cell);
        else if (strcmp(name, "output") == 0)
            append_output_news(&line, event);
        else if (id != NULL)
            buf_printf(&line, "  %.64s", id);
        if (strcmp(name, "cell_moved") == 0)
            buf_printf(&line, "  to %lld", (long long)cli_json_int(event, "index", 0));
        if (strcmp(name, "lagged") == 0)
            buf_printf(&line, "  %lld events were lost",
                       (long long)cli_json_int(event, "dropped", 0));
        buf_append_char(&line, '\n');
        is_written = cli_write(STDOUT_FILENO, buf_str(&line), line.len, &(size_t){0}) == 0;
    }
    watch->is_over = !is_written || strcmp(name, "deleted") == 0;
    return !watch->is_over;
}

static bool notebook_files_take_signal(void *context, int signo)
{
    (void)signo;
    struct watch *watch = context;
    watch->is_stopped = true;
    return false;
}

int cli_notebook_watch(const struct cli_args *args, struct cli_client *c, const char *const *words,
                       size_t n_words, struct err *e)
{
    (void)n_words;
    char id[CLI_NOTEBOOK_ID_SIZE], path[CLI_NOTEBOOK_PATH_SIZE];
    struct watch watch = {.is_json = cli_has(args, "json")};
    if (cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    snprintf(path, sizeof(path), "/v1/notebooks/%s/events", id);
    struct cli_request request = {
        .method = "GET",
        .path = path,
        .on_event = notebook_files_take_event,
        .on_signal = notebook_files_take_signal,
        .context = &watch,
    };
    _json_ json_t *answer = NULL;
    int status = cli_api_call(c, &request, &answer, e);
    return watch.is_over || watch.is_stopped ? 0 : status;
}
