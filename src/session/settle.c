/* What a session does next, in the daemon. Level-triggered: after every event the whole state is
 * looked at, in this order. An aspect of a session that has news leaves a flag in its own struct,
 * and settle_facts tells the aspects concerned. What ends several aspects at once stands in queue.c
 * (a cell), suspend.c and end.c (the session).
 *
 *   when                                            then
 *   --------------------------------------------------------------------------------------------
 *    1 its interpreter has ended                    a restoration begins, or the session ends
 *    2 it is dead                                   only the files it left may still be read
 *    3 the running cell has its verdict             the cell is concluded: idle, or settling
 *      the running cell's calls have been planned   its interpreter hears what came of them
 *    4 a turn is over                               the place is given back
 *      an aspect has set a flag                     the aspects concerned are told
 *    5 it is suspended and somebody wants it        it gets a place and a restoration
 *    6 a restoration is under way                   its next steps; then its end for all aspects
 *      (an undo ordered while interrupts are on their way chooses its target once idle)
 *    7 its first interpreter has walked in          it is told where it works; then it has started
 *    8 a caller's file order waits, and no record
 *      of /workspace is under way                   the order goes to the archivist
 *    9 a checkpoint is due, it has its turn         it is made
 *   10 the newest checkpoint is complete            a try is answered, branches begin
 *   11 a save is due, its checkpoint is complete    it begins, when it has its turn
 *   12 it is idle and a cell waits                  it begins, once its files are looked at
 *   13 somebody waits for files of the background   they are recorded
 *   14 its suspension is wanted, all is saved       it is suspended
 *   15 it is idle without an alarm                  the one timer is set for the background
 *
 * 6 comes before 8 to 14, which want a session that is not on its way; 8 before 9, because a file
 * that is put belongs to the checkpoint that is there; 9 before 11 and 12, because a save is made
 * from a checkpoint and the next cell must not be in it; 12 before 13, because the cell is who
 * waits. What an action changes is looked at in the next round. */
#include "session/settle.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "session/branch.h"
#include "session/calls.h"
#include "session/chains.h"
#include "session/end.h"
#include "session/engine_state.h"
#include "session/files.h"
#include "session/late.h"
#include "session/lifespan.h"
#include "session/outcome.h"
#include "session/queue.h"
#include "session/restore.h"
#include "session/setup.h"
#include "session/suspend.h"
#include "session/timing.h"

/* ---- ends ------------------------------------------------------------------------------------ */

/* The interpreter has ended, and `ending` says how. */
static void settle_end(struct session *session)
{
    const struct exec *exec = session->running;
    session->settling.is_over = false;
    session_note_ending(session, DEATH_UNWISHED, NULL);
    if (!restore_is_possible(session)) {
        session_die(session);
        return;
    }
    death_certify(&session->ending, &session->death);
    restore_after_crash(session);
    if (exec != NULL) { /* its caller is answered when the session is back */
        timeline_add_cell(session, exec->id, 0);
        session->ended_exec = exec->id;
        saving_add_cell(session, exec);
        outcome_hold_crash(session);
    }
    session->ending = (struct death_facts){0};
}

static void settle_dead(struct session *session)
{
    if (session->timer == NULL)
        return; /* it is being freed */
    if (session->settling.is_discarded) {
        session_free(session);
        return;
    }
    files_begin_next(session);
    if (session->files.are_left && session->life.is_stale)
        lifespan_watch(session);
    session->life.is_stale = false;
}

/* ---- word from one aspect to another --------------------------------------------------------- */

