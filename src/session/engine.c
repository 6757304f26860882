#include "session/engine.h"

#include "jail/warden.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/lifespan.h"
#include "session/session.h"

#include <assert.h>

enum { START_ATTEMPTS = 3 }; /* of the default profile, before the daemon gives up */

static void end_all(struct engine *engine, enum death_wish wish, const char *detail)
{
    /* From the front each time: an answer may make its caller do something. */
    while (!list_is_empty(&engine->live)) {
        struct session *session = CONTAINER_OF(engine->live.next, struct session, node);
        if (session->ending.wish == DEATH_UNWISHED) {
            session->ending.wish = wish;
            session->ending.detail = detail;
        }
        session_die(session);
    }
}

static void on_warden_event(void *context, const struct warden_event *event)
{
    struct engine *engine = context;
    if (engine->is_stopping)
        return;
    if (event->type == WARDEN_LOST)
        end_all(engine, DEATH_BY_WARDEN, event->text);
    if (event->type == WARDEN_LOST && event->is_final)
        engine->events.on_lost(engine->events.context, event->text);
    else
        pool_on_event(engine->pool, event);
    if (event->type == WARDEN_LOST && !event->is_final)
        engine->events.on_notice(engine->events.context, "warden_lost", event->text);
    if (event->type == WARDEN_BACK)
        engine->events.on_back(engine->events.context, event->text);
}

static void on_notice(void *context, const char *event, const char *text)
{
    struct engine *engine = context;
    engine->events.on_notice(engine->events.context, event, text);
}

static void describe_zygote(const struct template *zygote, struct buf *out)
{
    const json_t *report = zygote->report;
    const char *python = json_string_value(json_object_get(report, "python"));
    buf_printf(out, "profile %s is loaded", zygote->profile->name);
    if (python != NULL)
        buf_printf(out, ": Python %s", python);
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(report, "skipped"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "import"));
        const char *reason = json_string_value(json_object_get(item, "reason"));
        buf_printf(out, "%s%s (%s)", i == 0 ? "; skipped: " : ", ", name ? name : "?",
                   reason ? reason : "?");
    }
}

static void on_zygote_ready(void *context, const struct template *zygote)
{
    struct engine *engine = context;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    describe_zygote(zygote, &text);
    on_notice(engine, "zygote_ready", buf_str(&text));
    if (engine->is_ready || strcmp(zygote->profile->name, engine->config.default_profile) != 0)
        return;
    engine->is_ready = true;
    engine->events.on_ready(engine->events.context);
}

static void on_zygote_ended(void *context, const struct template *zygote)
{
    struct engine *engine = context;
    bool is_awaited =
        !engine->is_ready && strcmp(zygote->profile->name, engine->config.default_profile) == 0;
    if (is_awaited && zygote->failures == START_ATTEMPTS)
        engine->events.on_unstartable(engine->events.context, zygote->failure);
}

int engine_new(const struct engine_config *config, const struct engine_events *events,
               struct warden *warden, uv_loop_t *loop, struct engine **ret_engine, struct err *e)
{
    struct engine *engine = mem_alloc(sizeof(*engine));
    engine->config = *config;
    engine->events = *events;
    engine->warden = warden;
    engine->loop = loop;
    engine->has_cores = uv_available_parallelism() > 1;
    list_init(&engine->live);
    list_init(&engine->dead);
    engine->pool = pool_new(&(struct pool_config){.profiles = config->profiles,
                                                  .n_profiles = config->n_profiles,
                                                  .default_profile = config->default_profile,
                                                  .limits = config->limits,
                                                  .size = config->pool_size,
                                                  .on_zygote_ready = on_zygote_ready,
                                                  .on_zygote_ended = on_zygote_ended,
                                                  .on_notice = on_notice,
                                                  .context = engine},
                            warden, loop);
    warden_attach(warden, loop, on_warden_event, engine);
    if (pool_warm(engine->pool, config->default_profile, e) < 0) {
        engine->is_stopping = true;
        pool_free(take_ptr(engine->pool));
        engine_free(engine);
        return -1;
    }
    *ret_engine = engine;
    return 0;
}

void engine_reconfigure(struct engine *engine, const struct engine_config *next)
{
    if (engine->is_stopping)
        return;
    struct engine_config config = *next;
    config.profiles = engine->config.profiles;
    config.n_profiles = engine->config.n_profiles;
    config.default_profile = engine->config.default_profile;
    engine->config = config;
    pool_set_limits(engine->pool, &config.limits, config.pool_size);
}

/* ---- stopping ----------------------------------------------------------------------------------
 */

struct stopping {
    struct engine *engine;
    struct loop_timer *timer;
};

static void stopped(void *context)
{
    struct stopping *stopping = context;
    struct engine *engine = stopping->engine;
    free(stopping);
    engine->on_stopped(engine->stop_context);
}

/* Handles that were closed before this timer was set are gone when it fires. */
static void check_stopped(void *context)
{
    struct stopping *stopping = context;
    if (stopping->engine->n_closing > 0)
        loop_timer_set(stopping->timer, 1);
    else
        loop_timer_close(take_ptr(stopping->timer), stopped);
}

void engine_stop(struct engine *engine, void (*on_stopped)(void *context), void *context)
{
    assert(!engine->is_stopping);
    engine->is_stopping = true;
    engine->on_stopped = on_stopped;
    engine->stop_context = context;
    end_all(engine, DEATH_BY_STOP, NULL);
    while (!list_is_empty(&engine->dead))
        session_free(CONTAINER_OF(engine->dead.next, struct session, node));
    lifespan_stop(engine);
    pool_free(take_ptr(engine->pool));
    struct stopping *stopping = mem_alloc(sizeof(*stopping));
    stopping->engine = engine;
    stopping->timer = loop_timer_new(engine->loop, check_stopped, stopping);
    loop_timer_set(stopping->timer, 0);
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    assert(engine->pool == NULL && engine->n_live == 0 && engine->n_dead == 0);
    map_free(&engine->sessions);
    free(engine);
}

/* ---- for callers -------------------------------------------------------------------------------
 */

uint64_t engine_awake_until_ns(void *engine)
{
    return ((struct engine *)engine)->awake_until_ns;
}

void engine_stats(const struct engine *engine, struct engine_stats *ret)
{
    *ret = (struct engine_stats){
        .is_ready = engine->is_ready,
        .sessions = (uint32_t)engine->n_live,
        .pooled = engine->pool != NULL ? (uint32_t)pool_n_ready(engine->pool) : 0,
    };
}

const struct pool *engine_pool(const struct engine *engine)
{
    return engine->pool;
}

const struct engine_config *engine_config(const struct engine *engine)
{
    return &engine->config;
}
