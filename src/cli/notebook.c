/* `cella notebook`: the notebooks that sessions write: show, change, run, export. Command line
 * tool. */
#include "cli/notebook.h"

#include "cli/show.h"
#include "cli/terminal.h"

static const struct cli_flag notebook_flags[] = {
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

static const struct cli_notebook_command notebook_commands[] = {
    {"show", "ID [CELL]", 1, 2, cli_notebook_show},
    {"add", "ID [SOURCE]", 1, 2, cli_notebook_add},
    {"run", "ID [CELL...]", 1, 1000, cli_notebook_run_cells},
    {"edit", "ID CELL [SOURCE]", 2, 3, cli_notebook_edit},
    {"clear", "ID [CELL]", 1, 2, cli_notebook_clear},
    {"export", "ID -o FILE", 1, 1, cli_notebook_export},
    {"import", "FILE", 1, 1, cli_notebook_import},
    {"watch", "ID", 1, 1, cli_notebook_watch},
};

/* ---- the verb -------------------------------------------------------------------------------- */

static const struct cli_notebook_command *find_command(const char *name, struct err *e)
{
    const char *names[ARRAY_LEN(notebook_commands)];
    for (size_t i = 0; i < ARRAY_LEN(notebook_commands); i++) {
        names[i] = notebook_commands[i].name;
        if (strcmp(notebook_commands[i].name, name) == 0)
            return &notebook_commands[i];
    }
    const char *nearest = cli_nearest(name, names, ARRAY_LEN(notebook_commands));
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
    .flags = notebook_flags,
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
