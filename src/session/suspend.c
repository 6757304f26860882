/* Suspension, in the daemon: who gives up the processes of a session, and who gets a place for
 * them. */
#include "session/suspend.h"

#include "base/clock.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/branch.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/files.h"
#include "session/outcome.h"
#include "session/restore.h"

#include <fcntl.h>

enum { LOOK_EVERY_MS = 200, SUSPENSION_MS = 60 * 1000 };

bool suspend_is_possible(const struct session *session)
{
    bool shares_room =
        session->joined[0] != '\0' || (session->room != NULL && session->room->n_holds > 1);
    return saving_is_on(session) && !shares_room;
}

/* Everything but what is on disk goes. */
static void suspend_session(struct session *session)
{
    struct err e;
    struct engine *engine = session->engine;
    session_move(session, SESSION_SUSPENDED);
    saving_know(session);
    list_remove(&session->node);
    list_append(&engine->suspended, &session->node);
    engine->n_live--;
    engine->n_suspended++;
    loop_timer_clear(session->timer);
    session->alarm = ALARM_NONE;
    session->life.wants_rest = false;
    session->life.suspended_at_ms = clock_wall_ms();
    session->life.is_stale = true;
    restore_end_left(session);
    ports_cut_all(session);
    terminals_end_since(session, 0, "the session was suspended");
    assistants_end(session, "the session was suspended");
    err_set(&e, ERR_UNAVAILABLE, "the session was suspended, and could not be brought back");
    err_advise(&e, "Try again; what a cell is answered may tell more.");
    files_fail_all(session, &e);
    background_free(session);
    timeline_end_processes(session, session->saving.is_current ? session->saving.checkpoint : 0);
    json_decref(take_ptr(session->names.known));
    pool_release(engine->pool, take_ptr(session->head));
    if (session->room != NULL) {
        session->room->keeps_workspace = true;
        pool_let_go(engine->pool, take_ptr(session->room));
    }
}

/* What its cell is told that was running: the session lives, on disk. */
static void suspend_answer_crash(struct session *session)
{
    outcome_answer_crash(session, session->saving.checkpoint,
                         json_pack("{ss}", "restored_from", "durable"));
}

void suspend_instead(struct session *session)
{
    restore_free(session, take_ptr(session->restore));
    saving_abort(session, "the interpreter ended");
    suspend_session(session);
    suspend_answer_crash(session);
}

void suspend_after_loss(struct session *session, const char *why)
{
    session->ending = (struct death_facts){.wish = DEATH_BY_WARDEN, .detail = why};
    death_certify(&session->ending, &session->death);
    outcome_hold_crash(session);
    session->ending = (struct death_facts){0};
    restore_abandon_for(session, why);
    saving_abort(session, why);
    branching_end(session); /* who waits for branches gets none */
    suspend_session(session);
    suspend_answer_crash(session);
    session_changed(session);
}

static bool suspend_is_resting(const struct session *session)
{
    return session->state == SESSION_IDLE && session->restore == NULL && session->n_queued == 0 &&
           list_is_empty(&session->held) && list_is_empty(&session->names.waits) &&
           list_is_empty(&session->declared.waits) && session->judging == NULL &&
           list_is_empty(&session->files.orders) && list_is_empty(&session->branches.ordered) &&
           session->trial.id == 0 && !assistants_are_busy(session) &&
           session->ending.wish == DEATH_UNWISHED && !saving_is_under_way(session);
}

void suspend_if_wanted(struct session *session)
{
    if (session->life.wants_rest && suspend_is_resting(session) && saving_is_complete(session))
        suspend_session(session);
    suspension_settle(session);
}

bool suspend_soon(struct session *session)
{
    if (!suspend_is_possible(session))
        return false;
    session->saving.looks_again |= !session->life.wants_rest;
    session->life.wants_rest = true;
    saving_hurry(session);
    session_changed(session);
    return true;
}

