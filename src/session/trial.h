/* A try: a cell whose effects its caller looks at before they count. It runs like any other;
 * keeping it is nothing, discarding it is an undo. Until it is decided no other cell runs. */
#pragma once

#include "base/err.h"
#include "session/timeline.h"

struct exec;
struct restore_listener;
struct session;

struct trial {
    uint64_t id;                    /* that of its cell; 0: there is none */
    uint64_t before;                /* the checkpoint to go back to */
    char files[TIMELINE_HASH_SIZE]; /* as they were; "": none, or not known */
    bool has_files;                 /* they are known */
};

/* A cell of this kind may begin: notes what there is before it. */
int trial_begin(struct session *session, uint64_t exec_id, struct err *e);
/* Another cell, an undo or a branch has to wait for the decision. */
int trial_refuse_others(const struct session *session, struct err *e);
/* Its cell has ended and is held, and a checkpoint may be complete now: answers with what changed.
 */
void trial_on_checkpoint(struct session *session);
/* The session went back, or is over. */
void trial_forget(struct session *session);

int session_commit(struct session *session, uint64_t try_id, struct err *e);
int session_discard(struct session *session, uint64_t try_id,
                    const struct restore_listener *listener, void *context, struct err *e);
