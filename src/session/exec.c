#include "session/exec.h"

#include "base/clock.h"
#include "base/fd.h"
#include "session/engine_state.h"
#include "session/late.h"
#include "session/manifest.h"
#include "session/recorder.h"
#include "session/restore.h"
#include "session/showing.h"
#include "session/suspend.h"
#include "session/timing.h"
#include "session/trial.h"
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

/* ---- the object --------------------------------------------------------------------------------
 */

static struct exec *new_exec(struct session *session, const struct exec_request *request)
{
    struct exec *exec = mem_alloc(sizeof(*exec));
    list_init(&exec->node);
    list_init(&exec->kept);
    exec->session = session;
    exec->id = ++session->n_execs;
    exec->timeout_ms = request->timeout_ms;
    exec->names = request->names;
    bool has_to_be_safe = request->is_durable || session->saving.isolation == ISOLATION_PER_CELL;
    exec->is_durable = has_to_be_safe && saving_is_on(session);
    exec->is_trial = request->is_trial;
    exec->echoes = request->echoes;
    exec->is_script = request->is_script;
    exec->has_inline_images = request->has_inline_images;
    if (request->cell != NULL) {
        snprintf(exec->cell, sizeof(exec->cell), "%s", request->cell);
        exec->cell_number = request->cell_number;
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
        free_exec(exec);
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

static int begin(struct session *session, struct exec *exec, const char *code, size_t len,
                 struct err *e)
{
    int write_fds[OUTPUT_STREAMS];
    if ((exec->is_trial && trial_begin(session, exec->id, e) < 0) ||
        open_pipes(exec, write_fds, e) < 0)
        return -1;
    session->running = exec;
    exec->extra = take_ptr(session->news);
    exec->is_rolled_back = session->was_rolled_back;
    exec->rolled_back_to = session->rolled_back_to;
    session->was_rolled_back = false;
    session_move(session, SESSION_BUSY);
    timing_begin(exec);
    recorder_begun(exec);
    struct err broken;
    struct head_cell cell = {.id = exec->id,
                             .code = code,
                             .len = len,
                             .names = exec->names,
                             .is_script = exec->is_script};
    if (head_run(session->head, &cell, write_fds[OUTPUT_STDOUT], write_fds[OUTPUT_STDERR],
                 &broken) < 0)
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
           session->restore == NULL && !timeline_blocks(session);
}

static void leave_queue(struct exec *exec)
{
    list_remove(&exec->node);
    exec->session->n_queued--;
}

void exec_begin_next(struct session *session)
{
    saving_on_rest(session);
    while (can_begin(session) && !list_is_empty(&session->queue)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->queue), struct exec, node);
        leave_queue(exec);
        struct err e;
        if (begin(session, exec, exec->code, exec->code_len, &e) == 0)
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
    struct exec *exec = new_exec(session, request);
    *ret_exec = exec;
    exec->code = mem_copy(request->code, request->code_len);
    exec->code_len = request->code_len;
    if (exec->is_trial) {
        session->trial.id = exec->id;
        timeline_take(session);
    }
    recorder_queued(exec);
    if (can_begin(session)) {
        if (begin(session, exec, request->code, request->code_len, e) < 0) {
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

/* ---- the verdict -------------------------------------------------------------------------------
 */

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

static void echo_error(struct exec *exec, const json_t *error)
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

/* A short cell may leave a process behind that fills the disk: the warden is asked to look, but
 * once a second is enough, since it looks a second later. What runs once ends before that. */
static void look_after(struct session *session, const struct exec *exec)
{
    uint64_t now_ns = clock_mono_ns();
    bool is_recent = session->oneshot != NULL || now_ns - session->looked_after_ns < LOOK_EVERY_NS;
    if (!exec->is_watched && is_recent)
        return;
    session->looked_after_ns = now_ns;
    head_watch(session->head, false);
}

/* The cell no longer runs: what remains of it are its pipes. */
static void retire(struct exec *exec)
{
    struct session *session = exec->session;
    session_touch(session);
    exec_resume(exec);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_flush_held(&exec->pipes[i]);
    if (session->state != SESSION_DEAD)
        look_after(session, exec);
    session->running = NULL;
    timing_count(session->engine, -1, clock_mono_ns());
    late_keep(exec);
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

/* Of a cell that ends and whose session lives: the driver's verdict, and what we know better. */
static struct answer_facts judge(const struct exec *exec, const struct head_verdict *verdict,
                                 char *message, size_t message_size)
{
    static const enum exec_status statuses[] = {
        [HEAD_OK] = EXEC_OK, [HEAD_ERROR] = EXEC_ERROR, [HEAD_INTERRUPTED] = EXEC_INTERRUPTED};
    struct answer_facts facts = {
        .status = statuses[verdict->status],
        .value = verdict->value,
        .error = verdict->error,
        .names = exec->names == HEAD_NAMES_FULL ? verdict->names : manifest_news(verdict->names),
        .has_last_status = verdict->has_last_status,
        .last_status = verdict->last_status,
        .duration_ms = exec_elapsed_ms(exec)};
    if (exec->is_timed_out) {
        snprintf(message, message_size, "stopped by SIGINT after its time limit of %u ms",
                 exec->timeout_ms);
        facts.status = EXEC_TIMEOUT;
        facts.own_name = "TimeLimit";
        facts.own_message = message;
        facts.advice = "The session and its variables are still there. Split the work into "
                       "shorter cells, or give the cell a larger timeout_ms.";
    } else if (facts.status == EXEC_INTERRUPTED && facts.error == NULL) {
        facts.own_name = "KeyboardInterrupt";
        facts.own_message = "the cell was interrupted";
    } else if (facts.error != NULL) {
        facts.advice = death_advise(json_string_value(json_object_get(facts.error, "name")),
                                    json_string_value(json_object_get(facts.error, "message")),
                                    exec->denied != NULL);
    }
    return facts;
}

void exec_conclude(struct session *session, const struct head_verdict *verdict)
{
    struct exec *exec = session->running;
    char message[96];
    struct answer_facts facts = judge(exec, verdict, message, sizeof(message));
    exec_drain(exec);
    exec_echo(exec, OUTPUT_STDOUT, json_string_value(json_object_get(facts.value, "text")));
    echo_error(exec, facts.error);
    manifest_on_verdict(exec, verdict->names);
    timeline_add_cell(session, exec->id);
    exec->checkpoint = timeline_next_id(session);
    saving_add_cell(session, exec);
    recorder_ended(exec, &facts);
    retire(exec);
    /* One interrupt ends a cell; whatever else was sent has not been heard yet. */
    timing_rest(session, exec->n_interrupts > (verdict->status == HEAD_INTERRUPTED));
    bool has_to_wait = exec->is_durable || exec->is_trial;
    bool has_to_be_kept = session->timeline.mode == TIMELINE_EVERY || has_to_wait;
    if (has_to_wait)
        wait_hold(exec, &facts);
    else
        wait_end(exec, &facts);
    late_tidy(session);
    restore_end_left(session);
    if (has_to_be_kept)
        timeline_take(session);
    exec_begin_next(session);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static struct answer_facts die(struct exec *exec, const struct death *death)
{
    bool is_time = exec->session->ending.wish == DEATH_BY_LIMIT;
    exec_drain(exec);
    struct answer_facts facts = {.status = is_time ? EXEC_TIMEOUT : EXEC_DIED,
                                 .death = death,
                                 .duration_ms = exec_elapsed_ms(exec)};
    recorder_ended(exec, &facts);
    showing_abandon(exec);
    retire(exec);
    return facts;
}

static void answer_death(struct session *session)
{
    struct exec *exec = session->running;
    struct answer_facts facts = die(exec, &session->death);
    wait_end(exec, &facts);
}

void exec_hold_crash(struct session *session)
{
    struct exec *exec = session->running;
    if (exec == NULL)
        return;
    timeline_add_cell(session, exec->id);
    session->ended_exec = exec->id;
    exec->certificate = mem_copy(&session->death, sizeof(session->death));
    struct answer_facts facts = die(exec, exec->certificate);
    saving_add_cell(session, exec);
    wait_hold(exec, &facts);
}

static struct exec *find_crashed(const struct session *session)
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

void exec_answer_crash(struct session *session, uint64_t checkpoint, json_t *extra)
{
    struct exec *exec = find_crashed(session);
    if (exec == NULL) {
        session->was_rolled_back = true;
        session->rolled_back_to = checkpoint;
        exec_add_news(session, extra);
        return;
    }
    char fate[160];
    snprintf(fate, sizeof(fate),
             " The session goes on from checkpoint %llu%s; \"rolled_back_cells\" lists what is "
             "undone.",
             (unsigned long long)checkpoint, checkpoint == 0 ? ", its beginning" : "");
    death_conclude(exec->certificate, fate);
    exec->is_rolled_back = true;
    exec->rolled_back_to = checkpoint;
    json_decref(exec->extra);
    exec->extra = extra;
    wait_release(exec);
}

static bool is_among(const struct timeline_cells *cells, uint64_t id)
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
        if (exec->certificate != NULL || !is_among(undone, exec->id))
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
static void answer_held(struct session *session)
{
    while (!list_is_empty(&session->held)) {
        struct exec *exec = CONTAINER_OF(list_first(&session->held), struct exec, kept);
        if (exec->certificate != NULL)
            death_conclude(exec->certificate, NULL);
        wait_release(exec);
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

static void fail_waiting(struct session *session)
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
        answer_death(session);
    answer_held(session);
    fail_waiting(session);
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        exec_drain(exec);
        late_forget(exec);
    }
}
