/* Answering what a cell asks for, from the terminal or from a pipe. */
#pragma once

#include "cli/lines.h"
#include "cli/show.h"

struct cli_asker {
    struct cli_lines *lines; /* NULL: there is nothing to read, every answer is the end */
    struct cli_show *show;   /* where the prompt is shown; NULL: only to people, on stderr */
};

/* Shows the prompt and reads the answer. A secret is not shown while it is typed. */
enum cli_line cli_ask(struct cli_asker *asker, const char *prompt, size_t len, bool is_secret,
                      struct buf *ret_line);