static void settle_facts(struct session *session)
{
    struct saving *saving = &session->saving;
    struct timeline *timeline = &session->timeline;
    if (saving->has_ended) {
        saving->has_ended = false;
        files_on_saved(session, saving->has_succeeded);
        if (!saving->has_succeeded)
            suspension_on_unsaved(session);
        session->life.wants_rest |=
            saving->has_succeeded && saving->isolation == ISOLATION_PER_CELL;
    }
    if (timeline->has_counted) {
        timeline->has_counted = false;
        background_on_checkpoint(session, timeline->n_others);
    }
    if (session->exploring.has_changed && session->state == SESSION_IDLE &&
        session->restore == NULL && !timeline_is_due(session)) {
        /* A caller explored between cells: what that changed belongs to the newest checkpoint. */
        timeline_amend_explored(session, session->timeline.current, exploring_keep(session));
        if (saving_is_on(session))
            session->files.has_news = true;
    }
    if (session->files.has_news) {
        session->files.has_news = false;
        saving_add_file(session);
    }
    if (session->background.has_news) {
        session->background.has_news = false;
        saving_add_news(session);
    }
    if (session->handed.n_calls > 0 && (session->running == NULL || !session->running->stands)) {
        /* Code hears of an interrupt by its signal: an answer could come before that. */
        if (session->running != NULL && !chains_are_planning(session))
            calls_forget(session);
        handed_withdraw(session, session->running == NULL ? "its cell has ended"
                                                          : "the cell was interrupted");
    }
    if (session->pace.is_lasting && session->running != NULL)
        exec_watch_pipes(session);
    if (session->pace.is_quiet)
        late_watch(session);
    if (session->pace.is_quiet && session->engine->n_running == 0)
        exec_pipes_drop(session->engine);
    session->pace.is_lasting = session->pace.is_quiet = false;
    if (session->has_ended_pipes) {
        session->has_ended_pipes = false;
        late_drop_ended(session);
    }
    if (session->life.is_stale) {
        session->life.is_stale = false;
        lifespan_watch(session);
    }
    suspension_settle(session);
}

/* ---- coming back ----------------------------------------------------------------------------- */

/* A cell, a file or an undo waits for a suspended session. */
static void settle_wake(struct session *session)
{
    struct err e;
    bool is_asked = !list_is_empty(&session->files.orders) || session->restore != NULL;
    /* Cells that a lost warden has left waiting go on when there is another. */
    bool has_cells = session->n_queued > 0 && !session->engine->has_lost_warden;
    if (session->state != SESSION_SUSPENDED || (!is_asked && !has_cells))
        return;
    if (suspend_enliven(session, &e) < 0) {
        restore_abandon(session, &e);
        files_fail_all(session, &e);
        outcome_fail_waiting(session, &e);
    } else if (session->restore != NULL) {
        session_move(session, SESSION_RESTORING);
    } else {
        restore_resume(session);
    }
}

static void settle_restored(struct session *session)
{
    restore_conclude(session);
    struct restore *restore = take_ptr(session->restore);
    exploring_go_to(session, timeline_explored_at(session, session->timeline.current));
    if (restore_is_as_saved(restore))
        saving_on_resumed(session);
    else
        saving_on_restored(session);
    outcome_answer_undone(session, &restore->report.cells, restore->report.to);
    trial_drop(session);
    json_decref(take_ptr(session->names.known));
    json_decref(take_ptr(session->declared.told));
    background_on_restored(session);
    if (session->state == SESSION_RESTORING) {
        session->pace.ended = timing_now(session->engine);
        timing_rest(session, false);
        /* Who waits for the restoration, or will want to know of it. */
        const struct restore_report *report = &restore->report;
        bool is_usual = session->saving.isolation == ISOLATION_PER_CELL || session->ended_exec == 0;
        if (restore->cause == RESTORE_CRASH)
            outcome_answer_crash(session, report->to, restore_describe_rollback(report));
        else if (restore->listener != NULL)
            restore->listener->on_restored(restore->context, report);
        else if (restore->cause == RESTORE_RESUME && !is_usual)
            exec_add_news(session, restore_describe_resumption(session, report));
    }
    restore_free(session, restore);
}

/* Nothing brings the session back: it stays on disk, if it is there, or ends. */
static void settle_unrestored(struct session *session)
{
    const struct restore *restore = session->restore;
    struct engine *engine = session->engine;
    char text[400], why[sizeof(restore->why)];
    memcpy(why, restore->why, sizeof(why));
    snprintf(text, sizeof(text), "session %s: to %s: %.250s", session->id,
             restore_step_name(restore), why);
    engine->events.on_notice(engine->events.context, "session_not_restored", text);
    if (restore->cause == RESTORE_RESUME || restore->was_suspended) {
        suspend_again(session, why);
    } else if (restore->cause == RESTORE_CRASH && saving_is_resumable(session)) {
        suspend_instead(session);
        session->settling.is_wanted = true; /* cells may wait, and bring it back */
    } else {
        session->end.is_beyond_rescue = restore->cause == RESTORE_CRASH;
        if (!session->end.is_beyond_rescue) {
            session->ending.wish = DEATH_UNWISHED; /* the reason is this one */
            session_note_ending(session, DEATH_BY_REFUSAL, why);
        }
        session_die(session);
    }
}

