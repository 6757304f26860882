/* Callers that wait for answers, in the daemon, and ends that nobody has fetched. */
#include "session/wait.h"

#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/input.h"

/* Of the ends that one session keeps; the newest stays whatever it takes. */
#define KEPT_BYTES_MAX (8 * MIB)

void wait_attach(struct exec *exec, const struct exec_wait *wait)
{
    exec->listener = wait->listener;
    exec->context = wait->context;
    struct transcript *t = &exec->cell->transcript;
    t->budget = wait->budget;
    t->pictures_left = wait->pictures;
    t->has_tools = wait->has_tools;
    snprintf(t->session, sizeof(t->session), "%s", wait->session != NULL ? wait->session : "");
    exec->cancels = wait->cancels;
    exec->is_streamed = wait->is_streamed;
    exec->is_lean = wait->is_lean;
    exec->wants_script = wait->wants_script;
    exec->preview = wait->preview;
    exec->takes_tools = wait->takes_tools;
}

static void wait_on_yield(void *context)
{
    struct exec *exec = context;
    exec_drain(exec);
    answer_send(
        exec, &(struct exec_outcome){.status = CELL_RUNNING, .duration_ms = exec_elapsed_ms(exec)});
}

void wait_start_clock(struct exec *exec, const struct exec_wait *wait)
{
    if (!wait->has_yield)
        return;
    exec->yield = loop_timer_new(exec->session->engine->loop, wait_on_yield, exec);
    loop_timer_set(exec->yield, wait->yield_ms);
}

void exec_forget(struct exec *exec)
{
    exec_detach(exec);
    if (exec->cancels)
        exec_cancel(exec);
}

/* ---- ends that nobody waited for ------------------------------------------------------------- */

static struct exec_outcome *wait_take_kept(struct exec *exec)
{
    struct session *session = exec->session;
    struct exec_outcome *outcome = take_ptr(exec->outcome);
    list_remove(&exec->kept);
    session->n_kept--;
    session->kept_bytes -= outcome->bytes;
    return outcome;
}

static void wait_forget_oldest(struct session *session)
{
    struct exec *exec = CONTAINER_OF(list_first(&session->kept), struct exec, kept);
    session->forgotten_exec = exec->id;
    answer_drop(wait_take_kept(exec));
    transcript_drop_answer(&exec->cell->transcript);
    exec_free_if_over(exec);
}

void wait_end(struct exec *exec, const struct exec_outcome *outcome)
{
    if (exec->listener != NULL) {
        answer_send(exec, outcome);
    } else if (exec->is_unwanted) {
        exec->session->forgotten_exec = exec->id;
        transcript_drop_answer(&exec->cell->transcript);
    } else {
        struct session *session = exec->session;
        exec->outcome = answer_keep(exec, outcome);
        list_append(&session->kept, &exec->kept);
        session->n_kept++;
        session->kept_bytes += exec->outcome->bytes;
        while (session->n_kept > 1 &&
               (session->n_kept > EXEC_KEPT_MAX || session->kept_bytes > KEPT_BYTES_MAX))
            wait_forget_oldest(session);
    }
}

void wait_hold(struct exec *exec, const struct exec_outcome *outcome)
{
    exec->outcome = answer_keep(exec, outcome);
    exec->is_held = true;
    list_append(&exec->session->held, &exec->kept);
}

static void wait_answer_now(struct exec *exec, struct exec_outcome *outcome);

void wait_release(struct exec *exec)
{
    struct exec_outcome *outcome = take_ptr(exec->outcome);
    exec->is_held = false;
    list_remove(&exec->kept);
    if (exec->listener != NULL) {
        wait_answer_now(exec, outcome);
        return;
    }
    wait_end(exec, outcome);
    answer_drop(outcome);
    exec_free_if_over(exec);
}

void wait_free_kept(struct session *session)
{
    while (!list_is_empty(&session->kept))
        wait_forget_oldest(session);
}

/* ---- asking on ------------------------------------------------------------------------------- */

/* Of cells that have ended, which are linked by `kept`, or of those that wait. */
static struct exec *wait_find(const struct list *cells, bool has_ended, uint64_t exec_id)
{
    LIST_EACH(cells, node) {
        struct exec *exec = has_ended ? CONTAINER_OF(node, struct exec, kept)
                                      : CONTAINER_OF(node, struct exec, node);
        if (exec->id == exec_id)
            return exec;
    }
    return NULL;
}

