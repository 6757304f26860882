#include "session/exec.h"

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/head.h"
#include "session/answer.h"
#include "session/engine_state.h"

#include <assert.h>
#include <signal.h>

enum {
    /* Shorter cells are answered without the loop ever knowing their pipes, also when sixteen
     * sessions share two cores. */
    POLL_AFTER_MS = 5,
    WATCH_AFTER_MS = 20,
    GRACE_MS = 1000,
    SETTLE_MS = 2000, /* for a report that never comes */
    QUIET_MS = 25,
    LOOK_EVERY_NS = 1000000000,
    AWAKE_FOR_ANSWER_NS = 200000, /* a short cell's */
    AWAKE_FOR_NEXT_NS = 150000,   /* the next cell of a caller that does not think */
    LATE_MAX = 8,                 /* answered cells whose pipes stay open; the oldest are closed */
};

const char *exec_status_name(enum exec_status status)
{
    static const char *const names[] = {[EXEC_OK] = "ok",
                                        [EXEC_ERROR] = "error",
                                        [EXEC_TIMEOUT] = "timeout",
                                        [EXEC_INTERRUPTED] = "interrupted",
                                        [EXEC_DIED] = "died"};
    return names[status];
}

/* ---- the object --------------------------------------------------------------------------------
 */

static struct exec *new_exec(struct session *session, const struct exec_request *request)
{
    struct exec *exec = mem_alloc(sizeof(*exec));
    list_init(&exec->node);
    exec->session = session;
    exec->id = ++session->n_execs;
    exec->listener = request->listener;
    exec->context = request->context;
    exec->timeout_ms = request->timeout_ms;
    exec->budget = request->budget;
    exec->pictures_left = request->pictures;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec->pipes[i].fd = -1;
    return exec;
}

/* What only the answer needed. */
static void drop_answer(struct exec *exec)
{
    for (size_t i = 0; i < exec->n_outputs; i++)
        json_decref(exec->outputs[i]);
    exec->n_outputs = 0;
    free(take_ptr(exec->outputs));
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_capture_free(&exec->pipes[i].capture);
}

