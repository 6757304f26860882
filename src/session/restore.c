#include "session/restore.h"

#include "session/engine_state.h"
#include "session/exec.h"
#include "session/recorder.h"
#include "session/restore_parts.h"
#include "session/suspend.h"
#include "session/tickets.h"
#include "session/timing.h"
#include "session/trial.h"

#include <sys/wait.h>

enum { STEP_MS = 20 * 1000 }; /* for any step, on the busiest machine */

const char *restore_source_name(enum restore_source source)
{
    static const char *const names[] = {[RESTORED_CHECKPOINT] = "checkpoint",
                                        [RESTORED_DURABLE] = "durable",
                                        [RESTORED_BEGINNING] = "beginning"};
    return names[source];
}

void restore_take_step(struct session *session, enum restore_step step)
{
    session->restore->step = step;
    session_set_alarm(session, ALARM_RESTORE, STEP_MS);
}

struct restore *restore_begin(struct session *session, enum restore_cause cause)
{
    restore_end_left(session);
    struct restore *restore = mem_alloc(sizeof(*restore));
    const struct checkpoint *current = session->timeline.current;
    *restore = (struct restore){.cause = cause,
                                .old_head = session->head != NULL ? session->head->number : 0,
                                .report = {.from = current != NULL ? current->id : 0}};
    session->restore = restore;
    return restore;
}

void restore_drop(struct session *session)
{
    struct restore *restore = take_ptr(session->restore);
    if (restore->ticket != 0)
        tickets_forget(session->engine, restore->ticket);
    if (restore->call != NULL)
        store_forget(restore->call);
    store_state_unref(restore->state);
    json_decref(restore->notes);
    json_decref(restore->loaded);
    timeline_cells_free(&restore->report.cells);
    json_decref(restore->report.files_lost);
    free(restore);
}

void restore_abandon_with(struct session *session, const struct err *e)
{
    struct restore *restore = session->restore;
    const struct restore_listener *listener = restore->listener;
    void *context = restore->context;
    restore_drop(session);
    if (listener != NULL)
        listener->on_failed(context, e);
}

void restore_abandon(struct session *session)
{
    struct err e;
    if (session->restore == NULL)
        return;
    exec_refuse_if_dead(session, &e);
    restore_abandon_with(session, &e);
}

void restore_abandon_for(struct session *session, const char *why)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "%s", why);
    err_advise(&e, "Look at the session's checkpoints, and try again.");
    restore_abandon_with(session, &e);
}

void restore_leave(struct restore *restore)
{
    restore->listener = NULL;
}

void restore_resume(struct session *session)
{
    restore_begin(session, RESTORE_RESUME);
    session_move(session, SESSION_RESTORING);
    restore_fetch(session, STORE_RESUME);
}

/* ---- after a crash -----------------------------------------------------------------------------
 */

/* Ways to end that are a cell's fault and nobody's wish. */
static bool is_crash(const struct session *session)
{
    const struct death_facts *ending = &session->ending;
    switch (ending->wish) {
    case DEATH_BY_LIMIT:
    case DEATH_BY_SUCCESSOR:
    case DEATH_BY_CHANNEL:
        return true;
    case DEATH_UNWISHED:
    case DEATH_BY_CLOSING:
        return !session->exit_ends || !ending->has_status || WIFSIGNALED(ending->status);
    case DEATH_BY_CALLER:
    case DEATH_BY_IDLENESS:
    case DEATH_BY_AGE:
    case DEATH_BY_STOP:
    case DEATH_BY_SETUP:
    case DEATH_BY_REFUSAL:
    case DEATH_BY_WARDEN:
        return false;
    }
    return false;
}

bool restore_after_death(struct session *session)
{
    bool was_alive = session->state == SESSION_IDLE || session->state == SESSION_BUSY;
    bool has_way_back = session->timeline.mode != TIMELINE_OFF || session->saving.is_current;
    if (!was_alive || !has_way_back || !is_crash(session))
        return false;
    struct restore *restore = session->restore;
    if (restore != NULL) { /* while its present state was being kept for an undo */
        restore->old_head = session->head->number;
    } else {
        restore = restore_begin(session, RESTORE_CRASH);
        exec_hold_crash(session);
    }
    if (restore->cause == RESTORE_CRASH)
        restore->target = session->timeline.current;
    session->ending = (struct death_facts){0};
    restore_leave_line(session);
    return true;
}

