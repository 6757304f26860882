/* Cells that were accepted, in the daemon: what is done to one while it waits and runs. The way of
 * cells through their session is queue.c, how they end outcome.c. */
#include "session/exec.h"

#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/recording.h"
#include "session/timing.h"

enum { SAID_MAX = 8 * 1024 }; /* bytes of the end of a stream that are looked at */

/* ---- the object ------------------------------------------------------------------------------ */

void exec_detach(struct exec *exec)
{
    exec->listener = NULL;
    loop_timer_close(take_ptr(exec->yield), NULL);
}

/* Whoever calls may be walking through a list of cells, or have this one in hand. */
void exec_free_if_over(struct exec *exec)
{
    if (list_is_empty(&exec->node) && exec->outcome == NULL)
        list_append(&exec->session->spent, &exec->node);
}

void exec_leave_queue(struct exec *exec)
{
    list_remove(&exec->node);
    exec->session->n_queued--;
}

void exec_cancel(struct exec *exec)
{
    struct session *session = exec->session;
    if (exec == session->running) {
        exec->is_unwanted = true;
        exec_interrupt(session);
    } else if (exec->started_ns == 0) {
        exec_leave_queue(exec);
        session->forgotten_exec = exec->id;
        recording_dropped(exec, "it was taken from the queue");
        exec_free_if_over(exec);
    }
    session_changed(session);
}

void exec_conclude(struct session *session, const struct head_verdict *verdict)
{
    struct exec *exec = session->running;
    exec->verdict = mem_copy(verdict, sizeof(*verdict));
    json_incref(verdict->value);
    json_incref(verdict->error);
    json_incref(verdict->names);
    session_changed(session);
}

/* ---- while it runs --------------------------------------------------------------------------- */

void exec_drain(struct exec *exec)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        exec_pipe_drain(&exec->pipes[i]);
        exec_pipe_release(&exec->pipes[i]);
    }
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

/* The last bytes of a stream. */
static void exec_read_end(const struct exec *exec, enum output_stream stream, struct buf *end)
{
    uint64_t total = exec->cell->transcript.streams[stream].total;
    struct output_range range;
    if (total > 0)
        output_ring_read(&exec->session->rings[stream], exec->id,
                         total - MIN(total, (uint64_t)SAID_MAX), SAID_MAX, end, &range);
}

bool exec_has_said(struct session *session, const char *words)
{
    struct exec *exec = session->running;
    if (exec == NULL)
        return false;
    exec_drain(exec);
    _buf_ struct buf end = BUF_INIT(SAID_MAX);
    exec_read_end(exec, OUTPUT_STDERR, &end);
    return memmem(buf_str(&end), end.len, words, strlen(words)) != NULL;
}

const char *exec_advise_output(const struct exec *exec)
{
    const char *advice = NULL;
    for (size_t i = 0; i < OUTPUT_STREAMS && advice == NULL; i++) {
        _buf_ struct buf end = BUF_INIT(SAID_MAX);
        exec_read_end(exec, (enum output_stream)i, &end);
        advice = death_advise_text(buf_str(&end), end.len);
    }
    return advice;
}

void exec_add_news(struct session *session, json_t *news)
{
    if (session->news == NULL)
        session->news = json_object();
    json_object_update(session->news, news);
    json_decref(news);
}

void exec_watch_pipes(struct session *session)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_watch(&session->running->pipes[i]);
    recording_lasting(session->running);
}

void exec_pipe_ended(struct exec *exec)
{
    exec->session->has_ended_pipes = true;
    session_changed(exec->session);
}
