#include "session/session.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/head.h"
#include "runtime/pool.h"
#include "session/branch.h"
#include "session/declared.h"
#include "session/engine_state.h"
#include "session/files.h"
#include "session/input.h"
#include "session/lifespan.h"
#include "session/manifest.h"
#include "session/oneshot.h"
#include "session/recorder.h"
#include "session/restore.h"
#include "session/setup.h"
#include "session/showing.h"
#include "session/suspend.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

enum {
    START_MS = 150 * 1000, /* a zygote may have to load its libraries first */
    CLOSED_MS = 200,
    KILLED_MS = 5000,
};

const char *session_state_name(enum session_state state)
{
    static const char *const names[] = {
        [SESSION_STARTING] = "starting",   [SESSION_IDLE] = "idle",
        [SESSION_BUSY] = "busy",           [SESSION_RESTORING] = "busy",
        [SESSION_SUSPENDED] = "suspended", [SESSION_DEAD] = "dead"};
    return names[state];
}

void session_move(struct session *session, enum session_state to)
{
    static const bool is_legal[][SESSION_DEAD + 1] = {
        [SESSION_STARTING] = {[SESSION_IDLE] = true, [SESSION_DEAD] = true},
        [SESSION_IDLE] = {[SESSION_BUSY] = true,
                          [SESSION_RESTORING] = true,
                          [SESSION_SUSPENDED] = true,
                          [SESSION_DEAD] = true},
        [SESSION_BUSY] = {[SESSION_IDLE] = true, [SESSION_RESTORING] = true, [SESSION_DEAD] = true},
        [SESSION_RESTORING] = {[SESSION_IDLE] = true, [SESSION_DEAD] = true},
        [SESSION_SUSPENDED] = {[SESSION_RESTORING] = true, [SESSION_DEAD] = true},
        [SESSION_DEAD] = {0},
    };
    assert(is_legal[session->state][to]);
    session->state = to;
}

/* ---- time --------------------------------------------------------------------------------------
 */

void session_set_alarm(struct session *session, enum session_alarm alarm, uint64_t in_ms)
{
    session->alarm = alarm;
    loop_timer_set(session->timer, in_ms);
}

static void kill_now(struct session *session)
{
    head_signal(session->head, SIGKILL);
    session_set_alarm(session, ALARM_KILLED, KILLED_MS);
}

static void on_closed_too_long(struct session *session)
{
    session->ending.wish = DEATH_BY_CHANNEL;
    kill_now(session);
}

static void on_alarm(void *context)
{
    struct session *session = context;
    enum session_alarm alarm = session->alarm;
    session->alarm = ALARM_NONE;
    if (alarm == ALARM_START)
        session_kill(session, DEATH_BY_REFUSAL, "it was not ready in time");
    else if (alarm == ALARM_CLOSED)
        on_closed_too_long(session);
    else if (alarm == ALARM_KILLED)
        session_die(session); /* whatever keeps it from ending goes with its jail */
    else if (alarm == ALARM_RESTORE)
        restore_on_alarm(session);
    else
        exec_on_alarm(session, alarm);
}

/* ---- dying -------------------------------------------------------------------------------------
 */

static void note_ending(struct session *session, enum death_wish wish, const char *detail)
{
    struct death_facts *ending = &session->ending;
    if (ending->wish != DEATH_UNWISHED)
        return;
    ending->wish = wish;
    ending->limits = session->limits;
    ending->runtime = session->runtime->name;
    ending->seconds = wish == DEATH_BY_AGE ? session->max_age_secs : session->idle_timeout_secs;
    ending->timeout_ms = session->running != NULL ? session->running->timeout_ms : 0;
    snprintf(session->ending_detail, sizeof(session->ending_detail), "%s",
             detail != NULL ? detail : "");
    ending->detail = session->ending_detail;
}

void session_kill(struct session *session, enum death_wish wish, const char *detail)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return;
    note_ending(session, wish, detail);
    if (session->head != NULL)
        kill_now(session);
    else
        session_die(session);
}

