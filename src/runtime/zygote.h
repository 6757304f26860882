/* A zygote as the daemon sees it: one interpreter with a profile's libraries loaded, from which
 * heads are forked. It starts on first use, is started again with growing pauses when it ends, and
 * after a number of failures in a row rests until somebody asks for it again.
 *
 *   ASLEEP --want--> STARTING --ready--> READY
 *   STARTING, READY --ended--> PAUSED --pause over--> STARTING, or after many failures ASLEEP
 */
#pragma once

#include "base/err.h"
#include "jail/warden.h"
#include "runtime/runtime.h"

#include <jansson.h>

struct loop_timer;

enum zygote_state { ZYGOTE_ASLEEP, ZYGOTE_STARTING, ZYGOTE_READY, ZYGOTE_PAUSED };

struct zygote;

struct zygote_listener {
    void (*on_ready)(struct zygote *zygote);
    void (*on_ended)(struct zygote *zygote); /* `failure` says why */
};

struct zygote {
    const struct runtime *runtime;
    const struct runtime_profile *profile;
    struct warden *warden;
    const struct zygote_listener *listener;
    void *owner;
    uint32_t number; /* in the warden; a new one for each start */
    enum zygote_state state;
    unsigned failures;        /* in a row */
    uint64_t ready_at_ms;     /* monotonic */
    struct loop_timer *timer; /* STARTING: its deadline. PAUSED: the end of the pause */
    json_t *report;           /* what it said about itself; NULL before it was ready once */
    char failure[512];        /* of the last end; "" if there was none */
};

void zygote_init(struct zygote *z, const struct runtime *runtime,
                 const struct runtime_profile *profile, struct warden *warden, uv_loop_t *loop,
                 const struct zygote_listener *listener, void *owner);
void zygote_close(struct zygote *z);

/* Starts it if it sleeps. An error says why there is none now and when to try again. */
int zygote_want(struct zygote *z, struct err *e);
/* WARDEN_ZYGOTE_READY and WARDEN_ZYGOTE_EXITED of its number. */
void zygote_on_event(struct zygote *z, const struct warden_event *event);

const char *zygote_state_name(enum zygote_state state);
