#include "session/suspend.h"

#include "base/clock.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/branch.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/files.h"
#include "session/lifespan.h"
#include "session/line.h"
#include "session/manifest.h"
#include "session/restore.h"
#include "session/setup.h"
#include "session/spec.h"
#include "wire/json.h"

#include <fcntl.h>

enum { LOOK_EVERY_MS = 200 };

bool suspend_is_possible(const struct session *session)
{
    bool shares_room =
        session->joined[0] != '\0' || (session->room != NULL && session->room->n_holds > 1);
    return saving_is_on(session) && !shares_room;
}

/* Everything but what is on disk goes. */
static void suspend(struct session *session)
{
    struct engine *engine = session->engine;
    if (session->state == SESSION_IDLE)
        session_move(session, SESSION_SUSPENDED);
    saving_know(session);
    list_remove(&session->node);
    list_append(&engine->suspended, &session->node);
    engine->n_live--;
    engine->n_suspended++;
    loop_timer_clear(session->timer);
    session->alarm = ALARM_NONE;
    session->wants_rest = false;
    session->suspended_at_ms = clock_wall_ms();
    restore_end_left(session);
    files_end_all(session);
    background_free(session);
    timeline_end_processes(session, session->saving.is_current ? session->saving.checkpoint : 0);
    json_decref(take_ptr(session->names));
    pool_release(engine->pool, take_ptr(session->head));
    if (session->room != NULL) {
        session->room->keeps_workspace = true;
        pool_let_go(engine->pool, take_ptr(session->room));
    }
    lifespan_watch(session);
}

/* What its cell is told that was running: the session lives, on disk. */
static void answer_crash(struct session *session)
{
    exec_answer_crash(session, session->saving.checkpoint,
                      json_pack("{ss}", "restored_from", "durable"));
}

/* Cells that came meanwhile begin once the session is back, or are told that it cannot be. */
static void wake_if_waited_for(struct session *session)
{
    struct err e;
    if (session->n_queued > 0 && suspend_wake(session, &e) < 0)
        exec_fail_waiting(session, &e);
}

void suspend_instead(struct session *session)
{
    restore_drop(session);
    saving_abort(session, "the interpreter ended");
    session->state = SESSION_SUSPENDED;
    suspend(session);
    answer_crash(session);
    wake_if_waited_for(session);
}

void suspend_after_loss(struct session *session, const char *why)
{
    session->ending = (struct death_facts){.wish = DEATH_BY_WARDEN, .detail = why};
    death_certify(&session->ending, &session->death);
    exec_hold_crash(session);
    session->ending = (struct death_facts){0};
    if (session->restore != NULL)
        restore_abandon_for(session, why);
    saving_abort(session, why);
    branch_forget(session); /* who waits for branches gets none */
    session->state = SESSION_SUSPENDED;
    suspend(session);
    answer_crash(session);
}

void suspend_wake_waiting(struct engine *engine)
{
    LIST_EACH(&engine->suspended, node)
    {
        wake_if_waited_for(CONTAINER_OF(node, struct session, node));
    }
}

static bool is_resting(const struct session *session)
{
    return session->state == SESSION_IDLE && session->restore == NULL && session->n_queued == 0 &&
           list_is_empty(&session->held) && list_is_empty(&session->names_waits) &&
           list_is_empty(&session->declared_waits) && session->judging == NULL &&
           list_is_empty(&session->file_orders) && session->trial.id == 0;
}

void suspend_if_wanted(struct session *session)
{
    if (session->wants_rest && is_resting(session) && saving_is_complete(session))
        suspend(session);
}

bool suspend_soon(struct session *session)
{
    if (!suspend_is_possible(session))
        return false;
    session->saving.looks_again |= !session->wants_rest;
    session->wants_rest = true;
    saving_hurry(session);
    saving_on_rest(session);
    suspend_if_wanted(session);
    return true;
}

bool suspend_longest_idle(struct engine *engine)
{
    struct session *longest = NULL;
    LIST_EACH(&engine->live, node)
    {
        struct session *session = CONTAINER_OF(node, struct session, node);
        if (suspend_is_possible(session) && is_resting(session) && saving_is_complete(session) &&
            !session->background.is_on && (longest == NULL || session->used_ms < longest->used_ms))
            longest = session;
    }
    if (longest == NULL)
        return false;
    suspend(longest);
    return true;
}

/* Less than a twentieth of the machine's memory is left. */
static bool is_memory_short(void)
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

void suspend_under_pressure(struct engine *engine)
{
    uint64_t now_ms = clock_mono_ms();
    if (now_ms < engine->pressure_ms || list_is_empty(&engine->live))
        return;
    engine->pressure_ms = now_ms + LOOK_EVERY_MS;
    if (is_memory_short() && suspend_longest_idle(engine))
        engine->pressure_ms = now_ms; /* maybe more of them */
}

/* ---- coming back -------------------------------------------------------------------------------
 */

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
    session->born_ms = clock_mono_ms(); /* its age counts while it lives */
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
    session->state = SESSION_SUSPENDED;
    restore_abandon_with(session, &e);
    branch_forget(session);
    suspend(session);
    exec_fail_waiting(session, &e);
}

/* ---- the start of the daemon -------------------------------------------------------------------
 */

static void load_one(void *context, const struct store_session *row)
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
    session->spawned_at_ms = row->created_ms;
    session->suspended_at_ms = row->used_ms;
    session->n_execs = session->forgotten_exec = row->n_execs;
    session->ended_exec = row->saved_through;
    session->timeline.last_id = row->n_checkpoints;
    session->saving.has_row = true;
    session->saving.through = row->saved_through;
    session->saving.checkpoint = row->resume;
    session->saving.is_current = true;
    line_read(session, row->line);
    spec_read_plan(spec, &session->plan);
    lifespan_watch(session);
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
    session->spawned_at_ms = session->suspended_at_ms = clock_wall_ms();
    session->n_execs = session->ended_exec = session->forgotten_exec = n_execs;
    session->saving.is_current = true;
    lifespan_watch(session);
    return session;
}

int suspend_load_all(struct engine *engine, struct err *e)
{
    return store_each_session(engine->store, load_one, engine, e);
}
