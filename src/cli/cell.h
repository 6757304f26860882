/* Running one cell in a session, with Ctrl-C reaching it and its questions answered. */
#pragma once

#include "cli/api.h"
#include "cli/ask.h"
#include "cli/show.h"

struct cli_cell {
    const char *session_id;
    const char *how;  /* "exec" or "try"; NULL for exec */
    const char *path; /* of a notebook's cell, which brings its own code; NULL if none */
    int64_t number;   /* to continue or to answer; 0: the cell that waits for input */
    const char *code; /* to run; checked with cli_cell_check_code */
    size_t code_len;
    int64_t timeout_ms;        /* 0: the daemon's default */
    int64_t budget;            /* bytes; -1: the daemon's default, or what a live showing needs */
    int64_t yield_ms;          /* come back this soon if it still runs; -1: wait to the end */
    bool wants_names;          /* the answer shall hold all names */
    const char *on_disconnect; /* "continue" or "cancel"; NULL for the daemon's default */
    struct cli_show *show;     /* live output goes here; NULL if the answer holds it all */
    struct cli_asker *asker;   /* answers its input requests; NULL if they are the caller's */
    /* Set here. */
    int left_by;         /* the signal at which the cell was left alone; 0 if it was not */
    bool is_interrupted; /* by a Ctrl-C of the caller's, whatever the cell made of it */
};

/* `ret_answer` is the daemon's answer: an object whose "status" is a known one. What was answered
 * in parts, because input was needed in between, is one answer here. */
int cli_cell_run(struct cli_client *c, struct cli_cell *cell, json_t **ret_answer, struct err *e);
int cli_cell_continue(struct cli_client *c, struct cli_cell *cell, json_t **ret_answer,
                      struct err *e);
/* `text` is NULL at the end of the input. */
int cli_cell_input(struct cli_client *c, struct cli_cell *cell, const char *text, size_t len,
                   json_t **ret_answer, struct err *e);

/* Shows what live output did not: value, error, losses, names. The exit status. */
int cli_cell_finish(struct cli_cell *cell, const json_t *answer);

/* What a shell would say: the code that it left with, bash's last status, else by the status. */
int cli_cell_exit_status(const json_t *answer);
bool cli_cell_is_status(const json_t *answer, const char *status);
/* The code of a cell that left by choice: sys.exit(3), exit 3, os._exit(3). -1 if it did not. */
int cli_cell_left_with(const json_t *answer);

enum { CLI_CODE_MAX = 1 << 20 };
int cli_cell_check_code(const char *code, size_t len, struct err *e);
