/* The end of sessions that nobody uses, in the daemon. Owns the engine's timer for it. */
#include "session/lifespan.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "session/end.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/suspend.h"

enum {
    LIFESPAN_SAVE_MS = 30 * 1000,
    DEAD_MS = 3600 * 1000, /* for which the files of a dead one can be read */
};

static uint64_t lifespan_dead_due_ms(const struct session *session)
{
    return session->life.died_ms + clock_scaled_ms(DEAD_MS);
}

/* When it ends if it is left alone until then. One that works now cannot be due before it has
 * rested for the whole time. */
static uint64_t lifespan_idle_due_ms(const struct session *session, uint64_t now_ms)
{
    if (session->life.idle_timeout_secs == 0)
        return UINT64_MAX;
    /* Also one whose cell waits for a line, or a tool's result, that nobody sends; not one that
     * somebody is connected to. */
    bool is_idle =
        !ports_are_used(session) && !terminals_are_open(session) &&
        (session->state == SESSION_IDLE || (session->running != NULL && session->running->stands));
    uint64_t since_ms = is_idle ? session->life.idle_since_ms : now_ms;
    uint64_t patience = session->background.is_on ? BACKGROUND_PATIENCE : 1;
    return since_ms + (uint64_t)session->life.idle_timeout_secs * 1000 * patience;
}

static uint64_t lifespan_age_due_ms(const struct session *session)
{
    if (session->life.max_age_secs == 0)
        return UINT64_MAX;
    return session->life.born_ms + (uint64_t)session->life.max_age_secs * 1000;
}

static void lifespan_set_timer(struct engine *engine, uint64_t due_ms, uint64_t now_ms)
{
    engine->lifespan_due_ms = due_ms;
    if (due_ms != UINT64_MAX)
        loop_timer_set(engine->lifespan, due_ms - MIN(now_ms, due_ms) + 1);
}

/* Of a suspended one: when it is given up, by the clock that goes on while the daemon does not. */
static uint64_t lifespan_forgotten_due_ms(const struct session *session, uint64_t now_ms)
{
    uint64_t ttl_ms = (uint64_t)session->engine->config.suspended_ttl_secs * 1000;
    uint64_t wall_ms = clock_wall_ms(), end_ms = session->life.suspended_at_ms + ttl_ms;
    if (ttl_ms == 0)
        return UINT64_MAX;
    return now_ms + (end_ms > wall_ms ? end_ms - wall_ms : 0);
}

static void lifespan_on_due(void *context)
{
    struct engine *engine = context;
    uint64_t now_ms = clock_mono_ms(), next_ms = UINT64_MAX;
    LIST_EACH(&engine->live, node) {
        struct session *session = CONTAINER_OF(node, struct session, node);
        uint64_t idle_ms = lifespan_idle_due_ms(session, now_ms),
                 age_ms = lifespan_age_due_ms(session);
        if (age_ms <= now_ms)
            session_end(session, DEATH_BY_AGE);
        else if (idle_ms > now_ms)
            next_ms = MIN(next_ms, MIN(idle_ms, age_ms));
        else if (!suspend_soon(session))
            session_end(session, DEATH_BY_IDLENESS);
        else {
            if (session->running != NULL)
                exec_interrupt(session); /* it waits for a line that nobody sends */
            /* If the session cannot be saved, that is tried again. */
            next_ms = MIN(next_ms, now_ms + LIFESPAN_SAVE_MS);
        }
    }
    LIST_EACH(&engine->suspended, node) {
        struct session *session = CONTAINER_OF(node, struct session, node);
        uint64_t due_ms = lifespan_forgotten_due_ms(session, now_ms);
        if (due_ms <= now_ms)
            session_delete(session);
        else
            next_ms = MIN(next_ms, due_ms);
    }
    LIST_EACH(&engine->dead, node) {
        struct session *session = CONTAINER_OF(node, struct session, node);
        if (!session->files.are_left)
            continue;
        if (lifespan_dead_due_ms(session) <= now_ms)
            session_free(session);
        else
            next_ms = MIN(next_ms, lifespan_dead_due_ms(session));
    }
    lifespan_set_timer(engine, next_ms, now_ms);
}

void lifespan_watch(struct session *session)
{
    struct engine *engine = session->engine;
    uint64_t now_ms = clock_mono_ms();
    uint64_t due_ms = MIN(lifespan_idle_due_ms(session, now_ms), lifespan_age_due_ms(session));
    if (session->state == SESSION_SUSPENDED)
        due_ms = lifespan_forgotten_due_ms(session, now_ms);
    else if (session->state == SESSION_DEAD)
        due_ms = lifespan_dead_due_ms(session);
    if (engine->lifespan == NULL) {
        engine->lifespan = loop_timer_new(engine->loop, lifespan_on_due, engine);
        engine->lifespan_due_ms = UINT64_MAX;
    }
    if (due_ms < engine->lifespan_due_ms)
        lifespan_set_timer(engine, due_ms, now_ms);
}

void lifespan_stop(struct engine *engine)
{
    loop_timer_close(take_ptr(engine->lifespan), NULL);
}
