/* The way of a cell through its session, in the daemon: accepted, begun when settle.c says so, and
 * concluded. Here all aspects of a session meet, so none of them has to know another. */
#include "session/queue.h"

#include "base/clock.h"
#include "cell/typography.h"
#include "runtime/runtime.h"
#include "session/background.h"
#include "session/chains.h"
#include "session/engine_state.h"
#include "session/late.h"
#include "session/names.h"
#include "session/outcome.h"
#include "session/recording.h"
#include "session/restore.h"
#include "session/spill.h"
#include "session/suspend.h"
#include "session/timing.h"
#include "session/trial.h"
#include "session/wait.h"

/* ---- accepting ------------------------------------------------------------------------------- */

static struct exec *queue_new_exec(struct session *session, const struct exec_request *request)
{
    struct exec *exec = mem_alloc(sizeof(*exec));
    list_init(&exec->node);
    list_init(&exec->kept);
    exec->session = session;
    exec->came = timing_now(session->engine);
    exec->id = ++session->n_execs;
    exec->cell = cell_new(exec->id, request->code, request->code_len, session->rings);
    exec->timeout_ms = request->timeout_ms;
    exec->names = request->names;
    bool has_to_be_safe = request->is_durable || session->saving.isolation == ISOLATION_PER_CELL;
    exec->is_durable = has_to_be_safe && saving_is_on(session);
    exec->is_trial = request->is_trial;
    exec->is_structured = request->is_structured;
    exec->echoes = request->echoes;
    exec->is_script = request->is_script;
    exec->has_inline_images = request->has_inline_images;
    exec->has_html = request->has_html;
    exec->wants_files = request->wants_files && timeline_has_checkpoints(session);
    if (request->tools != NULL)
        exec->tools = handed_make(request->tools, request->tool_deadline_ms);
    if (request->cell != NULL) {
        snprintf(exec->cell->id, sizeof(exec->cell->id), "%s", request->cell);
        exec->cell->number = request->cell_number;
        exec->runs_given_cell = true;
    }
    wait_attach(exec, &request->wait);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec->pipes[i].fd = -1;
    return exec;
}

static int queue_refuse_trial(const struct session *session, struct err *e)
{
    if (session->state == SESSION_IDLE && session->n_queued == 0 && session->restore == NULL)
        return trial_refuse_without(session, e);
    err_set(e, ERR_CONFLICT, "the session is busy or suspended");
    return err_advise(e,
                      "Try when its cells have ended; a suspended one is brought back by a cell.");
}

int session_exec(struct session *session, const struct exec_request *request,
                 struct exec **ret_exec, struct err *e)
{
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->n_queued >= EXEC_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d cells already wait in this session", EXEC_QUEUE_MAX);
        return err_advise(e, "Wait for an answer before sending more, interrupt the running cell, "
                             "or use another session.");
    }
    if (trial_refuse_others(session, e) < 0 ||
        (request->is_trial && queue_refuse_trial(session, e) < 0) ||
        (request->tools != NULL && handed_check(request->tools, e) < 0) ||
        (session->state == SESSION_SUSPENDED && suspend_wake(session, e) < 0))
        return -1;
    session->life.wants_rest = false;
    struct exec *exec = queue_new_exec(session, request);
    *ret_exec = exec;
    if (exec->is_trial || exec->wants_files) /* between two checkpoints */
        session->pace.keeps_now = true;
    if (exec->is_trial)
        session->trial.id = exec->id;
    recording_queued(exec);
    if (exec->listener != NULL && exec->listener->on_accepted != NULL)
        exec->listener->on_accepted(exec->context, exec->cell);
    list_append(&session->queue, &exec->node);
    session->n_queued++;
    struct err refusal = {.code = ERR_NONE};
    exec->refusal = &refusal;
    session_changed(session);
    if (refusal.code != ERR_NONE) {
        *e = refusal;
        return -1;
    }
    exec->refusal = NULL;
    if (exec->started_ns == 0)
        timing_wait(session);
    wait_start_clock(exec, &request->wait);
    return 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int queue_open_pipes(struct exec *exec, int write_fds[OUTPUT_STREAMS], struct err *e)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        int rc = exec_pipe_open(&exec->pipes[i], exec, (enum output_stream)i, &write_fds[i]);
        if (rc == 0)
            continue;
        while (i-- > 0)
            close(write_fds[i]);
        err_errno(e, ERR_UNAVAILABLE, rc, "making a pipe for the cell's output");
        return err_advise(e, "Raise the daemon's limit of open files, or end some sessions.");
    }
    return 0;
}

