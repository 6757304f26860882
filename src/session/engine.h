/* session: live interpreters with an identity. Promises: one cell at a time, each with its own
 * output; a cell that misbehaves costs its session at most; whatever ends early is explained. Owns
 * sessions, their queues, outputs and deaths, and what is in memory of their notebooks. May call
 * runtime and store and what lies below.
 *
 * The engine is the root object of the daemon: configuration values, the warden, the pool and the
 * map of sessions. It is made by serve, used by ops, and lives on one loop. */
#pragma once

#include "base/err.h"
#include "jail/spec.h"
#include "runtime/runtime.h"

typedef struct uv_loop_s uv_loop_t;
struct engine;
struct pool;
struct warden;

/* What is kept of notebooks. */
struct notebooks_config {
    uint64_t max_cells;       /* of one notebook; what runs beyond that is not recorded */
    uint32_t max_output_kb;   /* of stream text in one cell */
    uint32_t max_pictures_mb; /* of one notebook; its session's disk_mb if that is less */
    uint32_t ttl_days;        /* of notebooks whose session is gone; 0: for ever */
};

/* Everything here is borrowed and must outlive the engine. */
struct engine_config {
    const struct runtime_profile *profiles;
    size_t n_profiles;
    const char *default_profile; /* the name of a profile */
    struct jail_limits limits;   /* of sessions that ask for none */
    uint32_t pool_size;          /* ready sessions for each warm profile */
    uint32_t max_sessions;       /* live ones */
    size_t max_output_bytes;     /* kept for each stream of a session */
    uint32_t idle_timeout_secs;  /* of sessions that ask for none; 0: they may be idle for ever */
    uint32_t max_age_secs;       /* likewise */
    uint32_t checkpoints_kept;   /* of each session */
    uint32_t kill_grace_ms;      /* from SIGTERM to SIGKILL, where processes work */
    uint32_t state_mb;           /* of one session's durable state */
    uint32_t suspended_ttl_secs; /* in which a suspended session is wanted again; 0: for ever */
    bool redacts_all;            /* credentials in what all sessions show, */
    bool redacts_credentials;    /* in what those show that explore */
    float least_resemblance;     /* in their research trees; see research.h */
    uint32_t preview_chars;      /* of an output of theirs that is a file, in an answer; 0: usual */
    uint32_t context_mb;         /* of one text that they explore */
    uint32_t output_cap;         /* characters that a cell of theirs shows in an answer */
    char spill_dir[64];          /* where functions find the output of cells that show more */
    struct notebooks_config notebooks;
};

/* What the daemon around the engine wants to know. Rooms below do not log; they tell. */
struct engine_events {
    void (*on_ready)(void *context); /* once: the default profile's zygote is loaded */
    /* Something an administrator should read: `event` is a stable word, `text` the details. */
    void (*on_notice)(void *context, const char *event, const char *text);
    void (*on_lost)(void *context, const char *text); /* there is no warden: stop the daemon */
    /* A new warden has taken the place of one that ended: all that ran is gone, and the listener
     * is to remove the workspaces that belong to no session. */
    void (*on_back)(void *context, const char *text);
    /* The default profile cannot be loaded: on_ready would never come. Not to be answered with
     * engine_stop at once, only from the loop. */
    void (*on_unstartable)(void *context, const char *text);
    void *context;
};

/* A session that is to live: a new one, a copy of another, one that comes back. */
struct engine_candidate {
    const char *agent;   /* NULL for nobody in particular */
    const char *binding; /* NULL if unknown */
    const struct runtime *runtime;
    const struct jail_limits *limits; /* NULL for the usual, or those of the joined jail */
    bool is_known;                    /* it exists, suspended */
};

/* Asked before every one of them; what it refuses does not live. */
typedef int (*engine_admit_fn)(void *context, struct engine *engine,
                               const struct engine_candidate *candidate, struct err *e);
void engine_set_admission(struct engine *engine, engine_admit_fn fn, void *context);

struct code_call;

/* Runs an operation that the code of a session's cell calls (session/calls.h). */
typedef void (*engine_call_fn)(void *context, struct code_call *call);
void engine_set_caller(struct engine *engine, engine_call_fn fn, void *context);

struct chain_turn;

/* Runs the calls of a structured cell in place of its interpreter, or says that this is to run it
 * (session/chains.h). */
typedef void (*engine_chain_fn)(void *context, struct chain_turn *turn);
void engine_set_chainer(struct engine *engine, engine_chain_fn fn, void *context);

struct store;

/* From now on sessions are kept there, what they run is recorded in notebooks, and sessions that
 * are there already can be brought back. To be called before the first one is made. `blobs` is
 * where files and states lie. Borrowed: until engine_free. */
int engine_use_store(struct engine *engine, struct store *store, int blobs, struct err *e);

/* A folder for the indexes of sessions that search; what is in it is removed. Borrowed: until
 * engine_free. Without one nothing can be searched. */
void engine_use_searches(struct engine *engine, int folder);

/* Attaches itself to the warden and starts the default profile's zygote. */
int engine_new(const struct engine_config *config, const struct engine_events *events,
               struct warden *warden, uv_loop_t *loop, struct engine **ret_engine, struct err *e);

/* Limits and numbers for what comes; sessions that exist keep theirs. Profiles stay as they are. */
void engine_reconfigure(struct engine *engine, const struct engine_config *next);

/* Ends every session; callers that wait get their answer at once. `on_stopped` is called from the
 * loop when no handle of the engine is left on it; then engine_free, then warden_free. */
void engine_stop(struct engine *engine, void (*on_stopped)(void *context), void *context);
void engine_free(struct engine *engine);

/* For loop_run: a lone short cell is about to be answered, or was just answered and the next may
 * follow at once. Never while several cells run: then there is work enough, and cores are scarce.
 */
uint64_t engine_awake_until_ns(void *engine);

/* For health. */
struct engine_stats {
    bool is_ready;
    uint32_t sessions; /* live */
    uint32_t pooled;   /* interpreters that wait for a session */
    size_t copying;    /* checkpoints and saves that have their turn */
    size_t to_copy;    /* sessions that wait for their turn */
};

void engine_stats(const struct engine *engine, struct engine_stats *ret);
const struct pool *engine_pool(const struct engine *engine); /* NULL when it stops */
struct store *engine_store(const struct engine *engine);     /* NULL if there is none */
const struct engine_config *engine_config_of(const struct engine *engine);
uv_loop_t *engine_loop(const struct engine *engine);