static void free_exec(struct exec *exec)
{
    list_remove(&exec->node);
    drop_answer(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_close(&exec->pipes[i]);
    free(exec->code);
    free(exec);
}

void exec_detach(struct exec *exec)
{
    exec->listener = NULL;
}

static double elapsed_ms(const struct exec *exec)
{
    return (double)(clock_mono_ns() - exec->started_ns) / 1e6;
}

/* ---- beginning ---------------------------------------------------------------------------------
 */

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

/* The next step of a cell that runs `due_ms` after its begin, unless its time is over before. */
static void arm(struct session *session, enum session_alarm alarm, uint32_t due_ms)
{
    const struct exec *exec = session->running;
    double passed_ms = alarm == ALARM_POLL ? 0 : elapsed_ms(exec);
    if (due_ms >= exec->timeout_ms) {
        alarm = ALARM_DEADLINE;
        due_ms = exec->timeout_ms;
    }
    double wait_ms = (double)due_ms - passed_ms;
    session_set_alarm(session, alarm, wait_ms > 0 ? (uint64_t)wait_ms + (passed_ms > 0) : 0);
}

/* Counts the cells that run, and decides how long the loop stays awake. */
static void count_running(struct engine *engine, int change, uint64_t now_ns)
{
    engine->n_running += (size_t)change;
    engine->awake_until_ns = 0;
    if (engine->has_cores && engine->n_running <= 1)
        engine->awake_until_ns =
            now_ns + (engine->n_running == 1 ? AWAKE_FOR_ANSWER_NS : AWAKE_FOR_NEXT_NS);
}

static int begin(struct session *session, struct exec *exec, const char *code, size_t len,
                 struct err *e)
{
    int write_fds[OUTPUT_STREAMS];
    if (open_pipes(exec, write_fds, e) < 0)
        return -1;
    session->running = exec;
    session_move(session, SESSION_BUSY);
    exec->started_ns = clock_mono_ns();
    count_running(session->engine, 1, exec->started_ns);
    arm(session, ALARM_POLL, POLL_AFTER_MS);
    struct err broken;
    struct head_cell cell = {.id = exec->id, .code = code, .len = len};
    if (head_run(session->head, &cell, write_fds[OUTPUT_STDOUT], write_fds[OUTPUT_STDERR],
                 &broken) < 0)
        session_kill(session, DEATH_BY_CHANNEL, broken.message);
    return 0;
}

/* A session whose kill is under way takes no cell: those that come meanwhile are told by its end.
 */
static bool can_begin(const struct session *session)
{
    return session->state == SESSION_IDLE && session->ending.wish == DEATH_UNWISHED;
}

void exec_begin_next(struct session *session)
{
    while (can_begin(session) && !list_is_empty(&session->queue)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        list_remove(&exec->node);
        session->n_queued--;
        struct err e;
        int rc = begin(session, exec, exec->code, exec->code_len, &e);
        if (rc == 0) {
            free(take_ptr(exec->code));
            return;
        }
        if (exec->listener != NULL)
            exec->listener->on_failed(exec->context, &e);
        free_exec(exec);
    }
}

static int refuse_if_dead(const struct session *session, struct err *e)
{
    if (session->state != SESSION_DEAD)
        return 0;
    char exit_code[32] = "";
    if (session->death.has_exit_code && strstr(session->death.message, "exit code") == NULL)
        snprintf(exit_code, sizeof(exit_code), " (exit code %d)", session->death.exit_code);
    err_set(e, ERR_GONE, "the session has ended: %s%s", session->death.message, exit_code);
    return err_advise(e, "%s", session->death.advice);
}

int session_exec(struct session *session, const struct exec_request *request,
                 struct exec **ret_exec, struct err *e)
{
    if (refuse_if_dead(session, e) < 0)
        return -1;
    if (session->n_queued >= EXEC_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d cells already wait in this session", EXEC_QUEUE_MAX);
        return err_advise(e, "Wait for an answer before sending more, interrupt the running cell, "
                             "or use another session.");
    }
    struct exec *exec = new_exec(session, request);
    *ret_exec = exec;
    if (can_begin(session)) {
        if (begin(session, exec, request->code, request->code_len, e) == 0)
            return 0;
        free_exec(exec);
        return -1;
    }
    exec->code = mem_copy(request->code, request->code_len);
    exec->code_len = request->code_len;
    list_append(&session->queue, &exec->node);
    session->n_queued++;
    return 0;
}

/* ---- late output -------------------------------------------------------------------------------
 */

static bool is_ended(const struct exec *exec)
{
    return exec->pipes[OUTPUT_STDOUT].fd < 0 && exec->pipes[OUTPUT_STDERR].fd < 0;
}

static void forget_late(struct exec *exec)
{
    exec->session->n_late--;
    free_exec(exec);
}

void exec_pipe_ended(struct exec *exec)
{
    if (exec != exec->session->running && is_ended(exec))
        forget_late(exec);
}

static void keep_late(struct exec *exec)
{
    struct session *session = exec->session;
    list_append(&session->late, &exec->node);
    if (++session->n_late > LATE_MAX)
        forget_late(CONTAINER_OF(list_first(&session->late), struct exec, node));
}

/* The driver let go of an earlier cell's pipes when it got the next one's: what is still open now
 * belongs to a process or thread that goes on writing. */
static void tidy_late(struct session *session)
{
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        bool is_newest = node->next == &session->late;
        drop_answer(exec);
        for (size_t i = 0; i < OUTPUT_STREAMS && !is_newest; i++)
            if (exec->pipes[i].poll == NULL && exec_pipe_drain(&exec->pipes[i]))
                exec_pipe_watch(&exec->pipes[i]);
        if (is_ended(exec))
            forget_late(exec);
    }
}

static void watch_late(struct session *session)
{
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
            exec_pipe_watch(&exec->pipes[i]);
            exec_pipe_shrink(&exec->pipes[i]);
        }
    }
}

/* ---- the verdict -------------------------------------------------------------------------------
 */

static void drain(struct exec *exec)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_drain(&exec->pipes[i]);
}

void exec_on_display(struct session *session, json_t *output)
{
    struct exec *exec = session->running;
    drain(exec);
    if (exec->listener != NULL && exec->listener->on_display != NULL)
        exec->listener->on_display(exec->context, output);
    answer_add_output(exec, output);
    head_ack(session->head);
}

/* A short cell may leave a process behind that fills the disk: the warden is asked to look, but
 * once a second is enough, since it looks a second later. */
static void look_after(struct session *session, const struct exec *exec)
{
    uint64_t now_ns = clock_mono_ns();
    if (!exec->is_watched && now_ns - session->looked_after_ns < LOOK_EVERY_NS)
        return;
    session->looked_after_ns = now_ns;
    head_watch(session->head, false);
}

