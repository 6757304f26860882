/* Changing and running the cells of a notebook. Command line tool. */
#include "base/utf8.h"
#include "cli/cell.h"
#include "cli/document.h"
#include "cli/notebook.h"
#include "cli/terminal.h"

#include <errno.h>

/* ---- sources --------------------------------------------------------------------------------- */

/* What is given, or in a file, or on standard input. False: nothing is. */
static int notebook_cells_read_source(const struct cli_args *args, const char *given,
                                      struct buf *text, bool *ret_is_given, struct err *e)
{
    const char *file = cli_value(args, "file");
    *ret_is_given = true;
    if (given != NULL && file != NULL)
        return err_set(e, ERR_INVALID, "the source is given twice");
    if (given != NULL)
        buf_append_str(text, given);
    else if (file == NULL && isatty(STDIN_FILENO))
        *ret_is_given = false;
    else if (cli_document_read_bytes(file != NULL ? file : "-", text, e) < 0)
        return err_context(e, "%.200s", file != NULL ? file : "standard input");
    return cli_cell_check_code(buf_str(text), text->len, e);
}

static int notebook_cells_put_number(const struct cli_args *args, json_t *body, const char *flag,
                                     struct err *e)
{
    int64_t number;
    if (cli_number_flag(args, flag, INT64_MIN, &number, e) < 0)
        return -1;
    if (cli_has(args, flag))
        json_object_set_new(body, flag, json_integer(number));
    return 0;
}

static void put_source(json_t *body, const struct buf *text)
{
    json_object_set_new(body, "code", json_stringn_nocheck(buf_str(text), text->len));
}

static void put_kind(const struct cli_args *args, json_t *body)
{
    const char *kind = cli_value(args, "kind");
    if (kind != NULL)
        json_object_set_new(body, "kind", json_string(kind));
}

/* ---- running --------------------------------------------------------------------------------- */

static int notebook_cells_read_timeout(const struct cli_args *args, int64_t *ret_ms, struct err *e)
{
    const char *given = cli_value(args, "timeout");
    *ret_ms = 0;
    return given != NULL ? cli_parse_duration(given, ret_ms, e) : 0;
}

/* As `cella exec` does it: live, with its questions answered. */
static int notebook_cells_run_cell(const struct cli_args *args, struct cli_client *c,
                                   const char *id, const char *cell, struct err *e)
{
    char path[CLI_NOTEBOOK_PATH_SIZE];
    struct cli_show show;
    struct cli_asker asker = {.has_stdin = cli_value(args, "file") == NULL};
    struct cli_cell order = {.session_id = id, .path = path, .budget = -1, .yield_ms = -1};
    order.show = cli_has(args, "json") ? NULL : &show;
    order.asker = &asker;
    asker.show = order.show;
    if (cli_show_read(args, &show, e) < 0 ||
        cli_notebook_cell_path(id, cell, "/run", path, e) < 0 ||
        notebook_cells_read_timeout(args, &order.timeout_ms, e) < 0)
        return -1;
    _json_ json_t *answer = NULL;
    int status = cli_cell_run(c, &order, &answer, e);
    cli_asker_free(&asker);
    if (status < 0 && order.left_by != 0)
        return 128 + order.left_by;
    if (status < 0)
        return show.problem == -EPIPE ? CLI_EXIT_PIPE : -1;
    return cli_cell_finish(&order, answer);
}

static bool say_cell(void *context, const char *name, const char *data, size_t len)
{
    json_t **answer = context;
    struct err ignored;
    _json_ json_t *event = NULL;
    if (cli_api_read(data, len, &event, &ignored) < 0)
        return false;
    const char *state = cli_json_text(event, "status", NULL);
    const char *id = cli_json_text(event, "cell_id", NULL);
    if (strcmp(name, "result") == 0) {
        json_decref(*answer);
        *answer = take_ptr(event);
    } else if (strcmp(name, "cell") == 0) {
        cli_say(STDOUT_FILENO, "cell %lld  %.64s  %.16s\n",
                (long long)cli_json_int(event, "index", 0), id != NULL ? id : "?",
                state != NULL ? state : "?");
    }
    return true;
}

static int run_range(const struct cli_args *args, struct cli_client *c, const char *id,
                     struct err *e)
{
    char path[CLI_NOTEBOOK_PATH_SIZE];
    _json_ json_t *body = json_object(), *streamed = NULL, *plain = NULL;
    static const char *const ends[] = {"from", "to"};
    int64_t timeout_ms;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (cli_has(args, ends[i]))
            json_object_set_new(body, ends[i], json_string(cli_value(args, ends[i])));
    if (cli_has(args, "allow-errors"))
        json_object_set_new(body, "stop_on_error", json_false());
    if (notebook_cells_read_timeout(args, &timeout_ms, e) < 0)
        return -1;
    if (timeout_ms > 0)
        json_object_set_new(body, "timeout_ms", json_integer(timeout_ms));
    _free_ char *text = json_dumps(body, JSON_COMPACT);
    snprintf(path, sizeof(path), "/v1/notebooks/%s/run", id);
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = text,
        .body_len = strlen(text),
        .on_event = cli_has(args, "json") ? NULL : say_cell,
        .context = &streamed,
        /* No deadline: the daemon keeps the time of each cell. */
    };
    if (cli_api_call(c, &request, &plain, e) < 0)
        return -1;
    const json_t *answer = streamed != NULL ? streamed : plain;
    if (cli_has(args, "json") && !cli_print_json(answer))
        return CLI_EXIT_PIPE;
    const char *failed = cli_json_text(answer, "failed_cell_id", NULL);
    if (failed != NULL && !cli_has(args, "json"))
        cli_say(STDERR_FILENO,
                "cella: cell %.64s failed; look at it with: cella notebook show %.8s "
                "%.64s\n",
                failed, id, failed);
    return failed != NULL ? CLI_EXIT_FAILED : 0;
}

