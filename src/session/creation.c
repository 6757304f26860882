/* How sessions come about, in the daemon: new, as a copy of another, or out of the store. */
#include "session/creation.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/head.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/line.h"
#include "session/notebooks.h"
#include "session/setup.h"
#include "session/spec.h"
#include "session/suspend.h"
#include "wire/json.h"

enum { START_MS = 150 * 1000 }; /* a zygote may have to load its libraries first */

static int creation_refuse_join(const struct session_request *request, struct err *e)
{
    const struct session *join = request->join;
    if (join == NULL)
        return 0;
    if (request->limits != NULL) {
        err_set(e, ERR_INVALID, "limits cannot be given together with join");
        return err_advise(e, "A session that joins another shares its limits; leave them out.");
    }
    if (join->head != NULL && join->state != SESSION_STARTING &&
        join->ending.wish == DEATH_UNWISHED)
        return 0;
    err_set(e, ERR_CONFLICT, "the session %s has ended or has not started: nobody can join it",
            join->id);
    return err_advise(e, "Join a session whose state is idle or busy.");
}

/* What the request says, and what it leaves to the configuration. */
static void creation_take_request(struct session *session, const struct session_request *request,
                                  const char *cwd)
{
    const struct engine_config *config = &session->engine->config;
    session->runtime = request->runtime;
    session->is_unlisted = request->is_unlisted;
    session->exit_ends = request->exit_ends;
    session->usual = request->usual;
    session->agent = request->agent != NULL ? mem_strdup(request->agent) : NULL;
    session->binding = request->binding != NULL ? mem_strdup(request->binding) : NULL;
    session->person = request->person != NULL ? mem_strdup(request->person) : NULL;
    session->name = request->name != NULL ? mem_strdup(request->name) : NULL;
    session->labels =
        json_object_size(request->labels) > 0 ? json_deep_copy(request->labels) : NULL;
    snprintf(session->cwd, sizeof(session->cwd), "%s", cwd);
    session->env = json_deep_copy(request->env);
    if (request->join != NULL)
        memcpy(session->joined, request->join->id, sizeof(session->joined));
    const uint32_t *idle = request->idle_timeout_secs, *age = request->max_age_secs;
    session->life.idle_timeout_secs = idle != NULL ? *idle : config->idle_timeout_secs;
    session->life.max_age_secs = age != NULL ? *age : config->max_age_secs;
    size_t ring_max = request->max_output_bytes;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_init(&session->rings[i], ring_max > 0 ? ring_max : config->max_output_bytes);
    const struct jail_limits *limits = request->limits != NULL ? request->limits : &config->limits;
    timeline_init(session, limits->checkpoint_mb > 0 ? request->checkpoints : TIMELINE_OFF);
    saving_init(session, request->durable);
    exploring_init(session);
    searching_init(session);
    session->exploring.is_on = request->explores;
    if (request->tools != NULL)
        session->handed.tools = handed_make(request->tools, request->tool_deadline_ms);
    session->saving.isolation = request->isolation;
    session->starter.on_started = request->on_started;
    session->starter.context = request->context;
}

static void creation_init_lists(struct session *session)
{
    list_init(&session->queue);
    list_init(&session->late);
    list_init(&session->spent);
    list_init(&session->kept);
    list_init(&session->held);
    list_init(&session->names.waits);
    list_init(&session->files.orders);
    list_init(&session->files.unsaved);
    list_init(&session->declared.waits);
    list_init(&session->branches.ordered);
    assistants_init(session);
    handed_init(session);
    ports_init(session);
    terminals_init(session);
}

/* The session exists from here on: it is found, counted and timed. */
static void creation_enlist(struct session *session)
{
    struct engine *engine = session->engine;
    session->life.last_cell_at_us = session->life.spawned_at_us = clock_wall_us();
    session->life.born_ms = session->life.idle_since_ms = clock_mono_ms();
    creation_init_lists(session);
    session->timer = loop_timer_new(engine->loop, engine->hooks->on_alarm, session);
    list_append(&engine->live, &session->node);
    engine->n_live++;
    if (!session->is_unlisted)
        map_set(&engine->sessions, session->id, session);
    session_set_alarm(session, ALARM_START, START_MS);
    session->life.is_stale = true;
    notebooks_on_session(session, true);
}

int session_create(struct engine *engine, const struct session_request *request,
                   struct session **ret_session, struct err *e)
{
    char cwd[SESSION_CWD_SIZE];
    struct engine_candidate candidate = session_candidate(request);
    if (session_make_place(engine, request->is_own ? NULL : &candidate, e) < 0 ||
        setup_check(request, cwd, e) < 0 || creation_refuse_join(request, e) < 0)
        return -1;
    struct session *session = mem_alloc(sizeof(*session));
    struct head *head;
    struct pool_request wanted = {.runtime = request->runtime,
                                  .profile = request->profile,
                                  .limits = request->limits,
                                  .join = request->join != NULL ? request->join->room : NULL,
                                  .is_brief = request->is_unlisted,
                                  .has_state = request->has_state,
                                  .listener = engine->hooks->head,
                                  .owner = session};
    if (pool_take(engine->pool, &wanted, &head, e) < 0) {
        free(session);
        return -1;
    }
    session->engine = engine;
    creation_take_request(session, request, cwd);
    memcpy(session->id, head->name, sizeof(session->id));
    session->head = head;
    session->room = head->room;
    pool_hold(session->room);
    session->profile = head->profile->name;
    session->limits = head->room->limits;
    creation_enlist(session);
    *ret_session = session;
    session->settling.is_entered = head->state == HEAD_IDLE;
    session_changed(session);
    return 0;
}

