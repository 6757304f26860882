/* `cella notebook`: the notebooks that sessions write: show, change, run, export. Command line
 * tool. */
#include "cli/notebook.h"

#include "base/clock.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <ctype.h>

enum { PAGE = 1000, NOTEBOOKS_MAX = 100000, BODY_MAX = 8 << 20, TITLE_MAX = 60 };

static const struct cli_flag flags[] = {
    {"title", 0, "TEXT", "import: what to call it"},
    {"runtime", 'r', "NAME", "import: its language: python, node or bash"},
    {"profile", 'p', "NAME", "import: its libraries, for Python: 'min' or 'data'"},
    {"file", 'f', "FILE", "add, edit: the source is in this file ('-' is standard input)"},
    {"kind", 'k', "KIND", "add, edit: code, markdown or raw"},
    {"at", 0, "NUMBER", "add: the number that it is to have; else it comes last"},
    {"run", 0, NULL, "add: run it at once"},
    {"revision", 0, "NUMBER", "edit: only if the cell has this revision"},
    {"from", 0, "CELL", "run: from this cell on"},
    {"to", 0, "CELL", "run: up to this cell"},
    {"allow-errors", 0, NULL, "run: go on after a cell that fails"},
    {"timeout", 't', "DURATION", "run, add: stop a cell after this time (30s)"},
    {"cells", 0, NULL, "clear: the cells, not only their outputs"},
    {"output", 'o', "FILE", "export: where to write; - (the default) is standard output"},
    {"format", 0, "FORMAT", "export, import: ipynb, html, markdown, script, cells-json"},
    {"save-images", 0, "DIR", "run, add: write images there instead of only noting them"},
    {0},
};

static const struct cli_notebook_command commands[] = {
    {"show", "ID [CELL]", 1, 2, cli_notebook_show},
    {"add", "ID [SOURCE]", 1, 2, cli_notebook_add},
    {"run", "ID [CELL...]", 1, 1000, cli_notebook_run_cells},
    {"edit", "ID CELL [SOURCE]", 2, 3, cli_notebook_edit},
    {"clear", "ID [CELL]", 1, 2, cli_notebook_clear},
    {"export", "ID -o FILE", 1, 1, cli_notebook_export},
    {"import", "FILE", 1, 1, cli_notebook_import},
    {"watch", "ID", 1, 1, cli_notebook_watch},
};

/* ---- what they share ---------------------------------------------------------------------------
 */

static bool notebook_is_word(const char *text, size_t max)
{
    size_t len = strlen(text);
    if (len == 0 || len > max)
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '-' && *text != '_')
            return false;
    return true;
}

static int refuse_notebook(const char *prefix, size_t n_found, struct err *e)
{
    if (n_found == 0)
        err_set(e, ERR_NOT_FOUND, "there is no notebook '%.64s'", prefix);
    else
        err_set(e, ERR_INVALID, "%zu notebooks begin with %.64s", n_found, prefix);
    return err_advise(e, "list the notebooks with: cella notebook list");
}

