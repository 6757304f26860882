/* What the commands of `cella notebook` share. */
#pragma once

#include "cli/api.h"
#include "cli/args.h"

enum { CLI_NOTEBOOK_PATH_SIZE = 256, CLI_NOTEBOOK_ID_SIZE = 65 };

/* One command: "show" and what follows it. */
struct cli_notebook_command {
    const char *name;
    const char *usage;
    size_t min_words, max_words; /* behind the name */
    /* `words` are those. The exit status, or -1 with the error. */
    int (*run)(const struct cli_args *args, struct cli_client *c, const char *const *words,
               size_t n_words, struct err *e);
};

/* By its whole id or the beginning of it, if only one starts so. */
int cli_notebook_find(struct cli_client *c, const char *prefix, char ret_id[CLI_NOTEBOOK_ID_SIZE],
                      struct err *e);
/* /v1/notebooks/ID/cells/CELL and `more`; the cell is an id or a number. */
int cli_notebook_cell_path(const char *id, const char *cell, const char *more,
                           char ret_path[CLI_NOTEBOOK_PATH_SIZE], struct err *e);
/* Sends a JSON object (NULL for an empty one) and prints what comes back with --json, else what
 * `say` makes of it (NULL if nothing). */
int cli_notebook_send(const struct cli_args *args, struct cli_client *c, const char *method,
                      const char *path, json_t *body, void (*say)(const json_t *answer),
                      struct err *e);

typedef int cli_notebook_run(const struct cli_args *args, struct cli_client *c,
                             const char *const *words, size_t n_words, struct err *e);
cli_notebook_run cli_notebook_show;                                           /* notebook_show.c */
cli_notebook_run cli_notebook_add, cli_notebook_edit, cli_notebook_run_cells; /* notebook_cells.c */
cli_notebook_run cli_notebook_clear;
cli_notebook_run cli_notebook_export, cli_notebook_import,
    cli_notebook_watch; /* notebook_files.c */

/* "cell 0  ab12cd  revision 2", of an answer that has a cell. */
void cli_notebook_say_changed(const json_t *answer);
/* What its code imported, defined, and would lose: notebook_about.c */
void cli_append_declarations(struct buf *out, const json_t *told);

/* One line on what its session would lose, if it would and can tell. */
void cli_notebook_append_lost(struct cli_client *c, const char *id, struct buf *out);

/* The first line of a source that says something, made safe and short. */
void cli_notebook_append_title(struct buf *out, const char *source, size_t len);