uint64_t session_cell_number(const struct session *session, const char *name)
{
    size_t digits = strspn(name, "0123456789");
    uint64_t number = name[digits] == '\0' && digits < 19 ? strtoull(name, NULL, 10) : 0;
    if (number > 0 && number <= session->n_execs)
        return number;
    const struct exec *running = session->running;
    if (running != NULL && strcmp(running->cell->id, name) == 0)
        return running->id;
    LIST_EACH(&session->queue, node) {
        const struct exec *exec = CONTAINER_OF(node, struct exec, node);
        if (strcmp(exec->cell->id, name) == 0)
            return exec->id;
    }
    const struct list *const ended[] = {&session->kept, &session->held};
    for (size_t i = 0; i < ARRAY_LEN(ended); i++)
        LIST_EACH(ended[i], node) {
            const struct exec *exec = CONTAINER_OF(node, struct exec, kept);
            if (strcmp(exec->cell->id, name) == 0)
                return exec->id;
        }
    return number;
}

static void wait_refuse_missing(const struct session *session, uint64_t exec_id, struct err *e)
{
    unsigned long long id = exec_id;
    if (exec_id == 0) {
        err_set(e, ERR_NOT_FOUND, "no cell with this id waits or runs, or is kept for an answer");
        err_advise(e, "Ask by the number that its first answer had.");
    } else if (exec_id > session->n_execs) {
        err_set(e, ERR_NOT_FOUND, "the session has no cell %llu", id);
        err_advise(e, "Its cells so far: %llu.", (unsigned long long)session->n_execs);
    } else if (exec_id > session->forgotten_exec) {
        err_set(e, ERR_CONFLICT, "cell %llu has ended and its answer was given already", id);
        err_advise(e, "What it wrote is at …/output?number=%llu; send another cell to go on.", id);
    } else if (session_refuse_if_dead(session, e) == 0) {
        err_set(e, ERR_NOT_FOUND, "the answer of cell %llu was given, or is no longer kept", id);
        err_advise(e,
                   "The last %d ends that nobody fetched are kept. What the cell wrote may still "
                   "be at …/output?number=%llu.",
                   EXEC_KEPT_MAX, id);
    }
}

/* The cell, if nobody waits for it. */
static struct exec *wait_find_exec(struct session *session, uint64_t exec_id, struct err *e)
{
    struct exec *exec = session->running;
    if (exec == NULL || exec->id != exec_id)
        exec = wait_find(&session->queue, false, exec_id);
    if (exec == NULL)
        exec = wait_find(&session->kept, true, exec_id);
    if (exec == NULL)
        exec = wait_find(&session->held, true, exec_id);
    if (exec == NULL) {
        wait_refuse_missing(session, exec_id, e);
        return NULL;
    }
    if (exec->listener == NULL)
        return exec;
    err_set(e, ERR_CONFLICT, "another caller waits for cell %llu", (unsigned long long)exec_id);
    err_advise(e,
               "One caller at a time gets a cell's answer. What it wrote so far is at "
               "…/output?number=%llu.",
               (unsigned long long)exec_id);
    return NULL;
}

static void wait_answer_now(struct exec *exec, struct exec_outcome *outcome)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_flush_held(&exec->pipes[i]);
    /* One whose pipes are open belongs to its session, which the listener may end. */
    bool is_late = !list_is_empty(&exec->node);
    answer_send(exec, outcome);
    answer_drop(outcome);
    if (!is_late)
        exec_free_if_over(exec);
}

void wait_resume(struct exec *exec, const struct exec_wait *wait)
{
    exec_drain(exec);
    wait_attach(exec, wait);
    if (exec->listener != NULL && exec->listener->on_accepted != NULL)
        exec->listener->on_accepted(exec->context, exec->cell);
    /* A stream that begins late begins with what is new. */
    if (exec->listener->on_output != NULL)
        for (size_t i = 0; i < OUTPUT_STREAMS; i++)
            exec_pipe_replay(&exec->pipes[i]);
    if (exec->listener->on_display != NULL) {
        struct transcript_news *news;
        size_t n = transcript_list_news(&exec->cell->transcript, &news);
        for (size_t i = 0; i < n; i++)
            exec->listener->on_display(exec->context, news[i].output, false);
        transcript_free_news(news, n);
    }
    wait_start_clock(exec, wait);
}

int session_continue(struct session *session, uint64_t exec_id, const struct exec_wait *wait,
                     struct exec **ret_exec, struct err *e)
{
    session_restart_idle(session);
    struct exec *exec = wait_find_exec(session, exec_id, e);
    if (exec == NULL)
        return -1;
    bool is_over = exec->outcome != NULL && !exec->is_held;
    bool has_calls = exec == session->running && session->handed.n_calls > 0;
    *ret_exec = is_over || exec->question != NULL || has_calls ? NULL : exec;
    wait_resume(exec, wait);
    if (is_over)
        wait_answer_now(exec, wait_take_kept(exec));
    else if (exec->question != NULL)
        input_answer(exec);
    else if (has_calls)
        handed_answer(exec);
    session_changed(session); /* the cell may be over */
    return 0;
}
