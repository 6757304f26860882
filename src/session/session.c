/* The session object, in the daemon: its states, its timer, the evidence of its end, how callers
 * find it. Files of the room above this one decide what a session does; this one and the aspects
 * only say that something has changed. */
#include "session/session.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/head.h"
#include "session/engine_state.h"
#include "session/exec.h"

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
        [SESSION_BUSY] = {[SESSION_IDLE] = true,
                          [SESSION_RESTORING] = true,
                          [SESSION_SUSPENDED] = true,
                          [SESSION_DEAD] = true},
        [SESSION_RESTORING] =
            {[SESSION_IDLE] = true, [SESSION_SUSPENDED] = true, [SESSION_DEAD] = true},
        [SESSION_SUSPENDED] = {[SESSION_RESTORING] = true, [SESSION_DEAD] = true},
        [SESSION_DEAD] = {0},
    };
    assert(is_legal[session->state][to]);
    session->state = to;
}

void session_set_alarm(struct session *session, enum session_alarm alarm, uint64_t in_ms)
{
    session->alarm = alarm;
    loop_timer_set(session->timer, in_ms);
}

void session_changed(struct session *session)
{
    session->engine->hooks->settle(session);
}

/* ---- the end --------------------------------------------------------------------------------- */

void session_note_ending(struct session *session, enum death_wish wish, const char *detail)
{
    struct death_facts *ending = &session->ending;
    if (ending->wish != DEATH_UNWISHED)
        return;
    ending->wish = wish;
    ending->limits = session->limits;
    ending->runtime = session->runtime->name;
    ending->seconds =
        wish == DEATH_BY_AGE ? session->life.max_age_secs : session->life.idle_timeout_secs;
    ending->timeout_ms = session->running != NULL ? session->running->timeout_ms : 0;
    snprintf(session->end.detail, sizeof(session->end.detail), "%s", detail != NULL ? detail : "");
    ending->detail = session->end.detail;
}

void session_kill_now(struct session *session)
{
    head_signal(session->head, SIGKILL);
    session_set_alarm(session, ALARM_KILLED, KILLED_MS);
}

void session_kill(struct session *session, enum death_wish wish, const char *detail)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return;
    session_note_ending(session, wish, detail);
    if (session->head != NULL)
        session_kill_now(session);
    else
        session_conclude(session);
}

void session_conclude(struct session *session)
{
    session->settling.is_over = true;
    session_changed(session);
}

void session_lose_channel(struct session *session, const char *detail)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return;
    session_note_ending(session, DEATH_BY_CLOSING, detail);
    session_set_alarm(session, ALARM_CLOSED, CLOSED_MS);
}

int session_refuse_if_dead(const struct session *session, struct err *e)
{
    if (session->state != SESSION_DEAD)
        return 0;
    char exit_code[32] = "";
    if (session->death.has_exit_code && strstr(session->death.message, "exit code") == NULL)
        snprintf(exit_code, sizeof(exit_code), " (exit code %d)", session->death.exit_code);
    err_set(e, ERR_GONE, "the session has ended: %s%s", session->death.message, exit_code);
    return err_advise(e, "%s", session->death.advice);
}

/* ---- for callers ----------------------------------------------------------------------------- */

void session_tell_starter(struct session *session)
{
    void (*on_started)(void *, struct session *) = session->starter.on_started;
    session->starter.on_started = NULL;
    if (on_started != NULL)
        on_started(session->starter.context, session);
}

void session_forget_starter(struct session *session)
{
    session->starter.on_started = NULL;
}

void session_restart_idle(struct session *session)
{
    session->life.idle_since_ms = clock_mono_ms();
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
