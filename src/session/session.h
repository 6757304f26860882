/* A session: an interpreter with an identity, a queue of cells and what they wrote.
 *
 *   STARTING --ready--> IDLE <--cell begins / ends--> BUSY
 *   IDLE, BUSY --crash or undo--> RESTORING --its interpreter is back--> IDLE
 *   IDLE --nobody uses it--> SUSPENDED --a cell comes--> RESTORING
 *   any of them --ended--> DEAD, which stays listed until it is deleted or pushed out by others
 */
#pragma once

#include "base/ids.h"
#include "base/list.h"
#include "cell/output.h"
#include "jail/spec.h"
#include "session/background.h"
#include "session/death.h"
#include "session/engine.h"
#include "session/plan.h"
#include "session/saving.h"
#include "session/timeline.h"
#include "session/trial.h"

#include <jansson.h>

/* Of a working directory, with the NUL: what fits into the messages about it. */
enum { SESSION_CWD_SIZE = 256 };

struct branch;
struct dismissal;
struct exec;
struct head;
struct loop_timer;
struct oneshot;
struct session;

enum session_state {
    SESSION_STARTING,
    SESSION_IDLE,
    SESSION_BUSY,
    SESSION_RESTORING,
    SESSION_SUSPENDED, /* only its durable copy and its files are left */
    SESSION_DEAD,
};

/* What the session's one timer is set for. A cell goes through POLL, WATCH and DEADLINE as far as
 * it runs long enough. */
enum session_alarm {
    ALARM_NONE,
    ALARM_START,      /* the interpreter must be ready by now */
    ALARM_POLL,       /* let the loop read the cell's pipes */
    ALARM_WATCH,      /* let the warden look after its files */
    ALARM_DEADLINE,   /* interrupt it */
    ALARM_REPEAT,     /* interrupt it once more */
    ALARM_GRACE,      /* kill it */
    ALARM_CLOSED,     /* the channel is closed, but no end was reported: kill it */
    ALARM_KILLED,     /* the end of a killed interpreter was not reported */
    ALARM_SETTLE,     /* an interrupt that came too late must not hit the next cell */
    ALARM_REST,       /* idle: make a checkpoint */
    ALARM_QUIET,      /* idle: let the loop read late output */
    ALARM_BACKGROUND, /* idle: look at what processes and threads do that cells left */
    ALARM_RESTORE,    /* a step of a restoration takes too long */
};

struct session {
    char id[UUID_SIZE];
    struct engine *engine;
    struct list node; /* in the engine's list of live, suspended or dead ones, oldest first */
    enum session_state state;
    const struct runtime *runtime;
    const char *profile;
    char *agent;   /* on whose behalf it was made; NULL: nobody in particular */
    char *binding; /* where that agent was asked; NULL: unknown */
    struct plan plan;
    struct jail_limits limits;
    char cwd[SESSION_CWD_SIZE]; /* where it began */
    bool is_unlisted;           /* it has no name that a caller could use */
    bool exit_ends;             /* an exit of its interpreter is its end, and not undone */
    bool is_set_up;             /* it was told where and how */
    json_t *env;                /* NULL: nothing to tell */
    char joined[UUID_SIZE];     /* the session whose jail it shares; "": its own jail */
    uint32_t idle_timeout_secs; /* 0: it may be idle for ever */
    uint32_t max_age_secs;      /* likewise */
    uint64_t spawned_at_ms;     /* wall clock */
    uint64_t born_ms;           /* monotonic */
    uint64_t suspended_at_ms;   /* wall clock: since when it is, or last was */
    struct head *head;          /* NULL once dead, and while another takes its place */
    struct room *room;          /* held as long as it lives */
    uint64_t left_head;         /* the number of one before it that is still to be ended; 0: none */
    int left_channel;           /* its */
    struct timeline timeline;
    struct background background;
    struct saving saving;
    struct oneshot *oneshot; /* it is there for this run alone; NULL: it is not */
    struct trial trial;
    struct branch *branch;  /* it is being made, as a copy of another; NULL: it is not */
    struct list branchings; /* of struct branching: copies of it that wait for a checkpoint */
    bool is_copy;           /* of another: it was set up there */
    char branched_from[UUID_SIZE]; /* the other; "": it is none, or that was before a suspension */
    struct restore *restore;       /* it is on its way to another checkpoint; NULL: it is not */
    struct dismissal *dismissal;   /* its caller wants its end; NULL: not that way */
    bool has_files;                /* it is dead, and its workspace is still there */
    uint64_t died_ms;              /* monotonic: since when it is dead */
    bool wants_rest;               /* it is to be suspended when it is saved */
    bool is_beyond_rescue;         /* it could not be brought back from what `death` says */
    json_t *news;                  /* for the next answer: what happened meanwhile; NULL: nothing */
    bool was_rolled_back;          /* while no cell ran: for the next answer, too */
    uint64_t rolled_back_to;

    struct exec *running;
    struct list queue; /* of struct exec, waiting */
    size_t n_queued;
    struct list late; /* of struct exec: ended, with pipes that somebody may still write to */
    size_t n_late;
    struct list kept; /* of struct exec: ended, and nobody has fetched the answer; oldest first */
    size_t n_kept;
    size_t kept_bytes;
    struct list held;         /* of struct exec: ended, and the answer has to wait for something */
    uint64_t forgotten_exec;  /* the last one whose answer was given up; 0: none */
    uint64_t n_execs;         /* accepted so far; the last exec_id */
    uint64_t looked_after_ns; /* when the warden was last asked to look at its files */
    unsigned n_interrupts;    /* sent that have not reached the interpreter yet */
    bool has_stray;           /* of the last cell: one that it did not hear */
    unsigned n_crowded;       /* times that its checkpoint made way for the cells of others */
    uint64_t ended_ns;        /* monotonic: when its last cell ended, or it became ready */
    bool is_burst;            /* the last cell followed the one before it at once */
    bool keeps_now;     /* what its last cell did becomes a checkpoint before another begins */
    uint64_t rested_ns; /* monotonic: when it last was made a checkpoint of, at rest */
    bool has_rested;    /* no cell has begun since */
    bool is_hurried;    /* the cell after that checkpoint followed at once */
    struct output_ring rings[OUTPUT_STREAMS];
    uint64_t taken[OUTPUT_STREAMS]; /* bytes of the stream, see session_take_new */
    uint64_t used_ms;               /* monotonic: when somebody last wanted something of it */

