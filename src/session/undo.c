/* What callers order of a session's history, in the daemon: undo, redo, reset, and a try that is
 * taken back. Decides whether the session may go, and to which checkpoint; the way there is
 * restore.c's. */
#include "session/restore.h"
#include "session/session.h"

static int undo_refuse_working(const struct session *session, struct err *e)
{
    bool is_at_rest = session->state == SESSION_IDLE || session->state == SESSION_SUSPENDED ||
                      session_is_settling(session);
    if (is_at_rest && session->restore == NULL)
        return 0;
    err_set(e, ERR_CONFLICT, "the session is busy");
    return err_advise(e, "Wait for the cell that runs, or interrupt it first.");
}

static int undo_refuse(const struct session *session, struct err *e)
{
    if (session_refuse_if_dead(session, e) < 0 || trial_refuse_others(session, e) < 0)
        return -1;
    if (timeline_has_checkpoints(session))
        return undo_refuse_working(session, e);
    err_set(e, ERR_CONFLICT, "this session has no checkpoints");
    return err_advise(e, session->timeline.cannot_fork
                             ? "Its interpreter cannot be copied; use Python or bash."
                             : "Create a session with \"checkpoints\": \"auto\".");
}

/* It can be gone back to: its process sleeps, or the store has its state. NULL is the beginning. */
static bool undo_can_reach(const struct checkpoint *checkpoint)
{
    return checkpoint == NULL || checkpoint->snapshot != NULL || checkpoint->is_saved;
}

static int undo_choose(struct session *session, struct err *e)
{
    struct restore *restore = session->restore;
    struct timeline *timeline = &session->timeline;
    struct checkpoint *target = timeline->current != NULL ? timeline->current->parent : NULL;
    if (restore->has_to)
        target = timeline_find(session, restore->to);
    if (restore->has_to && restore->to != 0 && target == NULL) {
        err_set(e, ERR_NOT_FOUND, "the session has no checkpoint %llu",
                (unsigned long long)restore->to);
        return err_advise(e, "GET …/checkpoints lists those that are kept; the oldest are given up "
                             "first.");
    }
    /* Without being told so, nobody is taken back further than by what ran last. */
    const struct checkpoint *current = timeline->current;
    bool is_cut_off = current != NULL ? current->is_cut_off : timeline->is_cut_off;
    if (!restore->has_to && current == NULL && !is_cut_off) {
        err_set(e, ERR_CONFLICT, "there is nothing to undo");
        return err_advise(e, "This is the beginning of the session.");
    }
    if (!restore->has_to && target == NULL && is_cut_off) {
        err_set(e, ERR_CONFLICT, "no checkpoint before the last cell is kept any more");
        return err_advise(e, "\"to\": 0 goes to the beginning of the session: then everything that "
                             "ran in it is undone.");
    }
    if (!undo_can_reach(target)) {
        err_set(e, ERR_CONFLICT, "checkpoint %llu cannot be restored: %s",
                (unsigned long long)target->id, target->reason);
        return err_advise(e, "GET …/checkpoints lists those that can be.");
    }
    restore->target = target;
    return 0;
}

int restore_choose(struct session *session, struct err *e)
{
    struct restore *restore = session->restore;
    struct timeline *timeline = &session->timeline;
    restore->is_postponed = false;
    if (restore->cause == RESTORE_REDO) {
        while (timeline->n_redo > 0 && restore->target == NULL)
            restore->target = timeline_find(session, timeline->redo[--timeline->n_redo]);
        if (restore->target != NULL && undo_can_reach(restore->target))
            return 0;
        err_set(e, ERR_CONFLICT, "there is nothing to redo");
        return err_advise(e, "Only what was undone can be redone, and only until another cell "
                             "runs.");
    }
    timeline_take(session);
    const struct checkpoint *current = session->timeline.current;
    restore->report.from = current != NULL ? current->id : 0;
    return restore->keeps_files ? 0 : undo_choose(session, e);
}

/* `order` is what the caller said; the rest of it is made here. */
static int undo_order(struct session *session, const struct restore *order, struct err *e)
{
    struct restore *restore = restore_begin(session, order->cause);
    restore->has_to = order->has_to;
    restore->to = order->to;
    restore->keeps_files = order->keeps_files;
    restore->listener = order->listener;
    restore->context = order->context;
    restore->was_suspended = session->state == SESSION_SUSPENDED;
    restore->is_postponed = session_is_settling(session);
    if (!restore->is_postponed && restore_choose(session, e) < 0) {
        restore_free(session, take_ptr(session->restore));
        return -1;
    }
    session_changed(session);
    return 0;
}

int session_undo(struct session *session, const uint64_t *to,
                 const struct restore_listener *listener, void *context, struct err *e)
{
    session_restart_idle(session);
    if (undo_refuse(session, e) < 0)
        return -1;
    struct restore order = {.cause = RESTORE_UNDO,
                            .has_to = to != NULL,
                            .to = to != NULL ? *to : 0,
                            .listener = listener,
                            .context = context};
    return undo_order(session, &order, e);
}

int session_redo(struct session *session, const struct restore_listener *listener, void *context,
                 struct err *e)
{
    session_restart_idle(session);
    if (undo_refuse(session, e) < 0)
        return -1;
    struct restore order = {.cause = RESTORE_REDO, .listener = listener, .context = context};
    return undo_order(session, &order, e);
}

int session_reset(struct session *session, const struct restore_listener *listener, void *context,
                  struct err *e)
{
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0 || trial_refuse_others(session, e) < 0 ||
        undo_refuse_working(session, e) < 0)
        return -1;
    struct restore order = {
        .cause = RESTORE_UNDO, .keeps_files = true, .listener = listener, .context = context};
    return undo_order(session, &order, e);
}

int session_discard(struct session *session, uint64_t try_id,
                    const struct restore_listener *listener, void *context, struct err *e)
{
    if (trial_find(session, try_id, e) < 0)
        return -1;
    struct trial trial = session->trial;
    trial_drop(session);
    if (session_undo(session, &trial.before, listener, context, e) == 0)
        return 0;
    session->trial = trial;
    return -1;
}
