#include "session/exec.h"

#include "base/clock.h"
#include "session/engine_state.h"
#include "session/late.h"
#include "session/recorder.h"
#include "session/showing.h"
#include "session/suspend.h"
#include "session/timing.h"
#include "session/trial.h"
#include "session/wait.h"

/* ---- the object ------------------------------------------------------------------------------ */

static struct exec *new_exec(struct session *session, const struct exec_request *request)
{
    struct exec *exec = mem_alloc(sizeof(*exec));
    list_init(&exec->node);
    list_init(&exec->kept);
    exec->session = session;
    exec->id = ++session->n_execs;
    exec->cell = cell_new(exec->id, request->code, request->code_len, session->rings);
    exec->timeout_ms = request->timeout_ms;
    exec->names = request->names;
    bool has_to_be_safe = request->is_durable || session->saving.isolation == ISOLATION_PER_CELL;
    exec->is_durable = has_to_be_safe && saving_is_on(session);
    exec->is_trial = request->is_trial;
    exec->echoes = request->echoes;
    exec->is_script = request->is_script;
    exec->has_inline_images = request->has_inline_images;
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

static void free_exec(struct exec *exec)
{
    recorder_dropped(exec, "the session ended");
    showing_abandon(exec);
    list_remove(&exec->node);
    wait_detach(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_close(&exec->pipes[i]);
    free(exec->question);
    free(exec->denied);
    free(exec->certificate);
    free(exec->unrecorded);
    json_decref(exec->extra);
    cell_leave(exec->cell);
    free(exec);
}

void exec_free_if_over(struct exec *exec)
{
    if (list_is_empty(&exec->node) && exec->outcome == NULL)
        free_exec(exec);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int open_pipes(struct exec *exec, int write_fds[OUTPUT_STREAMS], struct err *e)
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

static int begin(struct session *session, struct exec *exec, struct err *e)
{
    int write_fds[OUTPUT_STREAMS];
    if ((exec->is_trial && trial_begin(session, exec->id, e) < 0) ||
        open_pipes(exec, write_fds, e) < 0)
        return -1;
    session->running = exec;
    exec->is_rolled_back = session->was_rolled_back;
    exec->rolled_back_to = session->rolled_back_to;
    session->was_rolled_back = false;
    exec->cell->state = CELL_RUNNING;
    exec->cell->executed_ms = clock_wall_ms();
    session_move(session, SESSION_BUSY);
    timing_begin(exec);
    recorder_begun(exec);
    struct err broken;
    struct head_cell cell = {.id = exec->id,
                             .code = exec->cell->source,
                             .len = exec->cell->source_len,
                             .names = exec->names,
                             .is_script = exec->is_script,
                             .exit_ends = session->exit_ends};
    int rc =
        head_run(session->head, &cell, write_fds[OUTPUT_STDOUT], write_fds[OUTPUT_STDERR], &broken);
    late_tell(session); /* while the interpreter is at work */
    exec->extra = take_ptr(session->news);
    if (rc < 0)
        session_lose_channel(session, broken.message);
    else if (exec->is_interrupted)
        exec_interrupt(session);
    return 0;
}

/* A session whose kill is under way takes no cell: those that come meanwhile are told by its end.
 */
static bool can_begin(struct session *session)
{
    return session->state == SESSION_IDLE && session->ending.wish == DEATH_UNWISHED &&
           session->restore == NULL && !timeline_blocks(session) && !background_blocks(session);
}

static void leave_queue(struct exec *exec)
{
    list_remove(&exec->node);
    exec->session->n_queued--;
}

void exec_begin_next(struct session *session)
{
    saving_on_rest(session);
    while (!list_is_empty(&session->queue) && can_begin(session)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        leave_queue(exec);
        struct err e;
        if (begin(session, exec, &e) == 0)
            return;
        recorder_dropped(exec, e.message);
        if (exec->listener != NULL)
            exec->listener->on_failed(exec->context, &e);
        free_exec(exec);
    }
}

int exec_refuse_if_dead(const struct session *session, struct err *e)
{
    if (session->state != SESSION_DEAD)
        return 0;
    char exit_code[32] = "";
    if (session->death.has_exit_code && strstr(session->death.message, "exit code") == NULL)
        snprintf(exit_code, sizeof(exit_code), " (exit code %d)", session->death.exit_code);
    err_set(e, ERR_GONE, "the session has ended: %s%s", session->death.message, exit_code);
    return err_advise(e, "%s", session->death.advice);
}

static int refuse_trial_now(const struct session *session, struct err *e)
{
    if (session->state == SESSION_IDLE && session->n_queued == 0 && session->restore == NULL)
        return 0;
    err_set(e, ERR_CONFLICT, "the session is busy or suspended");
    return err_advise(e,
                      "Try when its cells have ended; a suspended one is brought back by a cell.");
}

int session_exec(struct session *session, const struct exec_request *request,
                 struct exec **ret_exec, struct err *e)
{
    session_touch(session);
    if (exec_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->n_queued >= EXEC_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d cells already wait in this session", EXEC_QUEUE_MAX);
        return err_advise(e, "Wait for an answer before sending more, interrupt the running cell, "
                             "or use another session.");
    }
    if (trial_refuse_others(session, e) < 0 ||
        (request->is_trial && refuse_trial_now(session, e) < 0) ||
        (session->state == SESSION_SUSPENDED && suspend_wake(session, e) < 0))
        return -1;
    session->wants_rest = false;
    struct exec *exec = new_exec(session, request);
    *ret_exec = exec;
    if (exec->is_trial) {
        session->trial.id = exec->id;
        timeline_take(session);
    }
    recorder_queued(exec);
    if (can_begin(session)) {
        if (begin(session, exec, e) < 0) {
            trial_forget(session);
            recorder_dropped(exec, e->message);
            free_exec(exec);
            return -1;
        }
        wait_start_clock(exec, &request->wait);
        return 0;
    }
    timing_wait(session);
    list_append(&session->queue, &exec->node);
    session->n_queued++;
    wait_start_clock(exec, &request->wait);
    return 0;
}

void exec_cancel(struct exec *exec)
{
    struct session *session = exec->session;
    if (exec == session->running) {
        exec->is_unwanted = true;
        exec_interrupt(session);
    } else if (exec->started_ns == 0) {
        leave_queue(exec);
        session->forgotten_exec = exec->id;
        recorder_dropped(exec, "it was taken from the queue");
        free_exec(exec);
    }
}

void exec_fail_waiting(struct session *session, const struct err *e)
{
    while (!list_is_empty(&session->queue)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        leave_queue(exec);
        const struct exec_listener *listener = exec->listener;
        void *context = exec->context;
        if (listener == NULL)
            session->forgotten_exec = exec->id;
        recorder_dropped(exec, e->message);
        free_exec(exec);
        if (listener != NULL)
            listener->on_failed(context, e);
    }
}

/* ---- while it runs --------------------------------------------------------------------------- */

void exec_drain(struct exec *exec)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_drain(&exec->pipes[i]);
}

void exec_echo(struct exec *exec, enum output_stream stream, const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;
    if (!exec->echoes || len == 0)
        return;
    exec_pipe_echo(&exec->pipes[stream], text, len);
    if (text[len - 1] != '\n')
        exec_pipe_echo(&exec->pipes[stream], "\n", 1);
}

void exec_on_denied(struct session *session, const char *call)
{
    struct exec *exec = session->running;
    snprintf(session->ending.denied, sizeof(session->ending.denied), "%s", call);
    if (exec == NULL)
        return;
    if (exec->denied == NULL)
        exec->denied = mem_alloc(sizeof(*exec->denied));
    struct exec_denied *denied = exec->denied;
    size_t i = 0;
    while (i < denied->n && strcmp(denied->calls[i].call, call) != 0)
        i++;
    if (i == EXEC_DENIED_MAX)
        return;
    if (i == denied->n)
        snprintf(denied->calls[denied->n++].call, sizeof(denied->calls[i].call), "%s", call);
    denied->calls[i].count++;
}

bool exec_has_said(struct session *session, const char *words)
{
    enum { SAID_MAX = 8 * 1024 };
    struct exec *exec = session->running;
    if (exec == NULL)
        return false;
    exec_drain(exec);
    uint64_t total = exec->cell->transcript.streams[OUTPUT_STDERR].total;
    _buf_ struct buf end = BUF_INIT(SAID_MAX);
    struct output_range range;
    output_ring_read(&session->rings[OUTPUT_STDERR], exec->id,
                     total - MIN(total, (uint64_t)SAID_MAX), SAID_MAX, &end, &range);
    return memmem(buf_str(&end), end.len, words, strlen(words)) != NULL;
}
