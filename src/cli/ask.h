/* Answering what a cell asks for, from the terminal or from a pipe. */
#pragma once

#include "cli/lines.h"
#include "cli/show.h"

struct cli_asker {
    struct cli_show *show;   /* where the prompt is shown; NULL if only to people, on stderr */
    bool has_stdin;          /* else there is nothing to read, and every answer is the end */
    struct cli_lines *lines; /* the caller's, or made here at the first question */
    bool is_own;             /* made here */
    /* Called from time to time while there is no answer. May be NULL. */
    void (*on_wait)(void *context);
    void *context;
};

void cli_asker_free(struct cli_asker *asker);

/* Shows the prompt and reads the answer. A secret is not shown while it is typed. */
enum cli_line cli_ask(struct cli_asker *asker, const char *prompt, size_t len, bool is_secret,
                      struct buf *ret_line);
