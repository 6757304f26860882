/* What reaches a session from below, in the daemon: the words of its interpreter and its timer.
 * Each event is told to the aspect that it concerns; what follows from it is decided in settle.c.
 */
#include "session/events.h"

#include "cell/redact.h"
#include "runtime/head.h"
#include "session/calls.h"
#include "session/chains.h"
#include "session/declared.h"
#include "session/end.h"
#include "session/exec.h"
#include "session/exploring.h"
#include "session/input.h"
#include "session/judging.h"
#include "session/names.h"
#include "session/restore.h"
#include "session/showing.h"

#include <signal.h>
#include <sys/wait.h>

static void events_on_ready(struct head *head, const json_t *notes)
{
    struct session *session = head->owner;
    if (session->restore != NULL)
        restore_on_ready(session, notes);
    else
        session->settling.is_entered = true;
    session_changed(session);
}

static void events_on_forked(struct head *head, const struct head_fork *fork)
{
    struct session *session = head->owner;
    timeline_on_forked(session, fork);
    session_changed(session);
}

static void events_on_loaded(struct head *head, const json_t *report)
{
    struct session *session = head->owner;
    if (session->user != NULL)
        session->user->on_loaded(session->user_context, report);
    else
        restore_on_loaded(session, report);
    session_changed(session);
}

static void events_on_display(struct head *head, json_t *output, bool is_update)
{
    showing_on_display(head->owner, output, is_update);
}

static void events_on_clear(struct head *head, bool waits)
{
    showing_on_clear(head->owner, waits);
}

static void events_on_done(struct head *head, const struct head_verdict *verdict)
{
    calls_forget(head->owner);
    showing_on_verdict(head->owner, verdict);
}

static void events_on_set(struct head *head)
{
    struct session *session = head->owner;
    if (session->restore != NULL)
        restore_on_set(session);
    else
        session->settling.is_entered = true;
    session_changed(session);
}

static void events_on_input(struct head *head, const struct head_prompt *prompt)
{
    struct session *session = head->owner;
    input_on_prompt(session, prompt);
    session_changed(session);
}

static void events_on_call(struct head *head, const char *op, json_t *args)
{
    calls_on_call(head->owner, op, args);
}

static void events_on_names(struct head *head, json_t *names)
{
    struct session *session = head->owner;
    if (exploring_redacts(session))
        redact_output(names);
    names_on_told(session, names);
    exec_on_awake(session);
    session_changed(session);
}

static void events_on_declared(struct head *head, json_t *told)
{
    struct session *session = head->owner;
    declared_on_told(session, told);
    session_changed(session); /* it may have waited to be suspended */
}

static void events_on_judged(struct head *head, const struct head_judgement *judgement)
{
    struct session *session = head->owner;
    if (exploring_redacts(session))
        redact_output(judgement->hints);
    judging_on_told(session, judgement);
    session_changed(session); /* it may have waited to be suspended */
}

static void events_on_denied(struct head *head, const char *call)
{
    exec_on_denied(head->owner, call);
}

static void events_on_signaled(struct head *head)
{
    struct session *session = head->owner;
    exec_on_signaled(session);
    session_changed(session);
}

static void events_on_over_quota(struct head *head, uint64_t bytes, const char *why)
{
    struct session *session = head->owner;
    (void)bytes;
    session->ending.is_over_quota = true;
    snprintf(session->ending.over_quota_by, sizeof(session->ending.over_quota_by), "%s", why);
}

static void events_on_exit_status(struct session *session, const struct head_end_facts *facts)
{
    struct death_facts *ending = &session->ending;
    if (session->state == SESSION_STARTING) {
        char why[sizeof(session->end.detail)];
        head_describe_end(facts, why, sizeof(why));
        ending->wish = DEATH_UNWISHED; /* it never lived: the rest does not matter */
        session_note_ending(session, DEATH_BY_REFUSAL, why);
    }
    ending->has_status = true;
    ending->status = facts->status;
    ending->oom_kills = facts->oom_kills;
    ending->pids_refused = facts->pids_refused;
    ending->peak_bytes = facts->peak_bytes;
    /* The interpreter's own words, if it is one that says why it gives up. */
    bool has_given_up = WIFSIGNALED(facts->status) &&
                        (WTERMSIG(facts->status) == SIGABRT || WTERMSIG(facts->status) == SIGTRAP);
    ending->is_heap_exhausted = has_given_up && exec_has_said(session, DEATH_HEAP_EXHAUSTED);
    session->settling.is_over = !dismissal_outlives_head(session);
}

static void events_on_end(struct head *head, const struct head_end_facts *facts)
{
    struct session *session = head->owner;
    calls_forget(session);
    chains_forget(session);
    if (session->state == SESSION_RESTORING) {
        restore_on_end(session, facts);
    } else if (facts->how == HEAD_EXITED) {
        events_on_exit_status(session, facts);
    } else if (facts->how == HEAD_REFUSED) {
        session_note_ending(session, session->is_set_up ? DEATH_BY_SETUP : DEATH_BY_REFUSAL,
                            facts->text);
        session->settling.is_over = true;
    } else if (facts->is_closed) {
        session_lose_channel(session, facts->text);
    } else {
        session_kill(session, DEATH_BY_CHANNEL, facts->text);
    }
    session_changed(session);
}

const struct head_listener events_head_listener = {
    .on_ready = events_on_ready,
    .on_forked = events_on_forked,
    .on_loaded = events_on_loaded,
    .on_set = events_on_set,
    .on_input = events_on_input,
    .on_call = events_on_call,
    .on_names = events_on_names,
    .on_declared = events_on_declared,
    .on_judged = events_on_judged,
    .on_denied = events_on_denied,
    .on_display = events_on_display,
    .on_clear = events_on_clear,
    .on_done = events_on_done,
    .on_signaled = events_on_signaled,
    .on_over_quota = events_on_over_quota,
    .on_end = events_on_end,
};

/* ---- its timer ------------------------------------------------------------------------------- */

void events_on_alarm(void *context)
{
    struct session *session = context;
    enum session_alarm alarm = session->alarm;
    session->alarm = ALARM_NONE;
    if (alarm == ALARM_START) {
        session_kill(session, DEATH_BY_REFUSAL, "it was not ready in time");
    } else if (alarm == ALARM_CLOSED) { /* the end that should have followed did not */
        session->ending.wish = DEATH_BY_CHANNEL;
        session_kill_now(session);
    } else if (alarm == ALARM_KILLED) {
        session->settling.is_over = true; /* whatever keeps it from ending goes with its jail */
    } else if (alarm == ALARM_RESTORE) {
        restore_on_alarm(session);
    } else {
        restore_end_left(session);
        if (alarm == ALARM_BACKGROUND)
            background_on_alarm(session);
        else
            exec_on_alarm(session, alarm);
    }
    session_changed(session);
}