void session_lose_channel(struct session *session, const char *detail)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return;
    note_ending(session, DEATH_BY_CLOSING, detail);
    session_set_alarm(session, ALARM_CLOSED, CLOSED_MS);
}

static void tell_starter(struct session *session)
{
    void (*on_started)(void *, struct session *) = session->on_started;
    session->on_started = NULL;
    if (on_started != NULL)
        on_started(session->start_context, session);
}

static void push_out_oldest(struct engine *engine)
{
    while (engine->n_dead > ENGINE_DEAD_MAX)
        session_free(CONTAINER_OF(list_first(&engine->dead), struct session, node));
}

/* What the daemon's end ends is there again after its next start, if it was saved. */
static void bury(struct session *session)
{
    struct engine *engine = session->engine;
    bool is_kept = session->saving.has_row && (session->ending.wish == DEATH_BY_STOP ||
                                               session->ending.wish == DEATH_BY_WARDEN);
    if (!is_kept)
        saving_forget(session);
    pool_release(engine->pool, take_ptr(session->head));
    if (session->room == NULL)
        return;
    session->room->keeps_workspace = is_kept;
    pool_let_go(engine->pool, take_ptr(session->room));
}

void session_die(struct session *session)
{
    struct engine *engine = session->engine;
    note_ending(session, DEATH_UNWISHED, NULL);
    if (!session->is_beyond_rescue)
        death_certify(&session->ending, &session->death);
    if (restore_after_death(session))
        return;
    death_conclude(&session->death, NULL);
    if (session->state == SESSION_SUSPENDED)
        engine->n_suspended--;
    else
        engine->n_live--;
    session_move(session, SESSION_DEAD);
    list_remove(&session->node);
    list_append(&engine->dead, &session->node);
    engine->n_dead++;
    loop_timer_clear(session->timer);
    exec_end_all(session);
    manifest_end_all(session);
    declared_end_all(session);
    files_end_all(session);
    restore_abandon(session);
    restore_end_left(session);
    branch_forget(session);
    saving_free(session);
    timeline_free(session);
    bury(session);
    recorder_tell(session, RECORDER_GONE);
    tell_starter(session);
    if (session->oneshot != NULL)
        oneshot_on_death(session->oneshot);
    push_out_oldest(engine);
}

static void on_closed(void *context)
{
    struct session *session = context;
    session->engine->n_closing--;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_free(&session->rings[i]);
    json_decref(session->env);
    json_decref(session->news);
    free(session->agent);
    free(session->binding);
    plan_leave(&session->plan);
    free(session);
}

void session_free(struct session *session)
{
    struct engine *engine = session->engine;
    assert(session->state == SESSION_DEAD);
    if (session->timer == NULL)
        return; /* by a callback of its own end */
    wait_free_kept(session);
    if (!session->is_unlisted)
        map_remove(&engine->sessions, session->id);
    list_remove(&session->node);
    engine->n_dead--;
    /* Somebody further up the stack may have it in hand: the loop frees it. */
    engine->n_closing++;
    loop_timer_close(take_ptr(session->timer), on_closed);
}

void session_end(struct session *session, enum death_wish wish)
{
    note_ending(session, wish, NULL);
    session_die(session);
}

void session_delete(struct session *session)
{
    if (session->state != SESSION_DEAD)
        session_end(session, DEATH_BY_CALLER);
    session_free(session);
}

/* ---- what its interpreter says ------------------------------------------------------------------
 */

static void started(struct session *session)
{
    session_touch(session);
    loop_timer_clear(session->timer);
    session->alarm = ALARM_NONE;
    session_move(session, SESSION_IDLE);
    if (timeline_is_due(session))
        timeline_take(session);
    tell_starter(session);
    exec_begin_next(session);
}

/* It lives; it may have to be told where and how. */
static void entered(struct session *session)
{
    if (session->is_copy || !setup_begin(session))
        started(session);
}

