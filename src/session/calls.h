/* Operations that the code of a running cell calls, about its own session: it waits for the answer
 * as it would for a line of input, but its clock goes on. One at a time. */
#pragma once

#include "base/err.h"

#include <jansson.h>

struct session;

/* A call, from engine_set_caller's function until code_call_end or on_gone. */
struct code_call {
    struct session *session;
    const char *op; /* its name; valid, as `args`, while the function that is to run it is called */
    json_t *args;
    /* Set by who runs it: the code waits no more, because its cell was interrupted or has ended.
     * The call must not be ended afterwards. */
    void (*on_gone)(struct code_call *call);
    void *context; /* likewise */
};

/* The answer: JSON, or why there is none if that is NULL. Frees the call. */
void code_call_end(struct code_call *call, const char *json, size_t len, const struct err *e);

/* ---- for the rest of the room ---------------------------------------------------------------- */

void calls_on_call(struct session *session, const char *op, json_t *args);
void calls_forget(struct session *session); /* the cell does not wait for the answer any more */
