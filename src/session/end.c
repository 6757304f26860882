/* The end of a session, in the daemon: whoever waits for something is answered, everything that it
 * held is given back, and it stays listed as dead until it is deleted or pushed out by others. */
#include "session/end.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/branch.h"
#include "session/calls.h"
#include "session/chains.h"
#include "session/declared.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/files.h"
#include "session/judging.h"
#include "session/names.h"
#include "session/notebooks.h"
#include "session/outcome.h"
#include "session/restore.h"
#include "session/suspend.h"
#include "session/tickets.h"
#include "session/wait.h"

#include <assert.h>

enum { END_LOOK_MS = 20 }; /* between two looks whether anybody is left */

struct dismissal {
    struct session *session;
    struct loop_timer *timer;
    uint64_t until_ms; /* monotonic */
    uint64_t look;     /* the ticket of the one under way; 0: none */
    bool is_head_gone;
    void (*on_done)(void *context);
    void *context;
};

/* What the daemon's end ends is there again after its next start, if it was saved. */
static void end_bury(struct session *session)
{
    struct engine *engine = session->engine;
    bool is_kept = session->saving.has_row && (session->ending.wish == DEATH_BY_STOP ||
                                               session->ending.wish == DEATH_BY_WARDEN);
    if (!is_kept)
        saving_drop(session);
    pool_release(engine->pool, take_ptr(session->head));
    if (session->room == NULL)
        return;
    /* Whoever finds it dead may want what it had written. */
    static const bool is_sudden[DEATH_BY_WARDEN + 1] = {
        [DEATH_UNWISHED] = true,   [DEATH_BY_CLOSING] = true,   [DEATH_BY_CHANNEL] = true,
        [DEATH_BY_LIMIT] = true,   [DEATH_BY_SUCCESSOR] = true, [DEATH_BY_AGE] = true,
        [DEATH_BY_IDLENESS] = true};
    bool has_reader = is_sudden[session->ending.wish] && !session->is_unlisted &&
                      session->joined[0] == '\0' && session->room->n_holds == 1 &&
                      engine->store != NULL;
    session->files.are_left = !is_kept && has_reader;
    session->room->keeps_workspace = is_kept || session->files.are_left;
    pool_let_go(engine->pool, take_ptr(session->room));
}

/* The session has ended, for whatever reason: whoever waits for that is told. */
static void end_dismissal_end(struct session *session)
{
    struct dismissal *dismissal = take_ptr(session->end.dismissal);
    if (dismissal == NULL)
        return;
    if (dismissal->look != 0)
        tickets_forget(session->engine, dismissal->look);
    void (*on_done)(void *) = dismissal->on_done;
    void *context = dismissal->context;
    loop_timer_close(take_ptr(dismissal->timer), NULL);
    free(dismissal);
    if (on_done != NULL)
        on_done(context);
}

/* Whoever waits for something is told, in this order; then everything is given back. */
static void end_aspects(struct session *session)
{
    struct err e;
    session_refuse_if_dead(session, &e);
    ports_cut_all(session);
    terminals_end_since(session, 0, "the session has ended");
    chains_forget(session); /* before those end that work for it */
    assistants_end(session, "the session has ended");
    outcome_end_all(session);
    names_end_all(session);
    calls_forget(session);
    declared_end_all(session);
    judging_end(session);
    suspension_end(session);
    files_fail_all(session, &e);
    files_drop_changes(session);
    restore_abandon(session, &e);
    restore_end_left(session);
    branching_end(session);
    texts_end_all(session);
    exploring_free(session);
    searching_end_all(session);
    searching_free(session);
    handed_free(session);
    saving_free(session);
    background_free(session);
    timeline_free(session);
}

void session_die(struct session *session)
{
    struct engine *engine = session->engine;
    session_note_ending(session, DEATH_UNWISHED, NULL);
    if (!session->end.is_beyond_rescue)
        death_certify(&session->ending, &session->death);
    death_conclude(&session->death, NULL);
    if (session->state == SESSION_SUSPENDED)
        engine->n_suspended--;
    else
        engine->n_live--;
    session_move(session, SESSION_DEAD);
    session->settling.is_over = false;
    session->life.died_ms = clock_mono_ms();
    list_remove(&session->node);
    list_append(&engine->dead, &session->node);
    engine->n_dead++;
    loop_timer_clear(session->timer);
    end_aspects(session);
    end_bury(session);
    notebooks_on_session(session, false);
    session_tell_starter(session);
    if (session->user != NULL)
        session->user->on_ended(session->user_context);
    end_dismissal_end(session);
    session->life.is_stale = true;
    session_changed(session); /* somebody may want the files that it left */
    while (engine->n_dead > ENGINE_DEAD_MAX)
        session_free(CONTAINER_OF(list_first(&engine->dead), struct session, node));
}

