/* How cells end: by the driver's verdict, or with their interpreter. */
#include "base/clock.h"
#include "base/fd.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/late.h"
#include "session/manifest.h"
#include "session/recorder.h"
#include "session/restore.h"
#include "session/showing.h"
#include "session/timing.h"
#include "session/trial.h"
#include "session/wait.h"

#include <assert.h>

enum { LOOK_EVERY_NS = 1000000000 };

/* ---- the verdict ----------------------------------------------------------------------------- */

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

/* Of a cell that ends and whose session lives: the driver's verdict, and what we know better. */
static struct answer_facts judge(const struct exec *exec, const struct head_verdict *verdict,
                                 char *message, size_t message_size)
{
    static const enum cell_state statuses[] = {[HEAD_OK] = CELL_COMPLETED,
                                               [HEAD_ERROR] = CELL_ERROR,
                                               [HEAD_INTERRUPTED] = CELL_INTERRUPTED};
    struct answer_facts facts = {
        .status = statuses[verdict->status],
        .value = verdict->value,
        .error = verdict->error,
        .names = exec->names == HEAD_NAMES_FULL ? verdict->names : manifest_news(verdict->names),
        .has_last_status = verdict->has_last_status,
        .last_status = verdict->last_status,
        .command_status = verdict->command_status,
        .has_exit_code = verdict->has_exit_code,
        .exit_code = verdict->exit_code,
        .duration_ms = exec_elapsed_ms(exec)};
    if (exec->is_timed_out) {
        snprintf(message, message_size, "stopped by SIGINT after its time limit of %u ms",
                 exec->timeout_ms);
        facts.status = CELL_TIMEOUT;
        facts.own_name = "TimeLimit";
        facts.own_message = message;
        facts.advice = "The session and its variables are still there. Split the work into "
                       "shorter cells, or give the cell a larger timeout_ms.";
    } else if (facts.status == CELL_INTERRUPTED && facts.error == NULL) {
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
    exec_echo(exec, OUTPUT_STDOUT, json_string_value(json_object_get(facts.value, "text")));
    echo_error(exec, facts.error);
    manifest_on_verdict(exec, verdict->names);
    exec->checkpoint = timing_end(exec);
    saving_add_cell(session, exec);
    recorder_ended(exec, &facts);
    retire(exec);
    /* One interrupt ends a cell; whatever else was sent has not been heard yet. */
    timing_rest(session, exec->n_interrupts > (verdict->status == HEAD_INTERRUPTED));
    if (exec->is_durable || exec->is_trial)
        wait_hold(exec, &facts);
    else
        wait_end(exec, &facts);
    late_tidy(session);
    restore_end_left(session);
    timing_keep(session);
    exec_begin_next(session);
}

/* ---- the end --------------------------------------------------------------------------------- */

static struct answer_facts die(struct exec *exec, const struct death *death)
{
    bool is_time = exec->session->ending.wish == DEATH_BY_LIMIT;
    exec_drain(exec);
    struct answer_facts facts = {.status = is_time ? CELL_TIMEOUT : CELL_DIED,
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
    timeline_add_cell(session, exec->id, 0);
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

static void add_return(struct session *session, uint64_t checkpoint, json_t *extra)
{
    session->was_rolled_back = true;
    session->rolled_back_to = checkpoint;
    exec_add_news(session, extra);
}

/* On the streams, as a terminal would show it, and in the members of the next answer. */
static void tell_next(struct session *session, struct exec *crashed, uint64_t checkpoint,
                      json_t *extra)
{
    const struct death *death = crashed->certificate;
    _buf_ struct buf words = BUF_INIT(KIB * 4);
    buf_printf(&words, "%s: %s\n%s", death->name, death->message, death->advice);
    exec_echo(crashed, OUTPUT_STDERR, buf_str(&words));
    add_return(session, checkpoint, json_incref(extra));
}

void exec_answer_crash(struct session *session, uint64_t checkpoint, json_t *extra)
{
    struct exec *exec = find_crashed(session);
    if (exec == NULL) {
        add_return(session, checkpoint, extra);
        return;
    }
    char fate[160];
    snprintf(fate, sizeof(fate),
             " The session goes on from checkpoint %llu%s; \"rolled_back_cells\" lists what is "
             "undone.",
             (unsigned long long)checkpoint, checkpoint == 0 ? ", its beginning" : "");
    death_conclude(exec->certificate, fate);
    if (exec->echoes && exec->listener == NULL) /* whoever left it asks for the next one */
        tell_next(session, exec, checkpoint, extra);
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
