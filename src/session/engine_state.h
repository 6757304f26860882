/* The engine's fields, for this room. Others see engine.h. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "session/engine.h"
#include "session/notebooks.h"
#include "session/pipe.h"
#include "session/timing.h"
#include "session/turns.h"

struct analyst;
struct head_listener;
struct loop_timer;
struct pool;
struct session;

enum {
    ENGINE_READ_BYTES = 64 * 1024, /* of a pipe in one turn of the loop */
    ENGINE_DEAD_MAX = 256,         /* dead sessions that stay listed */
};

/* How sessions go on after what happens to them. The files that only say what has happened call
 * it through here, and so do not depend on the files that decide. */
struct engine_hooks {
    void (*settle)(struct session *session);
    void (*on_alarm)(void *session); /* its timer */
    const struct head_listener *head;
};

struct engine {
    struct engine_config config;
    const struct engine_hooks *hooks;
    struct engine_events events;
    struct warden *warden;
    uv_loop_t *loop;
    struct pool *pool;
    struct map sessions; /* by id: all but those that are not listed */
    struct map tickets;  /* by number: see tickets.h */
    struct list live;    /* oldest first */
    struct list suspended;
    struct list dead;
    size_t n_live;
    size_t n_suspended;
    size_t n_dead;
    size_t n_running;                              /* cells */
    size_t n_port_links;                           /* connections to ports of sessions */
    size_t n_terminals;                            /* of all sessions */
    struct terminals_starter *terminals;           /* NULL before the first of them */
    struct timing_moment counted;                  /* when their number last changed */
    uint64_t awake_until_ns;                       /* see engine_awake_until_ns */
    struct spare_pipe spare_pipes[OUTPUT_STREAMS]; /* of the next cell of a burst */
    bool has_cores;              /* more than one: an interpreter can run while we stay awake */
    struct loop_timer *lifespan; /* NULL before the first session; see lifespan.h */
    uint64_t lifespan_due_ms;    /* monotonic; UINT64_MAX: it is not set */
    struct store *store;         /* NULL if nothing outlives the daemon */
    struct explore_boxes *explore_boxes; /* for archives and the web; NULL before the first */
    int blobs;                           /* descriptor of the blob store; -1: none */
    int searches;                        /* descriptor of the folder of indexes; -1: none */
    struct list to_save;                 /* of struct saving, with a due time */
    struct loop_timer *saving;           /* NULL before the first of them */
    struct analyst *analyst;             /* NULL when it stops */
    struct turns turns;                  /* who may copy its interpreter now */
    struct loop_timer *draining;         /* sessions are being saved before the stop; or NULL */
    uint64_t pressure_ms;    /* monotonic: when the machine's memory is looked at again */
    uint64_t drain_until_ms; /* monotonic */
    engine_admit_fn admit;   /* NULL if everybody may */
    void *admit_context;
    engine_call_fn run_call; /* NULL if code can call nothing */
    void *run_call_context;
    engine_chain_fn plan_chain; /* NULL if no cell is structured */
    void *plan_chain_context;
    struct notebooks notebooks;
    bool has_lost_warden; /* until another has taken its place */
    bool is_ready;
    bool is_stopping;
    size_t n_closing; /* sessions whose memory the loop still needs */
    void (*on_stopped)(void *context);
    void *stop_context;
    char scratch[ENGINE_READ_BYTES + 8]; /* what was read last; eight bytes of headroom */
};
