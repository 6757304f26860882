/* What the pool and its shelves share. */
#pragma once

#include "base/map.h"
#include "runtime/pool.h"

struct loop_timer;

enum {
    SHELF_REFILL_MS = 2, /* after a head was taken: its session's first cell goes first */
    /* After one was taken for a moment, unless it is over before: forking takes a core for longer
     * than all that is done with such a head. */
    SHELF_BRIEF_MS = 10,
};

/* The ready heads of one profile. */
struct shelf {
    struct pool *pool;
    struct runtime_zygote zygote;
    struct list ready;    /* heads, oldest first */
    struct list waiting;  /* heads of sessions, for the zygote */
    struct head *filling; /* the one being made for the shelf */
    size_t n_ready;
    uint64_t hits, misses;    /* see struct pool_stats */
    unsigned failures;        /* of entering, in a row */
    struct loop_timer *timer; /* filling: its deadline; else the next refill */
    bool is_patient;          /* the next refill waits for the end of a head */
    bool has_states;          /* heads of it were taken to begin or end with a state */
};

struct pool {
    struct pool_config config;
    struct warden *warden;
    uv_loop_t *loop;
    struct map heads;     /* by number: all that are not released */
    struct map snapshots; /* likewise */
    struct map rooms;     /* by jail number */
    struct map leaving;   /* likewise: names of workspaces that go with a jail which is ending */
    uint64_t last_number;
    struct shelf *shelves; /* one for each profile */
    bool is_stopping;
};

/* ---- pool.c ---------------------------------------------------------------------------------- */

struct head *pool_make_head(struct shelf *shelf, struct room *room,
                            const struct head_listener *listener, void *owner);

/* ---- shelf.c --------------------------------------------------------------------------------- */

void shelf_init(struct shelf *shelf, struct pool *pool, const struct runtime_profile *profile);
uint32_t shelf_size(const struct shelf *shelf); /* how many it should have */
/* A head that is ready, else the one that is being made for the shelf; NULL if neither. */
struct head *shelf_take(struct shelf *shelf, bool is_brief);
void shelf_refill_soon(struct shelf *shelf, uint64_t in_ms);
/* A head of this profile is over: a refill that waited for that need not wait. */
void shelf_stop_waiting(struct pool *pool, const struct runtime_profile *profile);