/* Python whose quotes, dashes and signs are those of a word processor: the driver runs it without
 * them if it does not compile as it is. */
static void queue_make_plain(struct exec *exec, struct buf *out)
{
    struct typography_note note;
    const struct cell *cell = exec->cell;
    if (exec->session->runtime == &runtime_python &&
        !typography_is_plain(cell->source, cell->source_len) &&
        typography_replace(cell->source, cell->source_len, out, &note))
        exec->replaced = mem_strdup(note.text);
}

/* The interpreter gets the cell, and the ends of its pipes in any case. `plain` and `chain` may be
 * NULL. */
static void queue_send(struct exec *exec, const struct buf *plain, const json_t *chain,
                       const int fds[OUTPUT_STREAMS])
{
    struct err broken;
    struct session *session = exec->session;
    struct head_cell cell = {.id = exec->id,
                             .code = exec->cell->source,
                             .len = exec->cell->source_len,
                             .plain = plain != NULL ? buf_str(plain) : NULL,
                             .plain_len = plain != NULL ? plain->len : 0,
                             .names = exec->names,
                             .is_script = exec->is_script,
                             .explores = session->exploring.is_on || exec->tools != NULL ||
                                         session->handed.tools != NULL,
                             .chain = chain,
                             .exit_ends = session->exit_ends};
    if (head_run(session->head, &cell, fds[OUTPUT_STDOUT], fds[OUTPUT_STDERR], &broken) < 0)
        session_lose_channel(session, broken.message);
}

static int queue_begin(struct session *session, struct exec *exec, struct err *e)
{
    int write_fds[OUTPUT_STREAMS];
    if (queue_open_pipes(exec, write_fds, e) < 0)
        return -1;
    if (exec->is_trial)
        trial_begin(session, exec->id);
    if (exec->wants_files)
        trial_watch_files(exec);
    session->running = exec;
    if (session->exploring.is_on && !exec->echoes)
        spill_begin(exec);
    exec->is_rolled_back = session->was_rolled_back;
    exec->rolled_back_to = session->rolled_back_to;
    session->was_rolled_back = false;
    cell_move(exec->cell, CELL_RUNNING);
    session->life.last_cell_at_us = clock_wall_us();
    exec->cell->executed_ms = session->life.last_cell_at_us / 1000;
    session_move(session, SESSION_BUSY);
    timing_begin(exec);
    recording_begun(exec);
    _buf_ struct buf plain = BUF_INIT(4 * exec->cell->source_len + KIB);
    queue_make_plain(exec, &plain);
    bool has_plain = exec->replaced != NULL;
    if (exec->is_structured)
        chains_begin(session, write_fds, has_plain ? mem_strdup(buf_str(&plain)) : NULL, plain.len);
    else
        queue_send(exec, has_plain ? &plain : NULL, NULL, write_fds);
    late_tell(session); /* while the interpreter is at work */
    if (session->pace.is_burst)
        exec_pipes_spare(session->engine);
    exec->extra = take_ptr(session->news);
    if (exec->is_interrupted && session->ending.wish == DEATH_UNWISHED)
        exec_interrupt(session);
    return 0;
}

void queue_send_planned(struct session *session)
{
    struct chain_turn *turn = take_ptr(session->chain);
    struct buf plain = {.data = turn->plain_kept, .len = turn->plain_len};
    queue_send(session->running, turn->plain != NULL ? &plain : NULL, turn->order, turn->fds);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        turn->fds[i] = -1;
    chain_turn_free(turn);
}

