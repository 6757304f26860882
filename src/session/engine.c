/* The engine, in the daemon: its start and stop, what the warden tells, and the hooks that join the
 * files that report to those that decide. */
#include "session/engine.h"

#include "base/clock.h"
#include "explore/boxes.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "search/library.h"
#include "session/analyst.h"
#include "session/creation.h"
#include "session/end.h"
#include "session/engine_state.h"
#include "session/events.h"
#include "session/lifespan.h"
#include "session/runs.h"
#include "session/settle.h"
#include "session/suspend.h"
#include "session/tickets.h"

#include <assert.h>

enum {
    START_ATTEMPTS = 3, /* of the default profile, before the daemon gives up */
    DRAIN_MS = 5000,    /* for sessions to be saved when the daemon stops */
    DRAIN_LOOK_MS = 5,
};

static void engine_end_all(struct list *sessions, enum death_wish wish, const char *detail)
{
    /* From the front each time: an answer may make its caller do something. */
    while (!list_is_empty(sessions)) {
        struct session *session = CONTAINER_OF(sessions->next, struct session, node);
        /* A channel that closed may have been the first sign of it. */
        if (session->ending.wish == DEATH_UNWISHED || session->ending.wish == DEATH_BY_CLOSING) {
            session->ending.wish = wish;
            session->ending.detail = detail;
        }
        session_die(session);
    }
}

static void engine_on_warden_event(void *context, const struct warden_event *event)
{
    struct engine *engine = context;
    bool is_taken = !engine->is_stopping && tickets_on_event(engine, event);
    if (event->type == WARDEN_SOCKET && !is_taken && event->fd >= 0)
        close(event->fd); /* nobody waits for it any more */
    if (is_taken || engine->is_stopping || terminals_on_event(engine, event))
        return;
    if (event->type == WARDEN_LOST) {
        /* Every process of every session is gone. Those that are saved can come back. */
        engine->has_lost_warden = true;
        LIST_EACH(&engine->live, node) {
            struct session *session = CONTAINER_OF(node, struct session, node);
            if (!event->is_final && saving_is_resumable(session))
                suspend_after_loss(session, event->text);
        }
        engine_end_all(&engine->live, DEATH_BY_WARDEN, event->text);
        tickets_free(engine); /* nobody will answer */
    }
    if (event->type == WARDEN_LOST && event->is_final)
        engine->events.on_lost(engine->events.context, event->text);
    else
        pool_on_event(engine->pool, event);
    if (event->type == WARDEN_LOST && !event->is_final)
        engine->events.on_notice(engine->events.context, "warden_lost", event->text);
    if (event->type != WARDEN_BACK)
        return;
    engine->has_lost_warden = false;
    engine->events.on_back(engine->events.context, event->text);
    LIST_EACH(&engine->suspended, node) {
        session_changed(CONTAINER_OF(node, struct session, node)); /* cells may wait for it */
    }
}

static void engine_on_notice(void *context, const char *event, const char *text)
{
    struct engine *engine = context;
    engine->events.on_notice(engine->events.context, event, text);
}

static void engine_on_left(void *context, const char *workspace)
{
    runs_on_left(context, workspace);
}

static void engine_describe_zygote(const struct runtime_zygote *zygote, struct buf *out)
{
    const json_t *report = zygote->report;
    const char *python = json_string_value(json_object_get(report, "python"));
    buf_printf(out, "profile %s is loaded", zygote->profile->name);
    if (python != NULL)
        buf_printf(out, ": Python %s", python);
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(report, "skipped"), i, item) {
        const char *name = json_string_value(json_object_get(item, "import"));
        const char *reason = json_string_value(json_object_get(item, "reason"));
        buf_printf(out, "%s%s (%s)", i == 0 ? "; skipped: " : ", ", name ? name : "?",
                   reason ? reason : "?");
    }
}

