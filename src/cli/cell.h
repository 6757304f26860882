/* Running one cell in a session, with Ctrl-C reaching it. */
#pragma once

#include "cli/api.h"
#include "cli/show.h"

struct cli_cell {
    const char *session_id;
    const char *code; /* checked with cli_cell_check_code */
    size_t code_len;
    int64_t timeout_ms;    /* 0: the daemon's default */
    int64_t budget;        /* bytes; -1: the daemon's default, or what a live showing needs */
    struct cli_show *show; /* live output goes here; NULL: the answer holds it all */
    int left_by; /* set here: the signal at which the cell was left alone; 0 if it was not */
};

/* `ret_answer` is the daemon's answer: an object whose "status" is a known one. */
int cli_cell_run(struct cli_client *c, struct cli_cell *cell, json_t **ret_answer, struct err *e);

int cli_cell_exit_status(const json_t *answer);
bool cli_cell_is_status(const json_t *answer, const char *status);

enum { CLI_CODE_MAX = 1 << 20 };
int cli_cell_check_code(const char *code, size_t len, struct err *e);