void queue_begin_next(struct session *session)
{
    /* A session whose kill is under way takes no cell: those that come meanwhile are told by its
     * end. */
    while (!list_is_empty(&session->queue) && session->state == SESSION_IDLE &&
           session->ending.wish == DEATH_UNWISHED && session->restore == NULL &&
           !timeline_blocks(session) && !background_blocks(session)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        struct err e;
        exec_leave_queue(exec);
        if (queue_begin(session, exec, &e) == 0)
            return;
        if (exec->is_trial)
            trial_drop(session);
        recording_dropped(exec, e.message);
        if (exec->refusal != NULL)
            *exec->refusal = e;
        else if (exec->listener != NULL)
            exec->listener->on_failed(exec->context, &e);
        outcome_free(exec);
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void queue_echo_error(struct exec *exec, const json_t *error)
{
    const char *traceback = json_string_value(json_object_get(error, "traceback"));
    if (traceback != NULL || error == NULL || !exec->echoes) {
        exec_echo(exec, OUTPUT_STDERR, traceback);
        return;
    }
    _buf_ struct buf text = BUF_INIT(MIB);
    buf_printf(&text, "%s: %s", json_string_value(json_object_get(error, "name")),
               json_string_value(json_object_get(error, "message")));
    exec_echo(exec, OUTPUT_STDERR, buf_str(&text));
}

/* Of a cell that ends and whose session lives: the driver's verdict, and what we know better. */
static struct exec_outcome queue_judge(const struct exec *exec, const struct head_verdict *verdict)
{
    struct exec_outcome outcome = {
        .status = verdict->status, .verdict = *verdict, .duration_ms = exec_elapsed_ms(exec)};
    if (exec->names != HEAD_NAMES_FULL)
        outcome.verdict.names = names_news(verdict->names);
    if (exec->late_tool[0] != '\0') {
        outcome.status = CELL_TIMEOUT;
        outcome.own_name = "ToolDeadline";
        snprintf(outcome.own_message, sizeof(outcome.own_message),
                 "%s was not answered within %g s, and the cell was stopped", exec->late_tool,
                 exec->late_tool_ms / 1000.0);
        outcome.advice = "The session and its variables are still there. Answer calls in time, or "
                         "hand the tools in with a larger tool_deadline_ms.";
    } else if (exec->is_timed_out) {
        outcome.status = CELL_TIMEOUT;
        outcome.own_name = "TimeLimit";
        snprintf(outcome.own_message, sizeof(outcome.own_message),
                 "stopped by SIGINT after its time limit of %u ms", exec->timeout_ms);
        outcome.advice = "The session and its variables are still there. Split the work into "
                         "shorter cells, or give the cell a larger timeout_ms.";
    } else if (outcome.status == CELL_INTERRUPTED && verdict->error == NULL) {
        outcome.own_name = "KeyboardInterrupt";
        snprintf(outcome.own_message, sizeof(outcome.own_message), "the cell was interrupted");
    } else if (verdict->error != NULL) {
        outcome.advice = death_advise(json_string_value(json_object_get(verdict->error, "name")),
                                      json_string_value(json_object_get(verdict->error, "message")),
                                      exec->denied != NULL);
    }
    if (outcome.advice == NULL)
        outcome.advice = exec_advise_output(exec);
    return outcome;
}

void queue_conclude(struct session *session)
{
    struct exec *exec = session->running;
    struct head_verdict *verdict = exec->verdict;
    struct exec_outcome outcome = queue_judge(exec, verdict);
    exec_echo(exec, OUTPUT_STDOUT, json_string_value(json_object_get(verdict->value, "text")));
    queue_echo_error(exec, verdict->error);
    spill_end(exec);
    spill_enter(exec);
    names_on_verdict(exec, verdict->names);
    session->life.last_cell_at_us = clock_wall_us();
    uint64_t ran_ns = timing_ran_ns(exec);
    background_on_cell(session);
    timeline_add_cell(session, exec->id, ran_ns);
    exec->checkpoint = timing_end(exec, ran_ns);
    saving_add_cell(session, exec);
    chains_conclude(exec, &outcome);
    outcome_record(exec, &outcome);
    outcome_retire(exec);
    /* One interrupt ends a cell; whatever else was sent has not been heard yet. */
    timing_rest(session, exec->n_interrupts > (verdict->status == CELL_INTERRUPTED));
    exec->verdict = NULL; /* the answer may be the end of the cell */
    session->n_files_wanted += exec->wants_files;
    if (exec->is_durable || exec->is_trial || exec->wants_files)
        wait_hold(exec, &outcome);
    else
        wait_end(exec, &outcome);
    outcome_free_verdict(verdict);
    late_tidy(session);
    restore_end_left(session);
}
