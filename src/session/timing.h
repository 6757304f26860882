/* A cell's time: when the loop begins to read its pipes and the warden to look after its files,
 * when it is interrupted and when killed; the clock that stands while it waits for a line;
 * interrupts, and the pause after one that came too late. One timer for each session does all of
 * it. */
#pragma once

#include "base/base.h"

struct engine;
struct exec;
struct session;

/* A moment, and how long all cells of the daemon together had run by then. */
struct timing_moment {
    uint64_t ns; /* monotonic */
    uint64_t worked_ns;
};

/* How the cells of a session follow each other. */
struct pace {
    unsigned n_interrupts;      /* sent that have not reached the interpreter yet */
    bool has_stray;             /* the last cell has missed one of them */
    struct timing_moment ended; /* of the last cell, or the session became ready */
    bool is_burst;              /* the last cell followed the one before it at once */
    bool keeps_now;             /* a checkpoint is made before another cell begins */
    bool keeps_soon;    /* a checkpoint is made unless another cell begins before its turn */
    uint64_t rested_ns; /* monotonic: when the last checkpoint was made at rest */
    bool has_rested;    /* no cell has begun since */
    bool is_hurried;    /* the cell after that checkpoint followed at once */
    bool is_lasting;    /* the loop is to read the pipes of the cell that runs */
    bool is_quiet;      /* and of cells that have ended; both until settle.c has passed that on */
    uint64_t looked_after_ns; /* monotonic: when the warden was last asked to look at the files */
};

struct timing_moment timing_now(const struct engine *engine);
void timing_begin(struct exec *exec); /* the cell runs from now on */
/* A cell has come that cannot begin yet: a checkpoint that is being made came too early. */
void timing_wait(struct session *session);
/* Counts the cells that run, and decides how long the loop stays awake, if what comes next is
 * likely to come quickly. */
void timing_count(struct session *session, int change, bool is_quick, uint64_t now_ns);
/* The running cell has ended now, after so much time that was its own: while it waited for a line,
 * for the fork before it or for the cells of others it did nothing that could be lost. */
uint64_t timing_ran_ns(const struct exec *exec);
/* The running cell has ended: its number as a handle for what it did, if that is to become a
 * checkpoint of its own; else 0, because cells that follow may share one with it. */
uint64_t timing_end(const struct exec *exec, uint64_t ran_ns);
/* Whether that checkpoint, or one of a session that has rested, is to be made now; and makes it. */
bool timing_is_to_keep(const struct session *session);
void timing_keep(struct session *session);
/* Something waits for that checkpoint: the next cell, or the caller of the last one. */
bool timing_is_pressing(const struct session *session);
/* The session rests: what goes on in the background is looked at now and then. */
void timing_watch_background(struct session *session);
/* A cell has ended. `has_stray`: not every interrupt that was sent has been heard. */
void timing_rest(struct session *session, bool has_stray);
