/* What sessions use, in the daemon. Owns session->usage. */
#include "session/usage.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/session.h"
#include "session/tickets.h"

enum { FRESH_MS = 1000, USAGE_PATIENCE_MS = 200 };

struct usage_look {
    struct usage_asking *asking;
    uint64_t ticket;    /* 0: it was answered */
    char id[UUID_SIZE]; /* of the session, which may be gone by then */
};

struct usage_asking {
    struct engine *engine;
    struct usage_look *looks;
    size_t n_looks;
    size_t n_open;
    struct loop_timer *timer;
    void (*fn)(void *context);
    void *context;
};

void usage_forget(struct usage_asking *asking)
{
    for (size_t i = 0; i < asking->n_looks; i++)
        if (asking->looks[i].ticket != 0)
            tickets_forget(asking->engine, asking->looks[i].ticket);
    loop_timer_close(take_ptr(asking->timer), NULL);
    free(asking->looks);
    free(asking);
}

static void usage_tell(struct usage_asking *asking)
{
    void (*fn)(void *) = asking->fn;
    void *context = asking->context;
    usage_forget(asking);
    fn(context);
}

static void usage_on_impatience(void *context)
{
    usage_tell(context);
}

static void usage_on_weighed(void *context, const struct warden_event *event)
{
    struct err ignored;
    struct usage_look *look = context;
    struct usage_asking *asking = look->asking;
    struct session *session = session_find(asking->engine, look->id, &ignored);
    look->ticket = 0;
    if (session != NULL)
        session->usage = (struct usage){
            .memory_bytes = event->bytes, .cpu_us = event->cpu_us, .at_ms = clock_mono_ms()};
    if (--asking->n_open == 0)
        usage_tell(asking);
}

/* A session in a sandbox that nobody has asked about for a moment. */
static bool usage_is_stale(const struct session *session, uint64_t now_ms)
{
    bool is_known = session->usage.at_ms != 0 && now_ms < session->usage.at_ms + FRESH_MS;
    return session->head != NULL && session->room != NULL && session->state != SESSION_STARTING &&
           !is_known;
}

void usage_ask(struct engine *engine, struct session *const *sessions, size_t n,
               void (*fn)(void *context), void *context, struct usage_asking **ret)
{
    struct err ignored;
    uint64_t now_ms = clock_mono_ms();
    struct usage_asking *asking = mem_alloc(sizeof(*asking));
    *asking = (struct usage_asking){.engine = engine, .fn = fn, .context = context};
    asking->looks = mem_alloc((n + 1) * sizeof(*asking->looks));
    for (size_t i = 0; i < n && engine->pool != NULL; i++) {
        struct usage_look *look = &asking->looks[asking->n_looks];
        if (!usage_is_stale(sessions[i], now_ms))
            continue;
        uint64_t ticket = pool_new_number(engine->pool);
        if (warden_weigh(engine->warden, sessions[i]->room->jail, ticket, &ignored) < 0)
            continue;
        *look = (struct usage_look){.asking = asking, .ticket = ticket};
        memcpy(look->id, sessions[i]->id, sizeof(look->id));
        tickets_expect(engine, ticket, WARDEN_WEIGHED, usage_on_weighed, look);
        asking->n_looks++;
    }
    asking->n_open = asking->n_looks;
    *ret = NULL;
    if (asking->n_open == 0) {
        usage_tell(asking);
        return;
    }
    asking->timer = loop_timer_new(engine->loop, usage_on_impatience, asking);
    loop_timer_set(asking->timer, USAGE_PATIENCE_MS);
    *ret = asking;
}