static void settle_restoration(struct session *session)
{
    struct err e;
    if (session->restore == NULL || session->state == SESSION_SUSPENDED ||
        (session->restore->is_postponed && session->state != SESSION_IDLE))
        return;
    if (session->restore->is_postponed && restore_choose(session, &e) < 0) {
        restore_abandon(session, &e);
        session->settling.is_wanted = true; /* cells may wait behind it */
        return;
    }
    switch (restore_advance(session)) {
    case RESTORE_UNDER_WAY:
        return;
    case RESTORE_DONE:
        settle_restored(session);
        return;
    case RESTORE_STAYED: {
        char why[sizeof(session->restore->why)];
        memcpy(why, session->restore->why, sizeof(why));
        restore_abandon_for(session, why);
        if (session->state == SESSION_IDLE)
            timing_rest(session, false);
        return;
    }
    case RESTORE_FAILED:
        settle_unrestored(session);
        return;
    }
}

static void settle_start(struct session *session)
{
    if (session->state != SESSION_STARTING || !session->settling.is_entered)
        return;
    session->settling.is_entered = false;
    if (!session->is_set_up && setup_begin(session))
        return; /* it says when it is done */
    session_restart_idle(session);
    session->pace.ended = timing_now(session->engine);
    loop_timer_clear(session->timer);
    session->alarm = ALARM_NONE;
    session_move(session, SESSION_IDLE);
    timeline_take(session); /* a copy of another session begins with a checkpoint */
    session_tell_starter(session);
}

/* ---- the next thing to do -------------------------------------------------------------------- */

/* Turns that are over, or were for something that is not wanted now, are given back. */
static void settle_turns(struct session *session)
{
    const struct checkpoint *current = session->timeline.current;
    struct turn *turn = &session->timeline.turn;
    bool is_to_keep = session->restore == NULL && timing_is_to_keep(session);
    bool is_making = current != NULL && !timeline_is_settled(current);
    if (!is_to_keep && (turn->state == TURN_WAITING || !is_making))
        turn_give(turn);
    turn = &session->saving.turn;
    if (turn->state == TURN_OVER)
        saving_put_off(session);
    else if (turn->state == TURN_WORKING && !saving_is_under_way(session) &&
             !saving_is_to_begin(session))
        turn_pass(turn);
}

static void settle_checkpoint(struct session *session)
{
    struct turn *turn = &session->timeline.turn;
    if (session->restore != NULL || !timing_is_to_keep(session))
        return;
    if (timing_is_pressing(session))
        turn_give(turn); /* who waits for it does not wait for others */
    else if (!turn_take(turn, TURNS_CHECKPOINTS))
        return;
    timing_keep(session);
    timeline_take(session);
    timeline_amend_explored(session, session->timeline.current, exploring_keep(session));
}

static void settle_save(struct session *session)
{
    if (!saving_is_to_begin(session) || !turn_take(&session->saving.turn, saving_lane(session)))
        return;
    files_on_save(session);
    if (!timeline_has_checkpoints(session))
        timeline_amend_explored(session, NULL, exploring_keep(session));
    saving_begin(session);
    session->settling.is_wanted |= session->saving.has_ended; /* it could not even begin */
}

static void settle_once(struct session *session)
{
    outcome_free_spent(session);
    if (session->settling.is_over)
        settle_end(session);
    if (session->state == SESSION_DEAD) {
        settle_dead(session);
        return;
    }
    if (session->running != NULL && session->running->verdict != NULL)
        queue_conclude(session);
    if (chains_are_ready(session))
        queue_send_planned(session);
    settle_turns(session);
    settle_facts(session);
    settle_wake(session);
    settle_restoration(session);
    settle_start(session);
    if (session->state != SESSION_IDLE && session->state != SESSION_BUSY)
        return;
    files_begin_next(session);
    settle_checkpoint(session);
    trial_answer(session);
    trial_answer_files(session);
    branching_begin(session);
    settle_save(session);
    queue_begin_next(session);
    if (background_is_to_record(session) && !files_are_changing(session))
        background_record(session);
    suspend_if_wanted(session);
    timing_watch_background(session);
}

void session_settle(struct session *session)
{
    session->settling.is_wanted = true;
    if (session->settling.is_under_way)
        return;
    session->settling.is_under_way = true;
    while (session->settling.is_wanted) {
        session->settling.is_wanted = false;
        settle_once(session);
    }
    session->settling.is_under_way = false;
}