static void engine_on_zygote_ready(void *context, const struct runtime_zygote *zygote)
{
    struct engine *engine = context;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    engine_describe_zygote(zygote, &text);
    engine_on_notice(engine, "zygote_ready", buf_str(&text));
    if (engine->is_ready || strcmp(zygote->profile->name, engine->config.default_profile) != 0)
        return;
    engine->is_ready = true;
    engine->events.on_ready(engine->events.context);
}

static void engine_on_zygote_ended(void *context, const struct runtime_zygote *zygote)
{
    struct engine *engine = context;
    bool is_awaited =
        !engine->is_ready && strcmp(zygote->profile->name, engine->config.default_profile) == 0;
    if (is_awaited && zygote->failures == START_ATTEMPTS)
        engine->events.on_unstartable(engine->events.context, zygote->failure);
}

static const struct engine_hooks engine_hooks = {
    .settle = session_settle, .on_alarm = events_on_alarm, .head = &events_head_listener};

/* What the configuration does not say. */
static void engine_fill_in(struct engine_config *config)
{
    if (config->checkpoints_kept == 0)
        config->checkpoints_kept = TIMELINE_KEPT_DEFAULT;
    if (config->state_mb == 0)
        config->state_mb = SAVING_MB_DEFAULT;
}

int engine_new(const struct engine_config *config, const struct engine_events *events,
               struct warden *warden, uv_loop_t *loop, struct engine **ret_engine, struct err *e)
{
    struct engine *engine = mem_alloc(sizeof(*engine));
    engine->config = *config;
    engine->events = *events;
    engine->warden = warden;
    engine->loop = loop;
    engine->blobs = -1;
    engine->searches = -1;
    engine->hooks = &engine_hooks;
    engine_fill_in(&engine->config);
    engine->has_cores = uv_available_parallelism() > 1;
    list_init(&engine->live);
    list_init(&engine->suspended);
    list_init(&engine->dead);
    list_init(&engine->to_save);
    tasks_init(&engine->notebooks.tasks, engine);
    turns_init(engine);
    engine->pool = pool_new(&(struct pool_config){.profiles = config->profiles,
                                                  .n_profiles = config->n_profiles,
                                                  .default_profile = config->default_profile,
                                                  .limits = config->limits,
                                                  .size = config->pool_size,
                                                  .on_zygote_ready = engine_on_zygote_ready,
                                                  .on_zygote_ended = engine_on_zygote_ended,
                                                  .on_left = engine_on_left,
                                                  .on_notice = engine_on_notice,
                                                  .context = engine},
                            warden, loop);
    warden_attach(warden, loop, engine_on_warden_event, engine);
    if (pool_warm(engine->pool, config->default_profile, e) < 0) {
        engine->is_stopping = true;
        pool_free(take_ptr(engine->pool));
        engine_free(engine);
        return -1;
    }
    engine->analyst = analyst_new(engine);
    *ret_engine = engine;
    return 0;
}

void engine_reconfigure(struct engine *engine, const struct engine_config *next)
{
    if (engine->is_stopping)
        return;
    struct notebooks_config before = engine->config.notebooks;
    struct engine_config config = *next;
    config.profiles = engine->config.profiles;
    config.n_profiles = engine->config.n_profiles;
    config.default_profile = engine->config.default_profile;
    engine_fill_in(&config);
    engine->config = config;
    pool_set_limits(engine->pool, &config.limits, config.pool_size);
    notebooks_reconfigure(engine, &before);
}

/* ---- stopping -------------------------------------------------------------------------------- */

struct stopping {
    struct engine *engine;
    struct loop_timer *timer;
};

static void engine_stopped(void *context)
{
    struct stopping *stopping = context;
    struct engine *engine = stopping->engine;
    free(stopping);
    engine->on_stopped(engine->stop_context);
}

/* Handles that were closed before this timer was set are gone when it fires. */
static void engine_check_stopped(void *context)
{
    struct stopping *stopping = context;
    if (stopping->engine->n_closing > 0)
        loop_timer_set(stopping->timer, 1);
    else
        loop_timer_close(take_ptr(stopping->timer), engine_stopped);
}

