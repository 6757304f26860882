#include "session/session.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/head.h"
#include "runtime/pool.h"
#include "session/branch.h"
#include "session/declared.h"
#include "session/dismiss.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/files.h"
#include "session/judging.h"
#include "session/lifespan.h"
#include "session/manifest.h"
#include "session/oneshot.h"
#include "session/recorder.h"
#include "session/restore.h"
#include "session/session_parts.h"
#include "session/wait.h"

#include <assert.h>
#include <signal.h>

enum { CLOSED_MS = 1000, KILLED_MS = 5000 };

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

/* ---- time ------------------------------------------------------------------------------------ */

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

void session_on_alarm(void *context)
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

/* ---- dying ----------------------------------------------------------------------------------- */

void session_note_ending(struct session *session, enum death_wish wish, const char *detail)
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
    session_note_ending(session, wish, detail);
    if (session->head != NULL)
        kill_now(session);
    else
        session_die(session);
}

void session_lose_channel(struct session *session, const char *detail)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return;
    session_note_ending(session, DEATH_BY_CLOSING, detail);
    session_set_alarm(session, ALARM_CLOSED, CLOSED_MS);
}

void session_tell_starter(struct session *session)
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

/* Whoever finds it dead may want what it had written. */
static bool has_reader(const struct session *session)
{
    static const bool is_sudden[DEATH_BY_WARDEN + 1] = {
        [DEATH_UNWISHED] = true,   [DEATH_BY_CLOSING] = true,   [DEATH_BY_CHANNEL] = true,
        [DEATH_BY_LIMIT] = true,   [DEATH_BY_SUCCESSOR] = true, [DEATH_BY_AGE] = true,
        [DEATH_BY_IDLENESS] = true};
    return is_sudden[session->ending.wish] && !session->is_unlisted && session->joined[0] == '\0' &&
           session->room->n_holds == 1 && session->engine->store != NULL;
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
    session->has_files = !is_kept && has_reader(session);
    session->room->keeps_workspace = is_kept || session->has_files;
    pool_let_go(engine->pool, take_ptr(session->room));
}

void session_die(struct session *session)
{
    struct engine *engine = session->engine;
    session_note_ending(session, DEATH_UNWISHED, NULL);
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
    session->died_ms = clock_mono_ms();
    list_remove(&session->node);
    list_append(&engine->dead, &session->node);
    engine->n_dead++;
    loop_timer_clear(session->timer);
    exec_end_all(session);
    manifest_end_all(session);
    declared_end_all(session);
    judging_end(session);
    files_end_all(session);
    files_forget(session);
    restore_abandon(session);
    restore_end_left(session);
    branch_forget(session);
    saving_free(session);
    background_free(session);
    timeline_free(session);
    bury(session);
    recorder_tell(session, RECORDER_GONE);
    session_tell_starter(session);
    if (session->oneshot != NULL)
        oneshot_on_death(session->oneshot);
    if (session->has_files)
        lifespan_watch(session);
    dismiss_forget(session);
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
    struct err ignored; /* what a lost warden leaves is removed at the next start */
    struct engine *engine = session->engine;
    assert(session->state == SESSION_DEAD);
    if (session->timer == NULL)
        return; /* by a callback of its own end */
    wait_free_kept(session);
    files_end_all(session);
    if (session->has_files)
        warden_remove_workspace(engine->warden, session->id, &ignored);
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
    /* Whatever it was being killed for, from which it might have come back. */
    session->ending.wish = DEATH_UNWISHED;
    session_note_ending(session, wish, NULL);
    session_die(session);
}

void session_delete(struct session *session)
{
    if (session->state != SESSION_DEAD)
        session_end(session, DEATH_BY_CALLER);
    session_free(session);
}

/* ---- for callers ----------------------------------------------------------------------------- */

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
