/* Notebooks as text: a table of them, and the cells of one as people know them. Command line
 * tool. */
#include "base/fd.h"
#include "cli/notebook.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "notebook/text.h"

enum { NOTEBOOK_SHOW_PAGE = 1000, TEXT_MAX = 256 << 20, COLUMN_MAX = 40 };

/* ---- the table ------------------------------------------------------------------------------- */

static void notebook_show_append_text(struct buf *line, const json_t *object, const char *name,
                                      int width)
{
    size_t len = 0;
    const char *text = cli_json_text(object, name, &len);
    _buf_ struct buf safe = BUF_INIT(KIB);
    if (text != NULL)
        cli_append_safe(&safe, text, MIN(len, (size_t)COLUMN_MAX), false);
    buf_printf(line, " %-*s", width, safe.len > 0 ? buf_str(&safe) : "-");
}

/* ---- a cell ---------------------------------------------------------------------------------- */

/* Lines behind a margin, the first of them behind the prompt. */
static void append_block(struct buf *out, const char *prompt, const char *text, size_t len)
{
    _buf_ struct buf settled = BUF_INIT(TEXT_MAX), safe = BUF_INIT(TEXT_MAX);
    text_append_settled(&settled, text, len);
    while (settled.len > 0 && settled.data[settled.len - 1] == '\n')
        settled.len--;
    cli_append_safe(&safe, buf_str(&settled), settled.len, true);
    int margin = (int)strlen(prompt);
    const char *at = buf_str(&safe), *end = at + safe.len;
    do {
        const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        const char *line_end = newline != NULL ? newline : end;
        if (at == line_end && prompt[0] == '\0')
            buf_append_char(out, '\n');
        else
            buf_printf(out, "%-*s%.*s\n", margin, prompt, (int)(line_end - at), at);
        prompt = "";
        at = line_end + 1;
    } while (at < end);
}

static void notebook_show_append_error(struct buf *out, const json_t *output)
{
    size_t len = 0, name_len = 0, message_len = 0;
    const char *trace = cli_json_text(output, "traceback", &len);
    const char *name = cli_json_text(output, "name", &name_len);
    const char *message = cli_json_text(output, "message", &message_len);
    if (len > 0) {
        append_block(out, "    ", trace, len);
        return;
    }
    _buf_ struct buf text = BUF_INIT(TEXT_MAX);
    buf_append(&text, name != NULL ? name : "Error", name != NULL ? name_len : 5);
    buf_append_str(&text, ": ");
    buf_append(&text, message != NULL ? message : "", message_len);
    append_block(out, "    ", buf_str(&text), text.len);
}

static void notebook_show_append_output(struct buf *out, const json_t *output, int64_t count)
{
    char prompt[48] = "    ";
    _buf_ struct buf text = BUF_INIT(TEXT_MAX);
    if (cli_json_is(output, "type", "error")) {
        notebook_show_append_error(out, output);
        return;
    }
    if (json_is_true(json_object_get(output, "value")))
        snprintf(prompt, sizeof(prompt), "Out[%lld]: ", (long long)count);
    if (cli_json_text(output, "ref", NULL) != NULL) {
        /* "[image png 640x480, 23.4 KB: notebook://...]" */
        int64_t width = cli_json_int(output, "width", 0),
                height = cli_json_int(output, "height", 0);
        size_t len = 0;
        const char *ref = cli_json_text(output, "ref", &len);
        const char *format = cli_json_text(output, "format", NULL);
        buf_printf(&text, "[image %.16s", format != NULL ? format : "");
        if (width > 0 && height > 0)
            buf_printf(&text, " %lldx%lld", (long long)width, (long long)height);
        buf_append_str(&text, ", ");
        cli_describe_size(&text, (uint64_t)MAX(cli_json_int(output, "bytes", 0), (int64_t)0));
        buf_append_str(&text, ": ");
        buf_append(&text, ref, len);
        buf_append_char(&text, ']');
    } else
        cli_describe_output(&text, output);
    append_block(out, prompt, buf_str(&text), text.len);
    int64_t omitted = cli_json_int(output, "omitted", 0);
    if (omitted > 0)
        buf_printf(out, "    [%lld bytes were left out]\n", (long long)omitted);
}

