/* The answer to one cell: a view of its transcript (cell/transcript.h), cut to the caller's budget:
 * typed outputs first and whole or not at all, then the texts in fair shares. Nothing is cut
 * without a count. */
#pragma once

#include "session/exec.h"

/* How a cell ended, or how far it is, before the answer is cut to the caller's budget. What it
 * refers to is borrowed, unless it is kept. */
struct exec_outcome {
    enum cell_state status;
    struct head_verdict verdict; /* the driver's; all zero if there is none */
    const struct death *death;   /* the session ended; NULL if it did not */
    const char *own_name; /* an error of ours takes the place of the driver's; NULL if none */
    char own_message[256];
    const char *advice; /* for the error, the driver's or ours; NULL if none */
    double duration_ms;
    size_t bytes; /* that keeping it takes, about */
};

/* What went wrong, borrowed from the outcome; false if nothing did. */
bool answer_error(const struct exec_outcome *outcome, struct exec_error *error);
/* Tells the listener, who has to be there and waits no more afterwards. */
void answer_send(struct exec *exec, const struct exec_outcome *outcome);

/* A copy that is kept when no caller waited for the end, with what it refers to. */
struct exec_outcome *answer_keep(struct exec *exec, const struct exec_outcome *outcome);
void answer_drop(struct exec_outcome *outcome);
