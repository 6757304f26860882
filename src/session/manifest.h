/* The names that a session's code has made: asked of an idle interpreter, and remembered for those
 * who ask while it is busy. */
#pragma once

#include "session/exec.h"

struct manifest_wait;

/* How names are told. */
struct manifest {
    const json_t *names; /* see runtime/names.h; NULL: never asked so far */
    uint64_t as_of;      /* the last cell that had ended by then; 0: none */
    bool is_busy;        /* they are not of now: a cell runs */
};

struct manifest_listener {
    void (*on_names)(void *context, const struct manifest *manifest);
    void (*on_failed)(void *context, const struct err *e);
};

/* One of them is called once, maybe before this returns; then `ret_wait` is NULL. */
int session_names(struct session *session, const struct manifest_listener *listener, void *context,
                  struct manifest_wait **ret_wait, struct err *e);
void manifest_leave(struct manifest_wait *wait); /* the caller went away */

/* ---- for the rest of the room ------------------------------------------------------------------
 */

/* NULL if they say nothing new. */
json_t *manifest_news(json_t *names);
void manifest_on_verdict(struct exec *exec, json_t *names);
void manifest_on_names(struct session *session, json_t *names);
void manifest_end_all(struct session *session); /* the session is dead */
