/* The history of a session: a tree of checkpoints, from any of which it can go on. One is made
 * after every cell, except for quick cells that follow each other at once, which share one
 * (TIMELINE_SHARED_NS); it holds what the cells since its parent did. The root, number 0, is the
 * beginning: a fresh interpreter, which needs no process.
 *
 * The oldest are given up first, when there are too many or their memory is wanted. */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/list.h"
#include "session/turns.h"

struct head_fork;
struct loop_timer;
struct session;
struct snapshot;

enum {
    TIMELINE_KEPT_DEFAULT = 8, /* of each kind: timeline_give_up_surplus */
    /* Running time of the cells that may share a checkpoint; up to ten times as much where one
     * costs more than a tenth of it: the machine is full, or the session has gigabytes. */
    TIMELINE_SHARED_NS = 25000000,
    TIMELINE_CELLS_MAX = 1000,      /* whose numbers a checkpoint remembers; the last ones */
    TIMELINE_HASH_SIZE = 2 * 32 + 1 /* of a manifest's name, with the NUL */
};

enum timeline_mode {
    TIMELINE_AUTO,  /* after a moment of rest */
    TIMELINE_EVERY, /* after every cell; the next one waits for it */
    TIMELINE_OFF,
};

/* What a checkpoint knows of /workspace. */
enum timeline_files {
    FILES_NONE,      /* nothing, see files_reason */
    FILES_RECORDING, /* the workspace is being read */
    FILES_COVERED,
    FILES_TORN, /* a cell, or what one left running, wrote meanwhile */
};

/* Numbers of cells, in the order in which they ran. */
struct timeline_cells {
    uint64_t *ids;
    size_t n;
    uint64_t n_more; /* before these, and forgotten */
};

/* A caller that wants to know how much memory each checkpoint has of its own. */
struct timeline_census;

struct checkpoint {
    struct list node; /* in the history, oldest first */
    struct session *session;
    uint64_t id;
    struct checkpoint *parent; /* NULL if that is the beginning */
    struct timeline_cells cells;
    uint64_t last_cell;        /* the last one of its line; 0: none */
    uint64_t at_ms;            /* wall clock */
    struct snapshot *snapshot; /* NULL if there is no process to wake */
    char reason[200];          /* why not */
    bool is_saved;             /* the store has its state */
    bool
        is_cut_off; /* without a parent: not because it came first, what came before was given up */
    unsigned threads;      /* of the interpreter then; 0: not told */
    uint64_t memory_bytes; /* of its own; UINT64_MAX: not measured */
    bool is_measuring;     /* that was asked for, and will be told */
    enum timeline_files files;
    char manifest[TIMELINE_HASH_SIZE]; /* of /workspace; "": not known */
    char files_reason[200];
    char explored[TIMELINE_HASH_SIZE]; /* what was explored by then, see exploring.h; "": nothing */
    uint64_t ticket;                   /* FILES_RECORDING: the order; 0: none is under way */
};

struct timeline {
    enum timeline_mode mode;
    bool is_copy;       /* the session began as a copy of another: a checkpoint of that is due */
    bool wants_process; /* the current checkpoint came out of the store: a process of it is due */
    bool is_cut_off;    /* without a current one: likewise */
    bool cannot_fork;   /* this interpreter has no sleeping copies */
    struct list checkpoints; /* oldest first */
    size_t n;
    uint64_t last_id;
    struct checkpoint *current;  /* the present line descends from it; NULL if from the beginning */
    struct timeline_cells since; /* cells that ran after it */
    uint64_t since_ns;           /* for how long they ran */
    uint64_t ordered_ns;         /* monotonic: when the newest checkpoint was ordered */
    uint64_t forked_ns;          /* monotonic: when it was forked */
    uint64_t cost_ns;            /* how long that takes */
    uint64_t *redo;              /* what was left by undoing, the last one last */
    size_t n_redo;
    char begun[TIMELINE_HASH_SIZE]; /* the manifest of /workspace at the beginning; "": no files */
    char base[TIMELINE_HASH_SIZE];  /* the last manifest of /workspace that was recorded or restored
                                     */
    struct turn turn;               /* for the checkpoint that is due, or being made */
    bool has_counted;  /* the newest checkpoint has seen who works beside the interpreter */
    uint64_t n_others; /* processes and threads; both until settle.c has passed it on */
    struct loop_timer *patience; /* a cell waits for the record of files; NULL if none did yet */
    struct list censuses;        /* of struct timeline_census, that wait */
};

void timeline_init(struct session *session, enum timeline_mode mode);
void timeline_free(struct session *session); /* ends every checkpoint */