static void on_ready(struct head *head, const json_t *notes)
{
    struct session *session = head->owner;
    if (session->restore != NULL)
        restore_on_ready(session, notes);
    else
        entered(session);
}

static void on_forked(struct head *head, const struct head_fork *fork)
{
    timeline_on_forked(head->owner, fork);
}

static void on_loaded(struct head *head, const json_t *report)
{
    struct session *session = head->owner;
    if (session->oneshot != NULL)
        oneshot_on_loaded(session->oneshot, report);
    else
        restore_on_loaded(session, report);
}

static void on_display(struct head *head, json_t *output, bool is_update)
{
    showing_on_display(head->owner, output, is_update);
}

static void on_clear(struct head *head, bool waits)
{
    showing_on_clear(head->owner, waits);
}

static void on_done(struct head *head, const struct head_verdict *verdict)
{
    showing_on_verdict(head->owner, verdict);
}

static void on_set(struct head *head)
{
    struct session *session = head->owner;
    if (session->restore != NULL)
        restore_on_set(session);
    else
        started(session);
}

static void on_input(struct head *head, const struct head_prompt *prompt)
{
    input_on_prompt(head->owner, prompt);
}

static void on_names(struct head *head, json_t *names)
{
    manifest_on_names(head->owner, names);
}

static void on_declared(struct head *head, json_t *told)
{
    declared_on_told(head->owner, told);
}

static void on_denied(struct head *head, const char *call)
{
    exec_on_denied(head->owner, call);
}

static void on_signaled(struct head *head)
{
    exec_on_signaled(head->owner);
}

static void on_over_quota(struct head *head, uint64_t bytes)
{
    struct session *session = head->owner;
    (void)bytes;
    session->ending.is_over_quota = true;
}

/* The interpreter's own words, if it is one that says why it gives up. */
static bool is_heap_exhausted(struct session *session, int status)
{
    bool has_given_up =
        WIFSIGNALED(status) && (WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGTRAP);
    return has_given_up && exec_has_said(session, DEATH_HEAP_EXHAUSTED);
}

static void on_exit_status(struct session *session, const struct head_end_facts *facts)
{
    struct death_facts *ending = &session->ending;
    if (session->state == SESSION_STARTING) {
        char why[sizeof(session->ending_detail)];
        head_describe_end(facts, why, sizeof(why));
        ending->wish = DEATH_UNWISHED; /* it never lived: the rest does not matter */
        note_ending(session, DEATH_BY_REFUSAL, why);
    }
    ending->has_status = true;
    ending->status = facts->status;
    ending->oom_kills = facts->oom_kills;
    ending->pids_refused = facts->pids_refused;
    ending->peak_bytes = facts->peak_bytes;
    ending->is_heap_exhausted = is_heap_exhausted(session, facts->status);
    session_die(session);
}

static void on_end(struct head *head, const struct head_end_facts *facts)
{
    struct session *session = head->owner;
    if (session->state == SESSION_RESTORING) {
        restore_on_end(session, facts);
    } else if (facts->how == HEAD_EXITED) {
        on_exit_status(session, facts);
    } else if (facts->how == HEAD_REFUSED) {
        note_ending(session, session->is_set_up ? DEATH_BY_SETUP : DEATH_BY_REFUSAL, facts->text);
        session_die(session);
    } else if (facts->is_closed) {
        session_lose_channel(session, facts->text);
    } else {
        session_kill(session, DEATH_BY_CHANNEL, facts->text);
    }
}

static const struct head_listener head_listener = {
    .on_ready = on_ready,
    .on_forked = on_forked,
    .on_loaded = on_loaded,
    .on_set = on_set,
    .on_input = on_input,
    .on_names = on_names,
    .on_declared = on_declared,
    .on_denied = on_denied,
    .on_display = on_display,
    .on_clear = on_clear,
    .on_done = on_done,
    .on_signaled = on_signaled,
    .on_over_quota = on_over_quota,
    .on_end = on_end,
};