int cli_notebook_run_cells(const struct cli_args *args, struct cli_client *c,
                           const char *const *words, size_t n_words, struct err *e)
{
    char id[CLI_NOTEBOOK_ID_SIZE];
    if (cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    if (n_words == 1)
        return run_range(args, c, id, e);
    if (cli_has(args, "from") || cli_has(args, "to"))
        return err_set(e, ERR_INVALID, "name cells, or a range with --from and --to, not both");
    int status = 0, worst = 0;
    for (size_t i = 1; i < n_words && (worst == 0 || cli_has(args, "allow-errors")); i++) {
        status = notebook_cells_run_cell(args, c, id, words[i], e);
        if (status < 0)
            return -1;
        worst = worst == 0 ? status : worst;
    }
    return worst;
}

/* ---- changing -------------------------------------------------------------------------------- */

void cli_notebook_say_changed(const json_t *answer)
{
    const json_t *cell = json_object_get(answer, "cell");
    const char *id = cli_json_text(cell, "cell_id", NULL);
    int64_t revision = cli_json_int(cell, "revision", 0);
    cli_say(STDOUT_FILENO, "cell %lld  %.64s", (long long)cli_json_int(cell, "index", 0),
            id != NULL ? id : "?");
    if (revision > 1)
        cli_say(STDOUT_FILENO, "  revision %lld", (long long)revision);
    cli_say(STDOUT_FILENO, "\n");
}

/* Adds the cell, then runs it by its new id. */
static int notebook_cells_add_and_run(const struct cli_args *args, struct cli_client *c,
                                      const char *id, const char *path, json_t *body, struct err *e)
{
    _json_ json_t *answer = NULL;
    _free_ char *text = json_dumps(body, JSON_COMPACT);
    struct buf view = {.data = text, .len = strlen(text)};
    if (cli_api_post(c, path, &view, CLI_DEADLINE_SHORT_MS, &answer, e) < 0)
        return -1;
    const char *cell = cli_json_text(json_object_get(answer, "cell"), "cell_id", NULL);
    if (cell == NULL)
        return err_set(e, ERR_INTERNAL, "the daemon's answer makes no sense: a cell without an id");
    return notebook_cells_run_cell(args, c, id, cell, e);
}

int cli_notebook_add(const struct cli_args *args, struct cli_client *c, const char *const *words,
                     size_t n_words, struct err *e)
{
    char id[CLI_NOTEBOOK_ID_SIZE], path[CLI_NOTEBOOK_PATH_SIZE];
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    _json_ json_t *body = json_object();
    bool is_given;
    if (notebook_cells_read_source(args, n_words > 1 ? words[1] : NULL, &text, &is_given, e) < 0 ||
        notebook_cells_put_number(args, body, "at", e) < 0 ||
        cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    if (!is_given) {
        err_set(e, ERR_INVALID, "there is no source for the cell");
        return err_advise(e, "give it as an argument, with -f FILE, or on standard input");
    }
    put_source(body, &text);
    put_kind(args, body);
    snprintf(path, sizeof(path), "/v1/notebooks/%s/cells", id);
    if (cli_has(args, "run"))
        return notebook_cells_add_and_run(args, c, id, path, body, e);
    return cli_notebook_send(args, c, "POST", path, body, cli_notebook_say_changed, e);
}

int cli_notebook_edit(const struct cli_args *args, struct cli_client *c, const char *const *words,
                      size_t n_words, struct err *e)
{
    char id[CLI_NOTEBOOK_ID_SIZE], path[CLI_NOTEBOOK_PATH_SIZE];
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    _json_ json_t *body = json_object();
    bool is_given = false,
         is_kind_alone = n_words == 2 && cli_has(args, "kind") && cli_value(args, "file") == NULL;
    if (!is_kind_alone &&
        notebook_cells_read_source(args, n_words > 2 ? words[2] : NULL, &text, &is_given, e) < 0)
        return -1;
    if (!is_given && !is_kind_alone) {
        err_set(e, ERR_INVALID, "there is nothing to change");
        return err_advise(e, "give the new source as an argument, with -f FILE, or on standard "
                             "input; or --kind");
    }
    if (is_given)
        put_source(body, &text);
    put_kind(args, body);
    if (notebook_cells_put_number(args, body, "revision", e) < 0 ||
        cli_notebook_find(c, words[0], id, e) < 0 ||
        cli_notebook_cell_path(id, words[1], "", path, e) < 0)
        return -1;
    return cli_notebook_send(args, c, "PATCH", path, body, cli_notebook_say_changed, e);
}

int cli_notebook_clear(const struct cli_args *args, struct cli_client *c, const char *const *words,
                       size_t n_words, struct err *e)
{
    char id[CLI_NOTEBOOK_ID_SIZE], path[CLI_NOTEBOOK_PATH_SIZE];
    bool has_cells = cli_has(args, "cells");
    if (n_words > 1 && has_cells)
        return err_set(e, ERR_INVALID, "--cells is about all cells: remove one with 'rm'");
    if (cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    if (n_words > 1) {
        if (cli_notebook_cell_path(id, words[1], "/clear", path, e) < 0)
            return -1;
        return cli_notebook_send(args, c, "POST", path, NULL, NULL, e);
    }
    _json_ json_t *body = json_pack("{s:s}", "what", has_cells ? "cells" : "outputs");
    snprintf(path, sizeof(path), "/v1/notebooks/%s/clear", id);
    return cli_notebook_send(args, c, "POST", path, body, NULL, e);
}
