/* Unused sessions are suspended, too old ones end. One timer for all of them,
 * set to the first time that a session could be due: a session that is used again moves its own
 * time, not the timer, so that using a session costs nothing and an idle daemon wakes once in
 * minutes at most. */
#pragma once

#include "base/base.h"

struct engine;
struct session;

struct lifespan {
    uint32_t idle_timeout_secs; /* 0 if it may be idle for ever */
    uint32_t max_age_secs;      /* 0 if it may live for ever */
    /* Wall clock. In microseconds, because several sessions may be made in one millisecond. */
    uint64_t spawned_at_us;
    /* Wall clock: when a cell last began or ended, or the session was made. What callers are told
     * as `used_at`, and what lists are sorted by; a look at the session does not count. In
     * microseconds, because several sessions may run a cell in one millisecond. */
    uint64_t last_cell_at_us;
    uint64_t born_ms; /* monotonic: since when it lives */
    /* Monotonic: what idle_timeout_secs counts from. Moved by session_restart_idle: whenever a
     * caller wants anything of the session, and while processes of its own work. */
    uint64_t idle_since_ms;
    uint64_t suspended_at_ms; /* wall clock: since when it is suspended, or last was */
    uint64_t died_ms;         /* monotonic: since when it is dead */
    bool wants_rest;          /* the session is to be suspended once it is saved */
    bool is_stale; /* a time-out has changed: it may be due earlier than before; until settle.c has
                      passed that on */
};

/* The session may be due earlier than the timer is set to. */
void lifespan_watch(struct session *session);
void lifespan_stop(struct engine *engine);
