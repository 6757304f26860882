/* A zygote as the daemon sees it: one process from which heads are forked, an interpreter with a
 * profile's libraries loaded or a launcher of interpreters. It starts on first use, is started
 * again with growing pauses when it ends, and after a number of failures in a row rests until
 * a session asks for it again.
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

enum runtime_zygote_state { ZYGOTE_ASLEEP, ZYGOTE_STARTING, ZYGOTE_READY, ZYGOTE_PAUSED };

struct runtime_zygote;

struct runtime_zygote_listener {
    void (*on_ready)(struct runtime_zygote *zygote);
    void (*on_ended)(struct runtime_zygote *zygote); /* `failure` says why */
};

struct runtime_zygote {
    const struct runtime_profile *profile;
    struct warden *warden;
    const struct runtime_zygote_listener *listener;
    void *owner;
    uint32_t number; /* in the warden; a new one for each start */
    enum runtime_zygote_state state;
    unsigned failures;        /* in a row */
    uint64_t started_at_ms;   /* monotonic; 0: never */
    uint64_t ready_at_ms;     /* likewise; of the last time */
    struct loop_timer *timer; /* STARTING: its deadline. PAUSED: the end of the pause */
    json_t *report;           /* what it said about itself; NULL before it was ready once */
    char failure[512];        /* of the last end; "" if there was none */
};

void runtime_zygote_init(struct runtime_zygote *z, const struct runtime_profile *profile,
                         struct warden *warden, uv_loop_t *loop,
                         const struct runtime_zygote_listener *listener, void *owner);
void runtime_zygote_close(struct runtime_zygote *z);

/* Starts it if it sleeps. An error says why there is none now and when to try again. */
int runtime_zygote_want(struct runtime_zygote *z, struct err *e);
/* WARDEN_ZYGOTE_READY and WARDEN_ZYGOTE_EXITED of its number. */
void runtime_zygote_on_event(struct runtime_zygote *z, const struct warden_event *event);
/* The warden, and with it this zygote, ended: it pauses until there is a warden again. */
void runtime_zygote_lose(struct runtime_zygote *z);
void runtime_zygote_resume(struct runtime_zygote *z);