const struct head_listener *const session_head_listener = &head_listener;

/* ---- for callers -------------------------------------------------------------------------------
 */

int session_make_place(struct engine *engine, struct err *e)
{
    if (engine->is_stopping || engine->draining != NULL)
        return err_set(e, ERR_UNAVAILABLE, "the daemon is stopping");
    suspend_under_pressure(engine);
    if (engine->n_live < engine->config.max_sessions || suspend_longest_idle(engine))
        return 0;
    err_set(e, ERR_LIMIT, "%u sessions are running, as many as the configuration allows",
            engine->config.max_sessions);
    return err_advise(e, "Delete sessions that are no longer needed, or raise max_sessions.");
}

static int refuse_join(const struct session_request *request, struct err *e)
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
static void take_request(struct session *session, const struct session_request *request,
                         const char *cwd)
{
    const struct engine_config *config = &session->engine->config;
    session->runtime = request->runtime;
    session->is_unlisted = request->is_unlisted;
    session->agent = request->agent != NULL ? mem_strdup(request->agent) : NULL;
    session->binding = request->binding != NULL ? mem_strdup(request->binding) : NULL;
    snprintf(session->cwd, sizeof(session->cwd), "%s", cwd);
    session->env = json_deep_copy(request->env);
    if (request->join != NULL)
        memcpy(session->joined, request->join->id, sizeof(session->joined));
    const uint32_t *idle = request->idle_timeout_secs, *age = request->max_age_secs;
    session->idle_timeout_secs = idle != NULL ? *idle : config->idle_timeout_secs;
    session->max_age_secs = age != NULL ? *age : config->max_age_secs;
    size_t ring_max = request->max_output_bytes;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_init(&session->rings[i], ring_max > 0 ? ring_max : config->max_output_bytes);
    const struct jail_limits *limits = request->limits != NULL ? request->limits : &config->limits;
    timeline_init(session, limits->checkpoint_mb > 0 ? request->checkpoints : TIMELINE_OFF);
    saving_init(session, request->durable);
    session->saving.isolation = request->isolation;
    session->on_started = request->on_started;
    session->start_context = request->context;
}

static void init_lists(struct session *session)
{
    list_init(&session->queue);
    list_init(&session->late);
    list_init(&session->kept);
    list_init(&session->held);
    list_init(&session->names_waits);
    list_init(&session->file_orders);
    list_init(&session->declared_waits);
    list_init(&session->branchings);
}

static void take_head(struct session *session, struct head *head)
{
    memcpy(session->id, head->name, sizeof(session->id));
    session->head = head;
    session->room = head->room;
    pool_hold(session->room);
    session->profile = head->profile->name;
    session->limits = head->room->limits;
}

/* The session exists from here on: it is found, counted and timed. */
static void enlist(struct session *session)
{
    struct engine *engine = session->engine;
    session->spawned_at_ms = clock_wall_ms();
    session->born_ms = session->used_ms = clock_mono_ms();
    init_lists(session);
    session->timer = loop_timer_new(engine->loop, on_alarm, session);
    list_append(&engine->live, &session->node);
    engine->n_live++;
    if (!session->is_unlisted)
        map_set(&engine->sessions, session->id, session);
    session_set_alarm(session, ALARM_START, START_MS);
    lifespan_watch(session);
    recorder_tell(session, RECORDER_BORN);
}