/* How many of this page begin so; the last of them is copied. */
static size_t count_matches(const json_t *page, const char *prefix, char ret_id[])
{
    size_t i, n = 0;
    const json_t *item;
    json_array_foreach(page, i, item) {
        const char *id = cli_json_text(item, "notebook_id", NULL);
        if (id == NULL || !notebook_is_word(id, CLI_NOTEBOOK_ID_SIZE - 1) ||
            strncmp(id, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(ret_id, CLI_NOTEBOOK_ID_SIZE, "%s", id);
        n++;
    }
    return n;
}

int cli_notebook_find(struct cli_client *c, const char *prefix, char ret_id[CLI_NOTEBOOK_ID_SIZE],
                      struct err *e)
{
    if (!notebook_is_word(prefix, CLI_NOTEBOOK_ID_SIZE - 1))
        return refuse_notebook(prefix, 0, e);
    snprintf(ret_id, CLI_NOTEBOOK_ID_SIZE, "%s", prefix);
    if (ids_is_uuid(prefix, strlen(prefix)))
        return 0;
    size_t n_found = 0, seen = 0, n_page = 0;
    do {
        char path[CLI_NOTEBOOK_PATH_SIZE];
        _json_ json_t *answer = NULL;
        snprintf(path, sizeof(path), "/v1/notebooks?offset=%zu&limit=%d", seen, PAGE);
        if (cli_api_get(c, "GET", path, &answer, e) < 0)
            return -1;
        const json_t *page = json_object_get(answer, "notebooks");
        n_page = json_array_size(page);
        seen += n_page;
        n_found += count_matches(page, prefix, ret_id);
    } while (n_page > 0 && seen < NOTEBOOKS_MAX);
    /* A session that has run nothing yet has a notebook that is not listed. */
    struct cli_session session;
    struct err ignored;
    if (n_found == 0 && cli_session_find(c, prefix, &session, &ignored) == 0) {
        snprintf(ret_id, CLI_NOTEBOOK_ID_SIZE, "%s", session.id);
        return 0;
    }
    return n_found == 1 ? 0 : refuse_notebook(prefix, n_found, e);
}

int cli_notebook_cell_path(const char *id, const char *cell, const char *more,
                           char ret_path[CLI_NOTEBOOK_PATH_SIZE], struct err *e)
{
    if (!notebook_is_word(cell, CLI_NOTEBOOK_ID_SIZE - 1)) {
        err_set(e, ERR_INVALID, "'%.64s' is no cell", cell);
        return err_advise(e, "name it by its id or its number from 0 on; -1 is the last");
    }
    snprintf(ret_path, CLI_NOTEBOOK_PATH_SIZE, "/v1/notebooks/%s/cells/%s%s", id, cell, more);
    return 0;
}

int cli_notebook_send(const struct cli_args *args, struct cli_client *c, const char *method,
                      const char *path, json_t *body, void (*say)(const json_t *answer),
                      struct err *e)
{
    _free_ char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    bool has_body = strcmp(method, "GET") != 0 && strcmp(method, "DELETE") != 0;
    struct cli_request request = {
        .method = method,
        .path = path,
        .body = text != NULL ? text
                : has_body   ? "{}"
                             : NULL,
        .body_len = text != NULL ? strlen(text)
                    : has_body   ? 2
                                 : 0,
        .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS,
    };
    if (request.body_len > BODY_MAX)
        return err_set(e, ERR_TOO_LARGE, "the source is longer than a cell may be (1 MiB)");
    _json_ json_t *answer = NULL;
    if (cli_api_call(c, &request, &answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    if (say != NULL)
        say(answer);
    return 0;
}

void cli_notebook_append_title(struct buf *out, const char *source, size_t len)
{
    const char *end = source + len;
    while (source < end && isspace((unsigned char)*source))
        source++;
    const char *newline = source < end ? memchr(source, '\n', (size_t)(end - source)) : NULL;
    size_t line = (size_t)((newline != NULL ? newline : end) - source);
    cli_append_safe(out, source, MIN(line, (size_t)TITLE_MAX), false);
    if (line > TITLE_MAX || newline != NULL)
        buf_append_str(out, " ...");
}

/* ---- the verb ----------------------------------------------------------------------------------
 */

static const struct cli_notebook_command *find_command(const char *name, struct err *e)
{
    const char *names[ARRAY_LEN(commands)];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        names[i] = commands[i].name;
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    const char *nearest = cli_nearest(name, names, ARRAY_LEN(commands));
    err_set(e, ERR_INVALID, "'%.32s' is nothing that can be done with notebooks", name);
    if (nearest != NULL)
        err_advise(e, "did you mean '%s'? See: cella notebook --help", nearest);
    else
        err_advise(e, "see: cella notebook --help");
    return NULL;
}

static int notebook_work(const struct cli_args *args, struct cli_client *c, void *context,
                         struct err *e)
{
    const struct cli_notebook_command *command = context;
    return command->run(args, c, args->words + 1, args->n_words - 1, e);
}

static int notebook_run(const struct cli_args *args, struct err *e)
{
    const struct cli_notebook_command *command =
        find_command(args->n_words > 0 ? args->words[0] : "", e);
    if (command == NULL)
        return -1;
    size_t n_words = args->n_words - 1;
    if (n_words < command->min_words || n_words > command->max_words) {
        err_set(e, ERR_INVALID, "cella notebook %s takes: %s", command->name,
                command->usage[0] != '\0' ? command->usage : "nothing");
        return err_advise(e, "see: cella notebook --help");
    }
    cli_signals_take();
    return cli_client_with(args, true, notebook_work, (void *)(uintptr_t)command, e);
}

const struct cli_verb cli_notebook_verb = {
    .name = "notebook",
    .subject = OP_ON_NOTEBOOK,
    .summary = "the notebooks that sessions write: show, change, run, export",
    .usage = "COMMAND [OPTION...] [ID [CELL]]",
    .about =
        "What runs in a session becomes a cell of the notebook that has the session's id; it\n"
        "outlives the session. The beginning of an ID is enough; a CELL is named by its id or by\n"
        "its number from 0 on, -1 is the last.\n"
        "  show ID [CELL]       draw its cells, or one, with their outputs\n"
        "  add ID [SOURCE]      add a cell; the source is given, in a file, or on standard input\n"
        "  run ID [CELL...]     run these cells, or all, or a range (--from, --to)\n"
        "  edit ID CELL [SOURCE]\n"
        "  clear ID [CELL]      remove outputs, of one cell or all; or all cells (--cells)\n"
        "  export ID -o FILE    as a notebook of Jupyter, a page, a text, a script\n"
        "  import FILE          the other way: ipynb, cells.json or a script\n"
        "  watch ID             tell what happens in it, until Ctrl-C\n"
        "Exit status: 0; 1 if a cell that was run failed, 124 if its time was over, 130 if it was\n"
        "interrupted; others mean that it could not be done.",
    .flags = flags,
    .is_client = true,
    .examples = "cella notebook list\n"
                "cella notebook show 0b9c\n"
                "cella notebook add 0b9c --run 'x = 41; x + 1'\n"
                "cella notebook add 0b9c --kind markdown --at 0 '# Results'\n"
                "cella notebook edit 0b9c -1 'x = 42' && cella notebook run 0b9c --from -1\n"
                "cella notebook export 0b9c -o results.html\n"
                "cella notebook import analysis.ipynb\n"
                "cella notebook watch 0b9c --json",
    .run = notebook_run,
};
