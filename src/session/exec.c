/* Cells that were accepted, in the daemon: what is done to them while they wait and run, and how
 * they end with their interpreter. Their way through the session is queue.c. */
#include "session/exec.h"

#include "base/clock.h"
#include "session/engine_state.h"
#include "session/late.h"
#include "session/recorder.h"
#include "session/showing.h"
#include "session/timing.h"
#include "session/wait.h"

#include <assert.h>

enum { LOOK_EVERY_NS = 1000000000 };

const char *exec_status_name(enum exec_status status)
{
    static const char *const names[] = {[EXEC_OK] = "ok",
                                        [EXEC_ERROR] = "error",
                                        [EXEC_TIMEOUT] = "timeout",
                                        [EXEC_INTERRUPTED] = "interrupted",
                                        [EXEC_DIED] = "died",
                                        [EXEC_RUNNING] = "running",
                                        [EXEC_INPUT] = "input_required"};
    return names[status];
}

/* ---- the object ------------------------------------------------------------------------------ */

void exec_free_verdict(struct head_verdict *verdict)
{
    if (verdict == NULL)
        return;
    json_decref(verdict->value);
    json_decref(verdict->error);
    json_decref(verdict->names);
    free(verdict);
}

void exec_free(struct exec *exec)
{
    recorder_dropped(exec, "the session ended");
    showing_abandon(exec);
    exec_free_verdict(take_ptr(exec->verdict));
    list_remove(&exec->node);
    wait_detach(exec);
    answer_drop(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_close(&exec->pipes[i]);
    free(exec->question);
    free(exec->denied);
    free(exec->certificate);
    free(exec->unrecorded);
    json_decref(exec->extra);
    free(exec->code);
    free(exec);
}

void exec_free_if_over(struct exec *exec)
{
    if (list_is_empty(&exec->node) && exec->outcome == NULL)
        exec_free(exec);
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
        recorder_dropped(exec, "it was taken from the queue");
        exec_free(exec);
    }
}

