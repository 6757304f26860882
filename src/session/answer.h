/* The answer to one cell: a view of its transcript (cell/transcript.h), cut to the caller's budget:
 * typed outputs first and whole or not at all, then the texts in fair shares. Nothing is cut
 * without a count. */
#pragma once

#include "session/exec.h"

/* What becomes of a cell, before it is cut. */
struct answer_facts {
    enum cell_state status;
    json_t *value;             /* NULL: none; may be changed */
    json_t *error;             /* of the driver; NULL: none */
    const struct death *death; /* the session ended; NULL: it did not */
    const char *own_name;      /* an error of ours takes the place of the driver's */
    const char *own_message;
    const char *advice; /* for an error, whoever's it is; NULL: none */
    json_t *names;      /* what became of the session's names; NULL: not told */
    bool has_last_status;
    int last_status; /* of a shell's last command */
    bool has_exit_code;
    int exit_code;      /* of a cell that ended by an exit; a death has its own */
    int command_status; /* of a command that a cell of Python ran and that failed; 0: none did */
    double duration_ms;
};

/* What went wrong, borrowed from the facts; false if nothing did. */
bool answer_error(const struct answer_facts *facts, struct exec_error *error);
/* Tells the listener, who has to be there and waits no more afterwards. */
void answer_send(struct exec *exec, const struct answer_facts *facts);

/* An end that nobody waited for, with what it refers to. */
struct exec_outcome {
    struct answer_facts facts;
    char *own_message;
    size_t bytes; /* that keeping it takes, about */
};

struct exec_outcome *answer_keep(struct exec *exec, const struct answer_facts *facts);
void answer_forget(struct exec_outcome *outcome);