/* Ends the processes of all; only those that are saved are left, and the session is at `current`,
 * which is one of them (0: at the beginning). */
void timeline_end_processes(struct session *session, uint64_t current);

/* A cell has ended that ran for so long: it belongs to the next checkpoint. */
void timeline_add_cell(struct session *session, uint64_t exec_id, uint64_t ran_ns);
/* What ran since the last checkpoint, the last cell of it for `ran_ns`, is worth one of its own. */
bool timeline_is_worth(const struct session *session, uint64_t ran_ns);
bool timeline_has_checkpoints(const struct session *session); /* or can have them */
bool timeline_is_due(const struct session *session); /* cells ran since the last checkpoint */
bool timeline_is_settled(const struct checkpoint *checkpoint); /* nothing about it is under way */
struct archive_budget timeline_budget(const struct session *session);
/* The number of the checkpoint that holds, or would hold, what just ran; 0: none will. */
uint64_t timeline_next_id(const struct session *session);
/* The session is idle: makes a checkpoint of the present state, if that is due and can be done. */
void timeline_take(struct session *session);
/* The files are being looked at: the next cell waits a moment. */
bool timeline_blocks(struct session *session);
void timeline_on_forked(struct session *session, const struct head_fork *fork);

struct checkpoint *timeline_find(const struct session *session, uint64_t id);
/* The newest one, from `from` towards the beginning, that a process can be woken from; NULL if only
 * the beginning is left. */
struct checkpoint *timeline_wakeable(struct checkpoint *from);
/* The session goes on from there; the cells since are forgotten. NULL for the beginning. */
void timeline_go_to(struct session *session, struct checkpoint *checkpoint);
/* What /workspace was at this checkpoint, or at the beginning (NULL); NULL if that is not known. */
const char *timeline_files_at(const struct session *session, const struct checkpoint *checkpoint);
/* A caller changed a file: what the session would go back to is this manifest from now on. */
void timeline_amend(struct session *session, struct checkpoint *checkpoint, const char *manifest);
/* What was explored by then, likewise: at the checkpoint, or at the beginning (NULL). */
const char *timeline_explored_at(const struct session *session,
                                 const struct checkpoint *checkpoint);
void timeline_amend_explored(struct session *session, struct checkpoint *checkpoint,
                             const char *explored);
/* The numbers of all cells that lie between `from`, with those that came after it in the present
 * line, and `to`. The caller frees them. */
struct timeline_cells timeline_undone(const struct session *session, const struct checkpoint *to);
/* The last cell that the present line and `to` have in common, by its number (0: none), and the
 * numbers of those cells that `to` has beyond it. The caller frees them. */
uint64_t timeline_parting(const struct session *session, const struct checkpoint *to,
                          struct timeline_cells *ret_beyond);
/* Adds a checkpoint without a process, of a saved state; if `id` is known, gives that one the
 * state. */
struct checkpoint *timeline_add_saved(struct session *session, uint64_t id, uint64_t last_cell,
                                      const char *manifest);
/* An undo came from there. */
void timeline_add_redo(struct session *session, uint64_t id);
void timeline_cells_free(struct timeline_cells *cells);

/* Measures every checkpoint, then calls; soon, whatever is known by then. NULL if it has called
 * already. */
struct timeline_census *timeline_measure(struct session *session,
                                         void (*on_measured)(void *context), void *context);
void timeline_census_forget(struct timeline_census *census);

const char *timeline_mode_name(enum timeline_mode mode);
extern const char *const timeline_modes[]; /* NULL-terminated, for choices */

/* ---- for the rest of the room ---------------------------------------------------------------- */

bool timeline_shares_files(const struct session *session); /* with sessions that joined it */
/* Removes a checkpoint: its children become those of its parent and take over its cells. */
void timeline_remove(struct checkpoint *checkpoint);
/* Whether there were other checkpoints between the beginning and this one, of which `parent` (NULL
 * for the beginning) is the nearest ancestor that is written down. */
bool timeline_is_cut_off(const struct checkpoint *checkpoint, const struct checkpoint *parent);
void timeline_cells_add(struct timeline_cells *cells, const uint64_t *ids, size_t n);
bool timeline_cells_have(const struct timeline_cells *cells, uint64_t id);
/* All cells after `from` (NULL for the beginning), an ancestor, up to `to`. The caller frees them.
 */
struct timeline_cells timeline_cells_between(const struct checkpoint *from,
                                             const struct checkpoint *to);
/* The store removes files that no row needs: it is told which ones memory alone knows. */
void timeline_hold_files(struct session *session, char held[TIMELINE_HASH_SIZE],
                         const char *manifest);