/* ---- undo and redo -----------------------------------------------------------------------------
 */

static int refuse_busy(struct err *e)
{
    err_set(e, ERR_CONFLICT, "the session is busy");
    return err_advise(e, "Wait for the cell that runs, or interrupt it first.");
}

static int refuse_unless_idle(const struct session *session, struct err *e)
{
    if (exec_refuse_if_dead(session, e) < 0 || trial_refuse_others(session, e) < 0)
        return -1;
    if (session->timeline.mode == TIMELINE_OFF || session->timeline.cannot_fork) {
        err_set(e, ERR_CONFLICT, "this session has no checkpoints");
        return err_advise(e, session->timeline.cannot_fork
                                 ? "Its interpreter cannot be copied; use Python or bash."
                                 : "Create a session with \"checkpoints\": \"auto\".");
    }
    bool is_at_rest = session->state == SESSION_IDLE || session->state == SESSION_SUSPENDED;
    if (is_at_rest && session->restore == NULL)
        return 0;
    return refuse_busy(e);
}

static int refuse_lost(const struct checkpoint *checkpoint, struct err *e)
{
    err_set(e, ERR_CONFLICT, "checkpoint %llu cannot be restored: %s",
            (unsigned long long)checkpoint->id, checkpoint->reason);
    return err_advise(e, "GET …/checkpoints lists those that can be.");
}

/* It can be gone back to: its process sleeps, or the store has its state. NULL is the beginning. */
static bool is_restorable(const struct checkpoint *checkpoint)
{
    return checkpoint == NULL || checkpoint->snapshot != NULL || checkpoint->is_saved;
}

/* The present state is kept as far as it can be: now go. */
static void go(struct session *session)
{
    struct restore *restore = session->restore;
    restore->old_head = session->head->number;
    restore_leave_line(session);
}

/* What was written in the background meanwhile is known, too. */
static bool is_tip_ready(struct session *session)
{
    const struct checkpoint *tip = session->timeline.current;
    return (tip == NULL || timeline_is_settled(tip)) && !background_is_unknown(session);
}

void restore_on_checkpoint(struct session *session)
{
    struct restore *restore = session->restore;
    if (restore == NULL)
        return;
    if (restore->step == STEP_TIP && is_tip_ready(session))
        go(session);
    else if (restore->step == STEP_SLEEP)
        restore_await_target(session);
}

static void await_tip(struct session *session)
{
    restore_take_step(session, STEP_TIP);
    if (is_tip_ready(session))
        go(session);
}

/* It stays where it is. */
static void stay(struct session *session, const char *why)
{
    restore_abandon_for(session, why);
    timing_rest(session, false);
    exec_begin_next(session);
}

void restore_on_fetched(struct session *session, const struct err *e)
{
    struct checkpoint *target = session->restore->target;
    if (e == NULL) {
        await_tip(session);
        return;
    }
    if (target != NULL)
        target->is_saved = false;
    stay(session, e->message);
}

/* One without processes comes back to life at the target. */
static int wake_at(struct session *session, struct err *e)
{
    struct restore *restore = session->restore;
    if (suspend_enliven(session, e) < 0) {
        restore_drop(session);
        return -1;
    }
    restore->was_suspended = true;
    session_move(session, SESSION_RESTORING);
    if (restore->target != NULL)
        restore_fetch(session, restore->target->id);
    else
        restore_enter_fresh(session);
    return 0;
}

/* A state that has to be loaded is looked up before anything is given up for it. */
static int move_on(struct session *session, struct checkpoint *target,
                   const struct restore_listener *listener, void *context, struct err *e)
{
    struct restore *restore = session->restore;
    restore->target = target;
    restore->listener = listener;
    restore->context = context;
    if (session->state == SESSION_SUSPENDED)
        return wake_at(session, e);
    if (target != NULL && target->snapshot == NULL)
        restore_fetch(session, target->id);
    else
        await_tip(session);
    return 0;
}

