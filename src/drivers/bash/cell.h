/* One cell: parsed and run in the shell itself, command by command, as a script's lines are. What
 * would end a script (`exit`, set -e, an unbound variable) ends the cell only, with the trap on
 * EXIT as a script would have; the shell goes on. */
#pragma once

#include "base/base.h"

enum cell_status { CELL_OK, CELL_ERROR, CELL_INTERRUPTED };

struct cell_verdict {
    enum cell_status status;
    int last_status;
    bool has_exited;    /* a script would have ended here, with last_status */
    const char *name;   /* of the error; NULL if there is none */
    char message[1200]; /* of the error */
    int line;           /* of the error; 0 if not known */
};

/* Once, in the shell as its start script left it: afterwards nothing of the script is left. */
void cell_prepare(void);

/* In a copy of the process that is the session from now on. */
void cell_renew(void);

/* `code` is the caller's. If `exit_ends`, `exit` and `exec` end the shell, and with it the session:
 * then it does not return. */
void cell_run(const char *code, bool exit_ends, struct cell_verdict *ret);