/* Makes room for another live session; false if no session can give way. */
static bool suspend_longest_idle(struct engine *engine)
{
    struct session *longest = NULL;
    LIST_EACH(&engine->live, node) {
        struct session *session = CONTAINER_OF(node, struct session, node);
        if (suspend_is_possible(session) && suspend_is_resting(session) &&
            saving_is_complete(session) && !session->background.is_on && !ports_are_used(session) &&
            !terminals_are_open(session) &&
            (longest == NULL || session->life.idle_since_ms < longest->life.idle_since_ms))
            longest = session;
    }
    if (longest == NULL)
        return false;
    suspend_session(longest);
    session_changed(longest);
    return true;
}

/* Less than a twentieth of the machine's memory is left. */
static bool suspend_is_memory_short(void)
{
    _free_ char *text = NULL;
    if (fd_read_file(AT_FDCWD, "/proc/meminfo", 64 * KIB, &text, NULL) < 0)
        return false;
    const char *total = strstr(text, "MemTotal:"), *left = strstr(text, "MemAvailable:");
    if (total == NULL || left == NULL)
        return false;
    return strtoull(left + strlen("MemAvailable:"), NULL, 10) <
           strtoull(total + strlen("MemTotal:"), NULL, 10) / 20;
}

/* One idle session gives way if the machine is short of memory; looks now and then. */
static void suspend_under_pressure(struct engine *engine)
{
    uint64_t now_ms = clock_mono_ms();
    if (now_ms < engine->pressure_ms || list_is_empty(&engine->live))
        return;
    engine->pressure_ms = now_ms + LOOK_EVERY_MS;
    if (suspend_is_memory_short() && suspend_longest_idle(engine))
        engine->pressure_ms = now_ms; /* maybe more of them */
}

/* ---- a place among the living ---------------------------------------------------------------- */

struct engine_candidate session_candidate(const struct session_request *request)
{
    return (struct engine_candidate){.agent = request->agent,
                                     .binding = request->binding,
                                     .runtime = request->runtime,
                                     .limits = request->limits};
}

int session_admit(struct engine *engine, const struct engine_candidate *candidate, struct err *e)
{
    return engine->admit != NULL ? engine->admit(engine->admit_context, engine, candidate, e) : 0;
}

int session_make_place(struct engine *engine, const struct engine_candidate *candidate,
                       struct err *e)
{
    if (engine->is_stopping || engine->draining != NULL)
        return err_set(e, ERR_UNAVAILABLE, "the daemon is stopping");
    if (candidate != NULL && session_admit(engine, candidate, e) < 0)
        return -1;
    suspend_under_pressure(engine);
    if (engine->n_live < engine->config.max_sessions || suspend_longest_idle(engine))
        return 0;
    err_set(e, ERR_LIMIT, "%u sessions are running, as many as the configuration allows",
            engine->config.max_sessions);
    return err_advise(e, "Delete sessions that are no longer needed, or raise max_sessions.");
}

/* ---- coming back ----------------------------------------------------------------------------- */

int suspend_enliven(struct session *session, struct err *e)
{
    struct engine *engine = session->engine;
    struct engine_candidate candidate = {.agent = session->agent,
                                         .binding = session->binding,
                                         .runtime = session->runtime,
                                         .limits = &session->limits,
                                         .is_known = true};
    if (session_make_place(engine, &candidate, e) < 0)
        return -1;
    list_remove(&session->node);
    list_append(&engine->live, &session->node);
    engine->n_suspended--;
    engine->n_live++;
    session->life.born_ms = clock_mono_ms(); /* its age counts while it lives */
    return 0;
}

int suspend_wake(struct session *session, struct err *e)
{
    if (suspend_enliven(session, e) < 0)
        return -1;
    restore_resume(session);
    return 0;
}

void suspend_again(struct session *session, const char *why)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "the session could not be brought back: %s", why);
    err_advise(&e, "It is still saved. Try again; `cella doctor` says what the machine lacks.");
    suspend_session(session);
    restore_abandon(session, &e);
    branching_end(session);
    outcome_fail_waiting(session, &e);
}

