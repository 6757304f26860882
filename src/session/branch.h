/* Branches: live copies of a session at one of its checkpoints, each a session of its own with a
 * jail, files, output and limits of its own.
 *
 *   a room below the source's jail -> the checkpoint's files -> a copy of the checkpoint walks in
 */
#pragma once

#include "base/err.h"
#include "base/ids.h"
#include "base/list.h"

struct branch;
struct session;

enum { BRANCH_MAX = 64 }; /* at once */

struct branching;

struct branches {
    struct branch *own;   /* the session is being made, as a copy of another; else NULL */
    struct list ordered;  /* of struct branching: copies of it that are being made */
    bool is_copy;         /* of another session: it was set up there */
    char from[UUID_SIZE]; /* the other; "" if it is none, or that was before a suspension */
};

struct branch_listener {
    /* The branches that live; `why` is what kept others from it, NULL if all live. */
    void (*on_branched)(void *context, uint64_t at, struct session *const *sessions, size_t n,
                        const char *why);
    void (*on_failed)(void *context, const struct err *e); /* there is none */
};

/* `at` is NULL for the present state. */
int session_branch(struct session *session, const uint64_t *at, unsigned count,
                   const struct branch_listener *listener, void *context,
                   struct branching **ret_branching, struct err *e);
/* The caller went away; the branches are made. */
void branching_forget(struct branching *branching);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* Begins those that wait for a checkpoint of the source, if that is complete. */
void branching_begin(struct session *session);
void branching_end(struct session *session); /* a branch or a source that is over */