static void append_cell(struct buf *out, const json_t *cell)
{
    int64_t count = cli_json_int(cell, "number", cli_json_int(cell, "execution_count", 0));
    size_t len = 0, i;
    const char *source = cli_json_text(cell, "code", &len);
    const char *kind = cli_json_text(cell, "kind", NULL);
    bool is_code = cli_json_is(cell, "kind", "code");
    char prompt[48] = "";
    if (is_code)
        snprintf(prompt, sizeof(prompt), count > 0 ? "In [%lld]: " : "In [ ]: ", (long long)count);
    const char *id = cli_json_text(cell, "cell_id", NULL),
               *state = cli_json_text(cell, "status", NULL);
    double ms = cli_json_number(cell, "duration_ms", -1);
    buf_printf(out, "-- %lld  %.64s", (long long)cli_json_int(cell, "index", 0),
               id != NULL ? id : "?");
    buf_printf(out, "  %.16s", is_code ? state != NULL ? state : "?" : kind != NULL ? kind : "?");
    if (is_code && ms >= 0)
        buf_printf(out, ms < 1000 ? "  %.1f ms" : "  %.0f ms", ms);
    if (json_is_true(json_object_get(cell, "undone")))
        buf_append_str(out, "  undone");
    buf_append_char(out, '\n');
    append_block(out, prompt, source != NULL ? source : "", len);
    const json_t *outputs = json_object_get(cell, "outputs"), *output;
    json_array_foreach(outputs, i, output) {
        notebook_show_append_output(out, output, count);
    }
    buf_append_char(out, '\n');
}

/* ---- the notebook ---------------------------------------------------------------------------- */

/* Page by page: each is drawn when it is there. */
static int show_pages(struct cli_client *c, const char *id, bool is_json, struct err *e)
{
    _json_ json_t *whole = NULL;
    size_t seen = 0, n_page = 0;
    do {
        char path[CLI_NOTEBOOK_PATH_SIZE];
        _json_ json_t *answer = NULL;
        snprintf(path, sizeof(path), "/v1/notebooks/%s?outputs=true&offset=%zu&limit=%d", id, seen,
                 NOTEBOOK_SHOW_PAGE);
        if (cli_api_get(c, "GET", path, &answer, e) < 0)
            return -1;
        const json_t *cells = json_object_get(answer, "cells");
        n_page = json_array_size(cells);
        _buf_ struct buf text = BUF_INIT(TEXT_MAX);
        if (seen == 0 && !is_json) {
            const char *given = cli_json_text(answer, "notebook_id", NULL);
            buf_printf(&text, "%.64s", given != NULL ? given : "?");
            notebook_show_append_text(&text, answer, "title", 0);
            notebook_show_append_text(&text, answer, "runtime", 0);
            int64_t n = cli_json_int(answer, "cell_count", 0);
            buf_printf(&text, " %lld cell%s, session:", (long long)n, n == 1 ? "" : "s");
            notebook_show_append_text(&text, answer, "state", 0);
            buf_append_str(&text, "\n\n");
        }
        for (size_t i = 0; i < n_page && !is_json; i++)
            append_cell(&text, json_array_get(cells, i));
        seen += n_page;
        if (whole == NULL)
            whole = take_ptr(answer);
        else if (is_json)
            json_array_extend(json_object_get(whole, "cells"), (json_t *)(uintptr_t)cells);
        if (fd_write_all(STDOUT_FILENO, buf_str(&text), text.len) < 0)
            return CLI_EXIT_PIPE;
    } while (n_page > 0 && (int64_t)seen < cli_json_int(whole, "count", 0));
    return !is_json || cli_print_json(whole) ? 0 : CLI_EXIT_PIPE;
}

int cli_notebook_show(const struct cli_args *args, struct cli_client *c, const char *const *words,
                      size_t n_words, struct err *e)
{
    char id[CLI_NOTEBOOK_ID_SIZE];
    if (cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    if (n_words > 1) {
        char path[CLI_NOTEBOOK_PATH_SIZE];
        _json_ json_t *answer = NULL;
        if (cli_notebook_cell_path(id, words[1], "?outputs=true", path, e) < 0 ||
            cli_api_get(c, "GET", path, &answer, e) < 0)
            return -1;
        if (cli_has(args, "json"))
            return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
        const json_t *cell = json_object_get(answer, "cell");
        _buf_ struct buf text = BUF_INIT(TEXT_MAX);
        append_cell(&text, cell != NULL ? cell : answer);
        return fd_write_all(STDOUT_FILENO, buf_str(&text), text.len) == 0 ? 0 : CLI_EXIT_PIPE;
    }
    int status = show_pages(c, id, cli_has(args, "json"), e);
    if (status != 0 || cli_has(args, "json"))
        return status;
    _buf_ struct buf last = BUF_INIT(TEXT_MAX);
    cli_notebook_append_lost(c, id, &last);
    return fd_write_all(STDOUT_FILENO, buf_str(&last), last.len) == 0 ? 0 : CLI_EXIT_PIPE;
}
