/* What a session's interpreter says, told to whom it concerns. */
#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/head.h"
#include "session/declared.h"
#include "session/dismiss.h"
#include "session/exec.h"
#include "session/input.h"
#include "session/judging.h"
#include "session/manifest.h"
#include "session/oneshot.h"
#include "session/restore.h"
#include "session/session_parts.h"
#include "session/setup.h"
#include "session/showing.h"

#include <signal.h>
#include <sys/wait.h>

static void started(struct session *session)
{
    session_touch(session);
    session->ended_ns = clock_mono_ns();
    loop_timer_clear(session->timer);
    session->alarm = ALARM_NONE;
    session_move(session, SESSION_IDLE);
    if (timeline_is_due(session))
        timeline_take(session);
    session_tell_starter(session);
    exec_begin_next(session);
}

void session_entered(struct session *session)
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
        session_entered(session);
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

static void on_judged(struct head *head, const struct head_judgement *judgement)
{
    judging_on_told(head->owner, judgement);
}

static void on_denied(struct head *head, const char *call)
{
    exec_on_denied(head->owner, call);
}

static void on_signaled(struct head *head)
{
    exec_on_signaled(head->owner);
}

static void on_over_quota(struct head *head, uint64_t bytes, const char *why)
{
    struct session *session = head->owner;
    (void)bytes;
    session->ending.is_over_quota = true;
    snprintf(session->ending.over_quota_by, sizeof(session->ending.over_quota_by), "%s", why);
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
        session_note_ending(session, DEATH_BY_REFUSAL, why);
    }
    ending->has_status = true;
    ending->status = facts->status;
    ending->oom_kills = facts->oom_kills;
    ending->pids_refused = facts->pids_refused;
    ending->peak_bytes = facts->peak_bytes;
    ending->is_heap_exhausted = is_heap_exhausted(session, facts->status);
    if (!dismiss_outlives_head(session))
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
        session_note_ending(session, session->is_set_up ? DEATH_BY_SETUP : DEATH_BY_REFUSAL,
                            facts->text);
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
    .on_judged = on_judged,
    .on_denied = on_denied,
    .on_display = on_display,
    .on_clear = on_clear,
    .on_done = on_done,
    .on_signaled = on_signaled,
    .on_over_quota = on_over_quota,
    .on_end = on_end,
};

const struct head_listener *const session_head_listener = &head_listener;
