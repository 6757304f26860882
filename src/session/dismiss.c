#include "session/dismiss.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/session_parts.h"
#include "session/tickets.h"

enum { LOOK_MS = 20 }; /* between two looks whether anybody is left */

struct dismissal {
    struct session *session;
    struct loop_timer *timer;
    uint64_t until_ms; /* monotonic */
    uint64_t look;     /* the ticket of the one under way; 0: none */
    bool is_head_gone;
    void (*on_done)(void *context);
    void *context;
};

void dismiss_forget(struct session *session)
{
    struct dismissal *dismissal = take_ptr(session->dismissal);
    if (dismissal == NULL)
        return;
    if (dismissal->look != 0)
        tickets_forget(session->engine, dismissal->look);
    void (*on_done)(void *) = dismissal->on_done;
    void *context = dismissal->context;
    loop_timer_close(take_ptr(dismissal->timer), NULL);
    free(dismissal);
    if (on_done != NULL)
        on_done(context);
}

void dismissal_leave(struct dismissal *dismissal)
{
    dismissal->on_done = NULL;
    session_delete(dismissal->session);
}

static void look_again(struct dismissal *dismissal)
{
    uint64_t now_ms = clock_mono_ms();
    if (now_ms >= dismissal->until_ms)
        session_delete(dismissal->session);
    else
        loop_timer_set(dismissal->timer, MIN((uint64_t)LOOK_MS, dismissal->until_ms - now_ms));
}

static void on_looked(void *context, const struct warden_event *event)
{
    struct dismissal *dismissal = context;
    dismissal->look = 0;
    if (dismissal->is_head_gone && event->others == 0)
        session_delete(dismissal->session);
}

/* A look that is not answered does not keep the session from ending in time. */
static void on_timer(void *context)
{
    struct err ignored;
    struct dismissal *dismissal = context;
    struct session *session = dismissal->session;
    if (dismissal->look == 0 && session->room != NULL) {
        dismissal->look = pool_new_number(session->engine->pool);
        tickets_expect(session->engine, dismissal->look, WARDEN_LOOKED, on_looked, dismissal);
        warden_look(session->engine->warden, session->room->jail, dismissal->look, &ignored);
    }
    look_again(dismissal);
}

bool dismiss_outlives_head(struct session *session)
{
    if (session->dismissal == NULL)
        return false;
    session->dismissal->is_head_gone = true;
    return true;
}

/* Somebody may have something to finish. */
static bool needs_time(const struct session *session)
{
    bool is_at_work = session->state == SESSION_BUSY || session->background.is_on;
    return is_at_work && session->head != NULL && session->joined[0] == '\0' &&
           session->room->n_holds == 1 && session->engine->config.kill_grace_ms > 0 &&
           session->ending.wish == DEATH_UNWISHED && session->dismissal == NULL;
}

void session_dismiss(struct session *session, void (*on_done)(void *context), void *context,
                     struct dismissal **ret_dismissal)
{
    struct err ignored; /* then it is killed when its time is over */
    *ret_dismissal = NULL;
    if (!needs_time(session)) {
        session_delete(session);
        on_done(context);
        return;
    }
    struct dismissal *dismissal = mem_alloc(sizeof(*dismissal));
    *dismissal =
        (struct dismissal){.session = session,
                           .until_ms = clock_mono_ms() + session->engine->config.kill_grace_ms,
                           .on_done = on_done,
                           .context = context};
    dismissal->timer = loop_timer_new(session->engine->loop, on_timer, dismissal);
    session->dismissal = dismissal;
    session_note_ending(session, DEATH_BY_CALLER, NULL);
    warden_terminate(session->engine->warden, session->room->jail, &ignored);
    look_again(dismissal);
    *ret_dismissal = dismissal;
}
