/* What the files of a restoration share. restore.c has the reasons for one and its beginning,
 * restore_way.c the steps between, restore_end.c what comes of it. */
#pragma once

#include "session/restore.h"
#include "store/store.h"

enum restore_step {
    STEP_TIP,   /* the present state becomes a checkpoint */
    STEP_FETCH, /* the durable copy is looked up */
    STEP_SLEEP, /* the one to wake is falling asleep */
    STEP_CLEAR, /* the undone line's processes are ended */
    STEP_FILES,
    STEP_WAKE,  /* a copy of the checkpoint */
    STEP_ENTER, /* a fresh interpreter */
    STEP_SETUP, /* which is told where it works */
    STEP_LOAD,  /* and takes the durable copy over */
};

struct restore {
    enum restore_cause cause;
    enum restore_step step;
    struct checkpoint *target; /* NULL: the beginning */
    uint64_t old_head;         /* its number */
    uint64_t ticket;           /* of the order under way; 0: none */
    json_t *notes;
    struct store_call *call;     /* of the store's, under way; NULL: none */
    bool has_asked;              /* the store for the durable copy */
    bool was_suspended;          /* for an undo or redo it came back to life */
    bool had_background;         /* somebody wrote files beside the cells that are undone */
    struct store_state *state;   /* the durable copy, if it is used; NULL: it is not */
    char files[STORE_HASH_SIZE]; /* the manifest that goes with it; "": none */
    bool keeps_files;            /* /workspace stays as it is */
    bool has_files;              /* /workspace was seen to */
    bool awaits_order;           /* a caller's change of a file has to be done first */
    json_t *loaded;
    struct restore_report report;
    const struct restore_listener *listener; /* NULL: nobody waits */
    void *context;
};

struct restore *restore_begin(struct session *session, enum restore_cause cause);
/* Every step has its time. */
void restore_take_step(struct session *session, enum restore_step step);

/* From here on the session has no interpreter, and is on its way to `target`. */
void restore_leave_line(struct session *session);
/* Asks the store for the durable copy at a checkpoint. */
void restore_fetch(struct session *session, uint64_t checkpoint);
/* The state of a target without a process is there, or is not: the present line is left for it. */
void restore_on_fetched(struct session *session, const struct err *e);
/* Goes on as soon as the target, or the nearest before it, sleeps. */
void restore_await_target(struct session *session);
void restore_try_older(struct session *session, struct checkpoint *failed);
/* An interpreter without a past; it loads the state if there is one. */
void restore_enter_fresh(struct session *session);
/* The new interpreter is none. */
void restore_lose_head(struct session *session, const char *why);

/* The session goes on. */
void restore_finish(struct session *session);
/* Nothing brings it back. */
void restore_fail(struct session *session, const char *why);