/* The cell no longer runs: what remains of it are its pipes. */
static void retire(struct exec *exec)
{
    struct session *session = exec->session;
    drain(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_flush_held(&exec->pipes[i]);
    if (session->state != SESSION_DEAD)
        look_after(session, exec);
    session->running = NULL;
    count_running(session->engine, -1, clock_mono_ns());
    keep_late(exec);
}

static void become_idle(struct session *session)
{
    session_move(session, SESSION_IDLE);
    session_set_alarm(session, ALARM_QUIET, QUIET_MS);
}

/* An interrupt that was sent too late must arrive between cells, where the driver ignores it: the
 * next cell waits until it has. */
static void rest(struct session *session)
{
    if (session->n_interrupts > 0)
        session_set_alarm(session, ALARM_SETTLE, SETTLE_MS);
    else
        become_idle(session);
}

void exec_on_verdict(struct session *session, const struct head_verdict *verdict)
{
    static const enum exec_status statuses[] = {
        [HEAD_OK] = EXEC_OK, [HEAD_ERROR] = EXEC_ERROR, [HEAD_INTERRUPTED] = EXEC_INTERRUPTED};
    if (session->ending.wish != DEATH_UNWISHED)
        return; /* it was killed meanwhile: its end is the answer */
    struct exec *exec = session->running;
    struct answer_facts facts = {.status = statuses[verdict->status],
                                 .value = verdict->value,
                                 .error = verdict->error,
                                 .duration_ms = elapsed_ms(exec)};
    char message[96];
    if (exec->is_timed_out) {
        snprintf(message, sizeof(message), "stopped by SIGINT after its time limit of %u ms",
                 exec->timeout_ms);
        facts.status = EXEC_TIMEOUT;
        facts.own_name = "TimeLimit";
        facts.own_message = message;
        facts.own_advice = "The session and its variables are still there. Split the work into "
                           "shorter cells, or give the cell a larger timeout_ms.";
    } else if (facts.status == EXEC_INTERRUPTED && facts.error == NULL) {
        facts.own_name = "KeyboardInterrupt";
        facts.own_message = "the cell was interrupted";
    }
    retire(exec);
    rest(session);
    answer_send(exec, &facts);
    tidy_late(session);
    exec_begin_next(session);
}

/* ---- time --------------------------------------------------------------------------------------
 */

static void interrupt(struct session *session)
{
    session->n_interrupts++;
    head_signal(session->head, SIGINT);
}

bool exec_interrupt(struct session *session)
{
    if (session->running == NULL || session->ending.wish != DEATH_UNWISHED)
        return false;
    interrupt(session);
    return true;
}

static void watch_running(struct session *session)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_watch(&session->running->pipes[i]);
}

static void on_deadline(struct session *session)
{
    struct exec *exec = session->running;
    if (elapsed_ms(exec) < exec->timeout_ms) {
        /* The loop's clock is that of its last turn. */
        session_set_alarm(session, ALARM_DEADLINE, 1);
        return;
    }
    exec->is_timed_out = true;
    watch_running(session); /* a limit this short passed before ALARM_POLL */
    interrupt(session);
    session_set_alarm(session, ALARM_GRACE, GRACE_MS);
}

static void on_poll(struct session *session)
{
    watch_running(session);
    watch_late(session);
    arm(session, ALARM_WATCH, WATCH_AFTER_MS);
}

static void on_watch(struct session *session)
{
    session->running->is_watched = true;
    head_watch(session->head, true);
    arm(session, ALARM_DEADLINE, session->running->timeout_ms);
}

static void on_settled(struct session *session)
{
    session->n_interrupts = 0;
    become_idle(session);
    exec_begin_next(session);
}

void exec_on_signaled(struct session *session)
{
    if (session->n_interrupts > 0)
        session->n_interrupts--;
    if (session->alarm == ALARM_SETTLE && session->n_interrupts == 0)
        on_settled(session);
}

void exec_on_alarm(struct session *session, enum session_alarm alarm)
{
    if (alarm == ALARM_POLL)
        on_poll(session);
    else if (alarm == ALARM_WATCH)
        on_watch(session);
    else if (alarm == ALARM_DEADLINE)
        on_deadline(session);
    else if (alarm == ALARM_GRACE)
        session_kill(session, DEATH_BY_LIMIT, NULL);
    else if (alarm == ALARM_SETTLE)
        on_settled(session);
    else if (alarm == ALARM_QUIET)
        watch_late(session);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void answer_death(struct session *session)
{
    struct exec *exec = session->running;
    bool is_time = session->ending.wish == DEATH_BY_LIMIT;
    struct answer_facts facts = {.status = is_time ? EXEC_TIMEOUT : EXEC_DIED,
                                 .death = &session->death,
                                 .duration_ms = elapsed_ms(exec)};
    retire(exec);
    answer_send(exec, &facts);
}

static void fail_waiting(struct session *session)
{
    struct err e;
    err_set(&e, ERR_GONE, "the session ended before the cell could begin: %s",
            session->death.message);
    err_advise(&e, "%s", session->death.advice);
    while (!list_is_empty(&session->queue)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        list_remove(&exec->node);
        session->n_queued--;
        const struct exec_listener *listener = take_ptr(exec->listener);
        if (listener != NULL)
            listener->on_failed(exec->context, &e);
        free_exec(exec);
    }
}

void exec_end_all(struct session *session)
{
    assert(session->state == SESSION_DEAD);
    if (session->running != NULL)
        answer_death(session);
    fail_waiting(session);
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        drain(exec);
        forget_late(exec);
    }
}