/* ---- when a caller wants it ------------------------------------------------------------------ */

struct suspension {
    struct session *session;
    suspension_fn fn;
    void *context;
    struct loop_timer *timer;
};

void suspension_forget(struct suspension *suspension)
{
    suspension->session->suspension = NULL;
    loop_timer_close(take_ptr(suspension->timer), NULL);
    free(suspension);
}

static void suspension_tell(struct suspension *suspension, const struct err *e)
{
    suspension_fn fn = suspension->fn;
    void *context = suspension->context;
    struct session *session = suspension->session;
    suspension_forget(suspension);
    fn(context, session, e);
}

static void suspension_fail(struct session *session, const char *why, const char *advice)
{
    struct err e;
    session->life.wants_rest = false;
    err_set(&e, ERR_CONFLICT, "the session was not suspended: %s", why);
    err_advise(&e, "%s", advice);
    suspension_tell(session->suspension, &e);
}

void suspension_settle(struct session *session)
{
    if (session->suspension == NULL)
        return;
    if (session->state == SESSION_SUSPENDED)
        suspension_tell(session->suspension, NULL);
    else if (!session->life.wants_rest)
        suspension_fail(session, "a cell came meanwhile", "Ask again when its cells have ended.");
}

void suspension_on_unsaved(struct session *session)
{
    char why[sizeof(session->saving.trouble)];
    if (session->suspension == NULL)
        return;
    memcpy(why, session->saving.trouble, sizeof(why));
    suspension_fail(session, why,
                    "It lives on. Try again, or delete it if its state is not needed.");
}

void suspension_end(struct session *session)
{
    struct err e;
    session_refuse_if_dead(session, &e);
    if (session->suspension != NULL)
        suspension_tell(session->suspension, &e);
}

static void suspension_on_impatience(void *context)
{
    const struct suspension *suspension = context;
    struct session *session = suspension->session;
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "the session is not saved yet");
    err_advise(&e, "It will be suspended as soon as it is; GET …/sessions/%s tells when.",
               session->id);
    suspension_tell(session->suspension, &e);
}

static int suspension_refuse(const struct session *session, struct err *e)
{
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (!suspend_is_possible(session)) {
        err_set(e, ERR_CONFLICT, "the session cannot be suspended: %s",
                saving_is_on(session) ? "it shares its sandbox with another"
                                      : "its state is not saved (\"durable\" is off)");
        return err_advise(e, "Delete the session if it is not needed any more.");
    }
    bool is_idle = session->state == SESSION_IDLE && session->n_queued == 0 &&
                   session->restore == NULL && session->ending.wish == DEATH_UNWISHED;
    if (is_idle && session->trial.id == 0 && session->suspension == NULL)
        return 0;
    err_set(e, ERR_CONFLICT, "the session is at work, or a try in it is not decided yet");
    return err_advise(e, "Wait for its cells, or interrupt them; then ask again.");
}

int session_suspend(struct session *session, suspension_fn fn, void *context,
                    struct suspension **ret, struct err *e)
{
    *ret = NULL;
    if (session->state == SESSION_SUSPENDED) {
        fn(context, session, NULL);
        return 0;
    }
    if (suspension_refuse(session, e) < 0)
        return -1;
    struct suspension *suspension = mem_alloc(sizeof(*suspension));
    *suspension = (struct suspension){.session = session, .fn = fn, .context = context};
    suspension->timer = loop_timer_new(session->engine->loop, suspension_on_impatience, suspension);
    loop_timer_set(suspension->timer, clock_scaled_ms(SUSPENSION_MS));
    session->suspension = suspension;
    suspend_soon(session);
    *ret = session->suspension; /* NULL if it was told already */
    return 0;
}

int session_resume(struct session *session, const struct restore_listener *listener, void *context,
                   struct err *e)
{
    session_restart_idle(session);
    if (suspend_wake(session, e) < 0)
        return -1;
    session->restore->listener = listener;
    session->restore->context = context;
    session_changed(session);
    return 0;
}