void exec_fail_waiting(struct session *session, const struct err *e)
{
    while (!list_is_empty(&session->queue)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        exec_leave_queue(exec);
        const struct exec_listener *listener = exec->listener;
        void *context = exec->context;
        if (listener == NULL)
            session->forgotten_exec = exec->id;
        struct err *refusal = exec->refusal;
        recorder_dropped(exec, e->message);
        exec_free(exec);
        if (refusal != NULL)
            *refusal = *e;
        else if (listener != NULL)
            listener->on_failed(context, e);
    }
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
    uint64_t total = exec->pipes[OUTPUT_STDERR].capture.total;
    _buf_ struct buf end = BUF_INIT(SAID_MAX);
    struct output_range range;
    output_ring_read(&session->rings[OUTPUT_STDERR], exec->id,
                     total - MIN(total, (uint64_t)SAID_MAX), SAID_MAX, &end, &range);
    return memmem(buf_str(&end), end.len, words, strlen(words)) != NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A short cell may leave a process behind that fills the disk: the warden is asked to look, but
 * once a second is enough, since it looks a second later. What runs once ends before that. */
static void exec_look_after(struct session *session, const struct exec *exec)
{
    uint64_t now_ns = clock_mono_ns();
    bool is_recent =
        session->user != NULL || now_ns - session->pace.looked_after_ns < LOOK_EVERY_NS;
    if (!exec->is_watched && is_recent)
        return;
    session->pace.looked_after_ns = now_ns;
    head_watch(session->head, false);
}

/* The cell no longer runs: what remains of it are its pipes. */
void exec_retire(struct exec *exec)
{
    struct session *session = exec->session;
    session_touch(session);
    exec_resume(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_flush_held(&exec->pipes[i]);
    if (session->state != SESSION_DEAD)
        exec_look_after(session, exec);
    session->running = NULL;
    timing_count(session->engine, -1, clock_mono_ns());
    late_keep(exec);
}

static struct answer_facts exec_die(struct exec *exec, const struct death *death)
{
    bool is_time = exec->session->ending.wish == DEATH_BY_LIMIT;
    exec_drain(exec);
    struct answer_facts facts = {.status = is_time ? EXEC_TIMEOUT : EXEC_DIED,
                                 .death = death,
                                 .duration_ms = exec_elapsed_ms(exec)};
    recorder_ended(exec, &facts);
    showing_abandon(exec);
    exec_retire(exec);
    return facts;
}

static void exec_answer_death(struct session *session)
{
    struct exec *exec = session->running;
    struct answer_facts facts = exec_die(exec, &session->death);
    wait_end(exec, &facts);
}

void exec_hold_crash(struct session *session)
{
    struct exec *exec = session->running;
    if (exec == NULL)
        return;
    exec->certificate = mem_copy(&session->death, sizeof(session->death));
    struct answer_facts facts = exec_die(exec, exec->certificate);
    wait_hold(exec, &facts);
}

static struct exec *exec_find_crashed(const struct session *session)
{
    LIST_EACH(&session->held, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, kept);
        if (exec->certificate != NULL)
            return exec;
    }
    return NULL;
}

void exec_add_news(struct session *session, json_t *news)
{
    if (session->news == NULL)
        session->news = json_object();
    json_object_update(session->news, news);
    json_decref(news);
}

static void exec_add_return(struct session *session, uint64_t checkpoint, json_t *extra)
{
    session->was_rolled_back = true;
    session->rolled_back_to = checkpoint;
    exec_add_news(session, extra);
}

/* On the streams, as a terminal would show it, and in the members of the next answer. */
static void exec_tell_next(struct session *session, struct exec *crashed, uint64_t checkpoint,
                           json_t *extra)
{
    const struct death *death = crashed->certificate;
    _buf_ struct buf words = BUF_INIT(KIB * 4);
    buf_printf(&words, "%s: %s\n%s", death->name, death->message, death->advice);
    exec_echo(crashed, OUTPUT_STDERR, buf_str(&words));
    exec_add_return(session, checkpoint, json_incref(extra));
}

void exec_answer_crash(struct session *session, uint64_t checkpoint, json_t *extra)
{
    struct exec *exec = exec_find_crashed(session);
    if (exec == NULL) {
        exec_add_return(session, checkpoint, extra);
        return;
    }
    char fate[160];
    snprintf(fate, sizeof(fate),
             " The session goes on from checkpoint %llu%s; \"rolled_back_cells\" lists what is "
             "undone.",
             (unsigned long long)checkpoint, checkpoint == 0 ? ", its beginning" : "");
    death_conclude(exec->certificate, fate);
    if (exec->echoes && exec->listener == NULL) /* whoever left it asks for the next one */
        exec_tell_next(session, exec, checkpoint, extra);
    exec->is_rolled_back = true;
    exec->rolled_back_to = checkpoint;
    json_decref(exec->extra);
    exec->extra = extra;
    wait_release(exec);
}

static bool exec_is_among(const struct timeline_cells *cells, uint64_t id)
{
    for (size_t i = 0; i < cells->n; i++)
        if (cells->ids[i] == id)
            return true;
    return false;
}

void exec_answer_undone(struct session *session, const struct timeline_cells *undone,
                        uint64_t checkpoint)
{
    LIST_EACH(&session->held, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, kept);
        if (exec->certificate != NULL || !exec_is_among(undone, exec->id))
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

/* Nothing came back in the end. */
static void exec_answer_held(struct session *session)
{
    while (!list_is_empty(&session->held)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->held), struct exec, kept);
        if (exec->certificate != NULL)
            death_conclude(exec->certificate, NULL);
        wait_release(exec);
    }
}

static void exec_fail_all_waiting(struct session *session)
{
    struct err e;
    err_set(&e, ERR_GONE, "the session ended before the cell could begin: %s",
            session->death.message);
    err_advise(&e, "%s", session->death.advice);
    exec_fail_waiting(session, &e);
}

void exec_end_all(struct session *session)
{
    assert(session->state == SESSION_DEAD);
    if (session->running != NULL)
        exec_answer_death(session);
    exec_answer_held(session);
    exec_fail_all_waiting(session);
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        exec_drain(exec);
        late_forget(exec);
    }
}
