/* A try: a cell whose effects its caller looks at before they count. It runs like any other;
 * keeping it is nothing, discarding it is an undo. Until it is decided no other cell runs. */
#pragma once

#include "base/err.h"
#include "session/timeline.h"

struct exec;
struct session;

struct trial {
    uint64_t id;                    /* that of its cell; 0: there is none */
    uint64_t before;                /* the checkpoint to go back to */
    char files[TIMELINE_HASH_SIZE]; /* as they were; "": none, or not known */
    bool has_files;                 /* they are known */
};

int trial_refuse_without(const struct session *session, struct err *e); /* checkpoints */
/* A cell of this kind begins: notes what there is before it. */
void trial_begin(struct session *session, uint64_t exec_id);
/* Another cell, an undo or a branch has to wait for the decision. */
int trial_refuse_others(const struct session *session, struct err *e);
/* Answers its cell, if that has ended and is held, with what changed as soon as the checkpoint
 * after it is complete. */
void trial_answer(struct session *session);
/* A cell whose answer says what it did to /workspace: it begins; and who waits for that is told. */
void trial_watch_files(struct exec *exec);
void trial_answer_files(struct session *session);
/* Finds the try to decide on: it must have been answered. */
int trial_find(struct session *session, uint64_t try_id, struct err *e);
/* The session went back, or is over. */
void trial_drop(struct session *session);

int session_commit(struct session *session, uint64_t try_id, struct err *e);
/* session_discard: see restore.h. */