static void engine_stop_now(struct engine *engine)
{
    loop_timer_close(take_ptr(engine->draining), NULL);
    engine->is_stopping = true;
    engine_end_all(&engine->live, DEATH_BY_STOP, NULL);
    engine_end_all(&engine->suspended, DEATH_BY_STOP, NULL);
    while (!list_is_empty(&engine->dead))
        session_free(CONTAINER_OF(engine->dead.next, struct session, node));
    lifespan_stop(engine);
    terminals_stop(engine);
    saving_stop(engine);
    turns_stop(engine);
    exec_pipes_drop(engine);
    explore_boxes_free(take_ptr(engine->explore_boxes));
    analyst_free(take_ptr(engine->analyst));
    pool_free(take_ptr(engine->pool));
    struct stopping *stopping = mem_alloc(sizeof(*stopping));
    stopping->engine = engine;
    stopping->timer = loop_timer_new(engine->loop, engine_check_stopped, stopping);
    loop_timer_set(stopping->timer, 0);
}

static void engine_drain(void *context)
{
    struct engine *engine = context;
    bool is_saving = false; /* some session has something that could still be saved */
    LIST_EACH(&engine->live, node) {
        const struct session *session = CONTAINER_OF(node, struct session, node);
        if (suspend_is_possible(session) && session->state == SESSION_IDLE)
            is_saving |= saving_is_under_way(session) || !saving_is_complete(session);
    }
    if (is_saving && clock_mono_ms() < engine->drain_until_ms)
        loop_timer_set(engine->draining, DRAIN_LOOK_MS);
    else
        engine_stop_now(engine);
}

void engine_stop(struct engine *engine, void (*on_stopped)(void *context), void *context)
{
    assert(!engine->is_stopping && engine->draining == NULL);
    engine->on_stopped = on_stopped;
    engine->stop_context = context;
    engine->drain_until_ms = clock_mono_ms() + clock_scaled_ms(DRAIN_MS);
    engine->draining = loop_timer_new(engine->loop, engine_drain, engine);
    LIST_EACH(&engine->live, node) {
        struct session *session = CONTAINER_OF(node, struct session, node);
        saving_hurry(session);
        session_changed(session);
    }
    engine_drain(engine);
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    assert(engine->pool == NULL && engine->n_live == 0 && engine->n_dead == 0);
    notebooks_close(engine);
    map_free(&engine->sessions);
    tickets_free(engine);
    free(engine);
}

void engine_use_searches(struct engine *engine, int folder)
{
    engine->searches = folder;
    search_remove_all(folder);
}

/* ---- for callers ----------------------------------------------------------------------------- */

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
    turns_count(engine, &ret->copying, &ret->to_copy);
}

void engine_set_admission(struct engine *engine, engine_admit_fn fn, void *context)
{
    engine->admit = fn;
    engine->admit_context = context;
}

void engine_set_caller(struct engine *engine, engine_call_fn fn, void *context)
{
    engine->run_call = fn;
    engine->run_call_context = context;
}

void engine_set_chainer(struct engine *engine, engine_chain_fn fn, void *context)
{
    engine->plan_chain = fn;
    engine->plan_chain_context = context;
}

struct store *engine_store(const struct engine *engine)
{
    return engine->store;
}

const struct pool *engine_pool(const struct engine *engine)
{
    return engine->pool;
}

uv_loop_t *engine_loop(const struct engine *engine)
{
    return engine->loop;
}

const struct engine_config *engine_config_of(const struct engine *engine)
{
    return &engine->config;
}

int engine_use_store(struct engine *engine, struct store *store, int blobs, struct err *e)
{
    engine->store = store;
    engine->blobs = blobs;
    return creation_load_all(engine, e) < 0 ? -1 : notebooks_open(engine, e);
}
