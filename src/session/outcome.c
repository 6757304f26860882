/* How cells end, in the daemon: with their interpreter, with a step back, with their session. */
#include "session/outcome.h"

#include "base/clock.h"
#include "session/chains.h"
#include "session/engine_state.h"
#include "session/late.h"
#include "session/recording.h"
#include "session/showing.h"
#include "session/spill.h"
#include "session/timing.h"
#include "session/wait.h"

#include <assert.h>

enum { LOOK_EVERY_NS = 1000000000 };

void outcome_free_verdict(struct head_verdict *verdict)
{
    if (verdict == NULL)
        return;
    json_decref(verdict->value);
    json_decref(verdict->error);
    json_decref(verdict->names);
    free(verdict);
}

void outcome_free(struct exec *exec)
{
    recording_dropped(exec, "the session ended");
    showing_abandon(exec);
    outcome_free_verdict(take_ptr(exec->verdict));
    list_remove(&exec->node);
    exec_detach(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_close(&exec->pipes[i]);
    free(exec->question);
    handed_release(exec->tools);
    free(exec->denied);
    free(exec->certificate);
    free(exec->unrecorded);
    free(exec->replaced);
    chain_record_free(exec->chain);
    spill_free(exec);
    json_decref(exec->extra);
    cell_leave(exec->cell);
    free(exec);
}

void outcome_free_spent(struct session *session)
{
    while (!list_is_empty(&session->spent))
        outcome_free(CONTAINER_OF(list_first(&session->spent), struct exec, node));
}

void outcome_fail_waiting(struct session *session, const struct err *e)
{
    while (!list_is_empty(&session->queue)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        exec_leave_queue(exec);
        const struct exec_listener *listener = exec->listener;
        void *context = exec->context;
        if (listener == NULL)
            session->forgotten_exec = exec->id;
        struct err *refusal = exec->refusal;
        recording_dropped(exec, e->message);
        outcome_free(exec);
        if (refusal != NULL)
            *refusal = *e;
        else if (listener != NULL)
            listener->on_failed(context, e);
    }
}

void outcome_record(struct exec *exec, const struct exec_outcome *outcome)
{
    struct exec_error error;
    cell_move(exec->cell, outcome->status);
    exec->cell->duration_us = (uint64_t)(outcome->duration_ms * 1000);
    recording_ended(exec, answer_error(outcome, &error) ? &error : NULL);
}

/* The cell no longer runs: what remains of it are its pipes. */
void outcome_retire(struct exec *exec)
{
    struct session *session = exec->session;
    session_restart_idle(session);
    exec_resume(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_flush_held(&exec->pipes[i]);
    /* A short cell may leave a process behind that fills the disk: the warden is asked to look, but
     * once a second is enough, since it looks a second later. What runs once ends before that. */
    uint64_t now_ns = clock_mono_ns();
    bool is_recent =
        session->user != NULL || now_ns - session->pace.looked_after_ns < LOOK_EVERY_NS;
    if (session->state != SESSION_DEAD && (exec->is_watched || !is_recent)) {
        session->pace.looked_after_ns = now_ns;
        head_watch(session->head, false);
    }
    session->running = NULL;
    timing_count(session, -1, session->pace.is_burst, now_ns);
    late_keep(exec);
}

static struct exec_outcome outcome_die(struct exec *exec, const struct death *death)
{
    bool is_time = exec->session->ending.wish == DEATH_BY_LIMIT;
    exec_drain(exec);
    spill_end(exec);
    struct exec_outcome outcome = {.status = is_time ? CELL_TIMEOUT : CELL_DIED,
                                   .death = death,
                                   .duration_ms = exec_elapsed_ms(exec)};
    outcome_record(exec, &outcome);
    showing_abandon(exec);
    outcome_retire(exec);
    return outcome;
}

void outcome_hold_crash(struct session *session)
{
    struct exec *exec = session->running;
    if (exec == NULL)
        return;
    exec->certificate = mem_copy(&session->death, sizeof(session->death));
    struct exec_outcome outcome = outcome_die(exec, exec->certificate);
    wait_hold(exec, &outcome);
}

static void outcome_add_return(struct session *session, uint64_t checkpoint, json_t *extra)
{
    session->was_rolled_back = true;
    session->rolled_back_to = checkpoint;
    exec_add_news(session, extra);
}

void outcome_answer_crash(struct session *session, uint64_t checkpoint, json_t *extra)
{
    struct exec *exec = NULL;
    LIST_EACH(&session->held, node) {
        struct exec *held = CONTAINER_OF(node, struct exec, kept);
        if (exec == NULL && held->certificate != NULL)
            exec = held;
    }
    if (exec == NULL) {
        outcome_add_return(session, checkpoint, extra);
        return;
    }
    char fate[80];
    snprintf(fate, sizeof(fate), " The session goes on from checkpoint %llu%s.",
             (unsigned long long)checkpoint, checkpoint == 0 ? ", its beginning" : "");
    /* Elsewhere the names and cells that are undone are told beside the advice. */
    death_conclude(exec->certificate, exec->echoes ? fate : "");
    if (exec->echoes && exec->listener == NULL) {
        /* Whoever left the cell asks for the next one: on the streams, as a terminal would show it,
         * and in the members of the next answer. */
        const struct death *death = exec->certificate;
        _buf_ struct buf words = BUF_INIT(KIB * 4);
        buf_printf(&words, "%s: %s\n%s", death->name, death->message, death->advice);
        exec_echo(exec, OUTPUT_STDERR, buf_str(&words));
        outcome_add_return(session, checkpoint, json_incref(extra));
    }
    exec->is_rolled_back = true;
    exec->rolled_back_to = checkpoint;
    json_decref(exec->extra);
    exec->extra = extra;
    spill_enter(exec);
    wait_release(exec);
}

void outcome_answer_undone(struct session *session, const struct timeline_cells *undone,
                           uint64_t checkpoint)
{
    LIST_EACH(&session->held, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, kept);
        if (exec->certificate != NULL || !timeline_cells_have(undone, exec->id))
            continue;
        if (exec->extra == NULL)
            exec->extra = json_object();
        if (exec->is_durable)
            json_object_set_new(exec->extra, "durable_error",
                                json_string("the interpreter ended before the state was safe, and "
                                            "the session went back"));
        exec->is_rolled_back = true;
        exec->rolled_back_to = checkpoint;
        wait_release(exec);
    }
}

void outcome_end_all(struct session *session)
{
    struct err e;
    struct exec *running = session->running;
    assert(session->state == SESSION_DEAD);
    if (running != NULL) {
        struct exec_outcome outcome = outcome_die(running, &session->death);
        wait_end(running, &outcome);
    }
    while (!list_is_empty(&session->held)) { /* nothing came back in the end */
        struct exec *exec = CONTAINER_OF(list_first(&session->held), struct exec, kept);
        if (exec->certificate != NULL)
            death_conclude(exec->certificate, NULL);
        wait_release(exec);
    }
    err_set(&e, ERR_GONE, "the session ended before the cell could begin: %s",
            session->death.message);
    err_advise(&e, "%s", session->death.advice);
    outcome_fail_waiting(session, &e);
    LIST_EACH(&session->late, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        exec_drain(exec);
        late_drop(exec);
    }
}