/* Without being told so, nobody is taken back further than by what ran last. */
static int refuse_beginning(const struct timeline *timeline, struct err *e)
{
    const struct checkpoint *current = timeline->current;
    if (current != NULL && !current->is_cut_off)
        return 0; /* there is nothing before it */
    if (current == NULL && !timeline->is_cut_off) {
        err_set(e, ERR_CONFLICT, "there is nothing to undo");
        return err_advise(e, "This is the beginning of the session.");
    }
    err_set(e, ERR_CONFLICT, "no checkpoint before the last cell is kept any more");
    return err_advise(e, "\"to\": 0 goes to the beginning of the session: then everything that ran "
                         "in it is undone.");
}

int session_undo(struct session *session, const uint64_t *to,
                 const struct restore_listener *listener, void *context, struct err *e)
{
    session_touch(session);
    if (refuse_unless_idle(session, e) < 0)
        return -1;
    struct timeline *timeline = &session->timeline;
    timeline_take(session);
    struct checkpoint *target = timeline->current != NULL ? timeline->current->parent : NULL;
    if (to != NULL)
        target = timeline_find(session, *to);
    if (to != NULL && *to != 0 && target == NULL) {
        err_set(e, ERR_NOT_FOUND, "the session has no checkpoint %llu", (unsigned long long)*to);
        return err_advise(e, "GET …/checkpoints lists those that are kept; the oldest are given up "
                             "first.");
    }
    if (to == NULL && (timeline->current == NULL || target == NULL) &&
        refuse_beginning(timeline, e) < 0)
        return -1;
    if (!is_restorable(target))
        return refuse_lost(target, e);
    restore_begin(session, RESTORE_UNDO);
    return move_on(session, target, listener, context, e);
}

int session_redo(struct session *session, const struct restore_listener *listener, void *context,
                 struct err *e)
{
    session_touch(session);
    if (refuse_unless_idle(session, e) < 0)
        return -1;
    struct timeline *timeline = &session->timeline;
    struct checkpoint *target = NULL;
    while (timeline->n_redo > 0 && target == NULL)
        target = timeline_find(session, timeline->redo[--timeline->n_redo]);
    if (target == NULL || !is_restorable(target)) {
        err_set(e, ERR_CONFLICT, "there is nothing to redo");
        return err_advise(e, "Only what was undone can be redone, and only until another cell "
                             "runs.");
    }
    restore_begin(session, RESTORE_REDO);
    return move_on(session, target, listener, context, e);
}

int session_reset(struct session *session, const struct restore_listener *listener, void *context,
                  struct err *e)
{
    session_touch(session);
    if (exec_refuse_if_dead(session, e) < 0 || trial_refuse_others(session, e) < 0)
        return -1;
    bool is_at_rest = session->state == SESSION_IDLE || session->state == SESSION_SUSPENDED;
    if (!is_at_rest || session->restore != NULL)
        return refuse_busy(e);
    bool has_checkpoints = session->timeline.mode != TIMELINE_OFF && !session->timeline.cannot_fork;
    if (has_checkpoints)
        timeline_take(session);
    struct restore *restore = restore_begin(session, RESTORE_UNDO);
    restore->keeps_files = true;
    return move_on(session, NULL, listener, context, e);
}

void restore_on_alarm(struct session *session)
{
    struct restore *restore = session->restore;
    if (restore->step == STEP_TIP) {
        go(session);
    } else if (restore->step == STEP_FETCH && session->state == SESSION_IDLE) {
        stay(session, "the store did not answer in time");
    } else if (restore->step == STEP_SLEEP) {
        restore_try_older(session, restore->target);
    } else if (restore->step == STEP_WAKE) {
        restore_lose_head(session, "the checkpoint did not wake in time");
    } else {
        restore_fail(session, "bringing it back took too long");
    }
}