static void end_on_closed(void *context)
{
    struct session *session = context;
    session->engine->n_closing--;
    outcome_free_spent(session);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_free(&session->rings[i]);
    json_decref(session->env);
    json_decref(session->labels);
    json_decref(session->news);
    free(session->agent);
    free(session->binding);
    free(session->person);
    free(session->name);
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
    struct err e;
    session_refuse_if_dead(session, &e);
    files_fail_all(session, &e);
    if (session->files.are_left)
        warden_remove_workspace(engine->warden, session->id, &ignored);
    if (!session->is_unlisted)
        map_remove(&engine->sessions, session->id);
    list_remove(&session->node);
    engine->n_dead--;
    /* Somebody further up the stack may have it in hand: the loop frees it. */
    engine->n_closing++;
    loop_timer_close(take_ptr(session->timer), end_on_closed);
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

/* ---- with a moment for those who work in it -------------------------------------------------- */

void dismissal_forget(struct dismissal *dismissal)
{
    dismissal->on_done = NULL;
    session_delete(dismissal->session);
}

static void end_look_again(struct dismissal *dismissal)
{
    uint64_t now_ms = clock_mono_ms();
    if (now_ms >= dismissal->until_ms)
        session_delete(dismissal->session);
    else
        loop_timer_set(dismissal->timer, MIN((uint64_t)END_LOOK_MS, dismissal->until_ms - now_ms));
}

static void end_on_looked(void *context, const struct warden_event *event)
{
    struct dismissal *dismissal = context;
    dismissal->look = 0;
    if (dismissal->is_head_gone && event->others == 0)
        session_delete(dismissal->session);
}

/* A look that is not answered does not keep the session from ending in time. */
static void end_on_timer(void *context)
{
    struct err ignored;
    struct dismissal *dismissal = context;
    struct session *session = dismissal->session;
    if (dismissal->look == 0 && session->room != NULL) {
        dismissal->look = pool_new_number(session->engine->pool);
        tickets_expect(session->engine, dismissal->look, WARDEN_LOOKED, end_on_looked, dismissal);
        warden_look(session->engine->warden, session->room->jail, dismissal->look, &ignored);
    }
    end_look_again(dismissal);
}

bool dismissal_outlives_head(struct session *session)
{
    if (session->end.dismissal == NULL)
        return false;
    session->end.dismissal->is_head_gone = true;
    return true;
}

void session_dismiss(struct session *session, void (*on_done)(void *context), void *context,
                     struct dismissal **ret_dismissal)
{
    struct err ignored; /* then it is killed when its time is over */
    *ret_dismissal = NULL;
    /* Somebody may have something to finish. */
    bool is_at_work = session->state == SESSION_BUSY || session->background.is_on;
    bool needs_time = is_at_work && session->head != NULL && session->joined[0] == '\0' &&
                      session->room->n_holds == 1 && session->engine->config.kill_grace_ms > 0 &&
                      session->ending.wish == DEATH_UNWISHED && session->end.dismissal == NULL;
    if (!needs_time) {
        session_delete(session);
        on_done(context);
        return;
    }
    struct dismissal *dismissal = mem_alloc(sizeof(*dismissal));
    *dismissal =
        (struct dismissal){.session = session,
                           .until_ms = clock_mono_ms() + session->engine->config.kill_grace_ms,
                           .on_done = on_done,
                           .context = context};
    dismissal->timer = loop_timer_new(session->engine->loop, end_on_timer, dismissal);
    session->end.dismissal = dismissal;
    session_note_ending(session, DEATH_BY_CALLER, NULL);
    warden_terminate(session->engine->warden, session->room->jail, &ignored);
    end_look_again(dismissal);
    *ret_dismissal = dismissal;
}