int session_make_branch(struct engine *engine, struct session *source,
                        const struct session_request *request, struct session **ret_session,
                        struct err *e)
{
    struct engine_candidate candidate = session_candidate(request);
    if (session_make_place(engine, &candidate, e) < 0)
        return -1;
    struct session *session = mem_alloc(sizeof(*session));
    session->engine = engine;
    ids_uuid(session->id);
    creation_take_request(session, request, source->cwd);
    session->profile = source->profile;
    session->limits = source->limits;
    session->branches.is_copy = session->is_set_up = true;
    memcpy(session->branches.from, source->id, sizeof(session->branches.from));
    session->timeline.is_copy = true;
    session->room = pool_make_room(engine->pool, session->id, &session->limits);
    pool_hold(session->room);
    creation_enlist(session);
    *ret_session = session;
    session_changed(session);
    return 0;
}

struct session *session_make_suspended(struct engine *engine, const char *id,
                                       const struct session_request *request, struct err *e)
{
    char cwd[SESSION_CWD_SIZE];
    const struct runtime_profile *profile = NULL;
    for (size_t i = 0; i < engine->config.n_profiles && profile == NULL; i++)
        if (strcmp(engine->config.profiles[i].name, request->profile) == 0)
            profile = &engine->config.profiles[i];
    if (profile == NULL || profile->runtime != request->runtime) {
        err_set(e, ERR_NOT_FOUND, "there is no profile %.64s any more", request->profile);
        return NULL;
    }
    if (setup_check(request, cwd, e) < 0)
        return NULL;
    struct session *session = mem_alloc(sizeof(*session));
    session->engine = engine;
    snprintf(session->id, sizeof(session->id), "%s", id);
    creation_take_request(session, request, cwd);
    session->profile = profile->name;
    session->limits = *request->limits;
    session->life.idle_since_ms = clock_mono_ms();
    creation_init_lists(session);
    session->timer = loop_timer_new(engine->loop, engine->hooks->on_alarm, session);
    session->state = SESSION_SUSPENDED; /* and never was alive */
    list_append(&engine->suspended, &session->node);
    engine->n_suspended++;
    map_set(&engine->sessions, session->id, session);
    notebooks_on_session(session, true);
    return session;
}

/* ---- the start of the daemon ----------------------------------------------------------------- */

static void creation_load_one(void *context, const struct store_session *row)
{
    struct engine *engine = context;
    struct session_request request;
    struct jail_limits limits;
    uint32_t seconds[2];
    _json_ json_t *spec = NULL;
    struct err e;
    char text[512];
    struct session *session = NULL;
    if (spec_read(row->spec, &request, &limits, seconds, &spec, &e) == 0)
        session = session_make_suspended(engine, row->id, &request, &e);
    if (session == NULL) {
        snprintf(text, sizeof(text), "session %s cannot be brought back: %.300s", row->id,
                 e.message);
        engine->events.on_notice(engine->events.context, "session_not_loaded", text);
        return;
    }
    session->life.spawned_at_us = row->created_ms * 1000;
    session->life.suspended_at_ms = row->used_ms;
    session->life.last_cell_at_us = spec_last_cell_at_ms(spec, row->used_ms) * 1000;
    session->n_execs = session->forgotten_exec = row->n_execs;
    session->ended_exec = row->saved_through;
    session->timeline.last_id = row->n_checkpoints;
    session->saving.has_row = true;
    session->saving.through = row->saved_through;
    session->saving.checkpoint = row->resume;
    session->saving.is_current = true;
    line_read(session, row->line);
    spec_read_plan(spec, &session->plan);
    session->life.is_stale = true;
    session_changed(session);
}

struct session *session_revive(struct engine *engine, const char *id, const char *spec_text,
                               uint64_t n_execs, struct err *e)
{
    struct session_request request;
    struct jail_limits limits;
    uint32_t seconds[2];
    _json_ json_t *spec = NULL;
    if (engine->is_stopping || engine->draining != NULL) {
        err_set(e, ERR_UNAVAILABLE, "the daemon is stopping"); /* nobody would end it */
        return NULL;
    }
    if (spec_read(spec_text, &request, &limits, seconds, &spec, e) < 0)
        return NULL;
    struct engine_candidate candidate = session_candidate(&request);
    if (session_admit(engine, &candidate, e) < 0)
        return NULL;
    struct session *session = session_make_suspended(engine, id, &request, e);
    if (session == NULL)
        return NULL;
    session->life.spawned_at_us = session->life.last_cell_at_us = clock_wall_us();
    session->life.suspended_at_ms = session->life.spawned_at_us / 1000;
    session->n_execs = session->ended_exec = session->forgotten_exec = n_execs;
    session->saving.is_current = true;
    session->life.is_stale = true;
    session_changed(session);
    return session;
}

int creation_load_all(struct engine *engine, struct err *e)
{
    return store_each_session(engine->store, creation_load_one, engine, e);
}