int session_create(struct engine *engine, const struct session_request *request,
                   struct session **ret_session, struct err *e)
{
    char cwd[SESSION_CWD_SIZE];
    if (session_make_place(engine, e) < 0 || setup_check(request, cwd, e) < 0 ||
        refuse_join(request, e) < 0)
        return -1;
    struct session *session = mem_alloc(sizeof(*session));
    struct head *head;
    struct pool_request wanted = {.runtime = request->runtime,
                                  .profile = request->profile,
                                  .limits = request->limits,
                                  .join = request->join != NULL ? request->join->room : NULL,
                                  .is_brief = request->is_unlisted,
                                  .has_state = request->has_state,
                                  .listener = &head_listener,
                                  .owner = session};
    if (pool_take(engine->pool, &wanted, &head, e) < 0) {
        free(session);
        return -1;
    }
    session->engine = engine;
    take_request(session, request, cwd);
    take_head(session, head);
    enlist(session);
    *ret_session = session;
    if (head->state == HEAD_IDLE)
        entered(session);
    return 0;
}

int session_make_branch(struct engine *engine, struct session *source,
                        const struct session_request *request, struct session **ret_session,
                        struct err *e)
{
    if (session_make_place(engine, e) < 0)
        return -1;
    struct session *session = mem_alloc(sizeof(*session));
    session->engine = engine;
    ids_uuid(session->id);
    take_request(session, request, source->cwd);
    session->profile = source->profile;
    session->limits = source->limits;
    session->is_copy = session->is_set_up = true;
    memcpy(session->branched_from, source->id, sizeof(session->branched_from));
    session->timeline.is_copy = true;
    session->room = pool_make_room(engine->pool, session->id, &session->limits);
    pool_hold(session->room);
    enlist(session);
    *ret_session = session;
    return 0;
}

static const struct runtime_profile *find_profile(const struct engine *engine, const char *name)
{
    for (size_t i = 0; i < engine->config.n_profiles; i++)
        if (strcmp(engine->config.profiles[i].name, name) == 0)
            return &engine->config.profiles[i];
    return NULL;
}

struct session *session_make_suspended(struct engine *engine, const char *id,
                                       const struct session_request *request, struct err *e)
{
    char cwd[SESSION_CWD_SIZE];
    const struct runtime_profile *profile = find_profile(engine, request->profile);
    if (profile == NULL || profile->runtime != request->runtime) {
        err_set(e, ERR_NOT_FOUND, "there is no profile %.64s any more", request->profile);
        return NULL;
    }
    if (setup_check(request, cwd, e) < 0)
        return NULL;
    struct session *session = mem_alloc(sizeof(*session));
    session->engine = engine;
    snprintf(session->id, sizeof(session->id), "%s", id);
    take_request(session, request, cwd);
    session->profile = profile->name;
    session->limits = *request->limits;
    session->used_ms = clock_mono_ms();
    init_lists(session);
    session->timer = loop_timer_new(engine->loop, on_alarm, session);
    session->state = SESSION_SUSPENDED;
    list_append(&engine->suspended, &session->node);
    engine->n_suspended++;
    map_set(&engine->sessions, session->id, session);
    recorder_tell(session, RECORDER_BORN);
    return session;
}

void session_forget_starter(struct session *session)
{
    session->on_started = NULL;
}

void session_touch(struct session *session)
{
    session->used_ms = clock_mono_ms();
}

bool session_interrupt(struct session *session)
{
    session_touch(session);
    return exec_interrupt(session);
}

struct session *session_find(struct engine *engine, const char *id, struct err *e)
{
    struct session *session = map_get(&engine->sessions, id);
    if (session == NULL) {
        err_set(e, ERR_NOT_FOUND, "there is no session %.64s", id);
        err_advise(e, "GET /v1/sessions lists those that exist; POST /v1/sessions creates one.");
    }
    return session;
}

uint64_t session_output_len(const struct session *session)
{
    return session->rings[OUTPUT_STDOUT].end + session->rings[OUTPUT_STDERR].end;
}

struct session *session_next(struct engine *engine, struct session *previous)
{
    struct list *next = previous == NULL ? engine->live.next : previous->node.next;
    if (next == &engine->live)
        next = engine->suspended.next;
    if (next == &engine->suspended)
        next = engine->dead.next;
    return next == &engine->dead ? NULL : CONTAINER_OF(next, struct session, node);
}