    uint64_t ended_exec;        /* the last cell that ended; 0: none */
    json_t *names;              /* as last told, see manifest.h; NULL: never */
    uint64_t names_as_of;       /* the last cell that had ended by then */
    struct list names_waits;    /* of struct manifest_wait */
    json_t *declared;           /* as last told, see declared.h; NULL: never */
    uint64_t declared_as_of;    /* likewise */
    struct list declared_waits; /* of struct declared_wait */
    struct judging *judging;    /* whether a text is complete, see judging.h; NULL: not asked */
    struct list unsaved_files;  /* of struct file_unsaved, oldest first */
    struct list file_orders;    /* of struct file_order, the one under way first; see files.h */

    struct loop_timer *timer;
    enum session_alarm alarm;
    struct death_facts ending; /* evidence while it is ending */
    char ending_detail[256];
    struct death death; /* when dead */

    /* Who asked for the session, until it started. */
    void (*on_started)(void *context, struct session *session);
    void *start_context;
};

struct session_request {
    const struct runtime *runtime;
    const char *profile;              /* NULL: the default one */
    const struct jail_limits *limits; /* NULL: the usual ones */
    const char *agent;                /* copied; may be NULL */
    const char *binding;              /* likewise */
    size_t max_output_bytes;          /* kept for each stream; 0: the usual */
    bool is_unlisted;                 /* nobody but the requester is to find it */
    bool is_own;                      /* the daemon's: nobody's limits apply */
    bool exit_ends;                   /* an exit of its interpreter is its end, and not undone */
    bool has_state;                   /* see struct pool_request */
    const char *cwd;                  /* NULL: /workspace */
    const json_t *env;                /* an object of strings; NULL: nothing besides the usual */
    struct session *join; /* shares the jail of this one, and its limits; NULL: its own */
    const uint32_t *idle_timeout_secs; /* NULL: the usual; 0: never */
    const uint32_t *max_age_secs;      /* likewise */
    enum timeline_mode checkpoints;
    enum saving_mode durable;
    enum saving_isolation isolation;
    void (*on_started)(void *context, struct session *session); /* idle or dead by then */
    void *context;
};

/* on_started may be called before this returns. */
int session_create(struct engine *engine, const struct session_request *request,
                   struct session **ret_session, struct err *e);
/* Nobody waits for on_started any more. */
void session_forget_starter(struct session *session);
/* One that is gone comes back under its id, without what it knew: with its first cell, which has a
 * number above `n_execs`. `spec` is what spec.h wrote of it. NULL with the error. */
struct session *session_revive(struct engine *engine, const char *id, const char *spec,
                               uint64_t n_execs, struct err *e);

/* Ends it and forgets it; cells that run or wait are answered first. */
void session_delete(struct session *session);

/* Somebody wants something of it: it is not idle. */
void session_touch(struct session *session);

/* Asks the running cell to stop; false if none runs. */
bool session_interrupt(struct session *session);

/* ---- for the rest of the room ------------------------------------------------------------------
 */

void session_move(struct session *session, enum session_state to);
void session_set_alarm(struct session *session, enum session_alarm alarm, uint64_t in_ms);
/* Kills the interpreter; its end makes the session dead. `detail` may be NULL. */
void session_kill(struct session *session, enum death_wish wish, const char *detail);
/* The control socket was closed. One that exits does that first: its end gets a moment to be told
 * before it is taken for damage. */
void session_lose_channel(struct session *session, const char *detail);
/* Ends it now, without waiting for its interpreter's end. */
void session_end(struct session *session, enum death_wish wish);
/* It is over. The evidence is in `ending`. */
void session_die(struct session *session);
void session_free(struct session *session); /* a dead one */
extern const struct head_listener *const session_head_listener;
/* This one may live: another was suspended for it if need be. NULL: it is the daemon's own. */
int session_make_place(struct engine *engine, const struct engine_candidate *candidate,
                       struct err *e);
/* Whether this one may, without making place for it. */
int session_admit(struct engine *engine, const struct engine_candidate *candidate, struct err *e);
struct engine_candidate session_candidate(const struct session_request *request);
/* A copy of `source`, in a room that does not exist yet; its interpreter is its maker's business.
 */
int session_make_branch(struct engine *engine, struct session *source,
                        const struct session_request *request, struct session **ret_session,
                        struct err *e);
/* One that only the store knew so far. NULL if its profile is no more. */
struct session *session_make_suspended(struct engine *engine, const char *id,
                                       const struct session_request *request, struct err *e);

/* ---- for everybody -----------------------------------------------------------------------------
 */

struct session *session_find(struct engine *engine, const char *id, struct err *e);
const char *session_state_name(enum session_state state);
uint64_t session_output_len(const struct session *session); /* bytes ever, both streams */

/* Walks live sessions, then suspended and dead ones, each oldest first, with those that are not
 * listed. Start with NULL; NULL at the end. */
struct session *session_next(struct engine *engine, struct session *previous);
