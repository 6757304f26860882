/* Calls of tools that callers have handed in, in the daemon: made by the code of a cell, told to
 * the caller, answered, or late. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "loop/loop.h"
#include "session/chains.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/handed.h"
#include "session/recording.h"
#include "session/session.h"
#include "session/wait.h"
#include "toolbox/toolbox.h"

/* ---- made, and told -------------------------------------------------------------------------- */

void handed_answer(struct exec *exec)
{
    exec_drain(exec);
    answer_send(exec,
                &(struct exec_outcome){.status = CELL_TOOLS, .duration_ms = exec_elapsed_ms(exec)});
}

static void handed_set_deadline(struct session *session)
{
    uint64_t first_ms = UINT64_MAX, now_ms = clock_mono_ms();
    LIST_EACH(&session->handed.calls, node)
        first_ms = MIN(first_ms, CONTAINER_OF(node, struct handed_call, node)->until_ms);
    if (first_ms != UINT64_MAX)
        loop_timer_set(session->handed.deadline, first_ms > now_ms ? first_ms - now_ms : 0);
}

static void handed_on_deadline(void *context)
{
    struct session *session = context;
    struct exec *exec = session->running;
    uint64_t now_ms = clock_mono_ms();
    const struct handed_call *late = NULL;
    LIST_EACH(&session->handed.calls, node) {
        const struct handed_call *call = CONTAINER_OF(node, struct handed_call, node);
        if (late == NULL && call->until_ms <= now_ms)
            late = call;
    }
    if (late == NULL || exec == NULL) {
        handed_set_deadline(session);
        return;
    }
    handed_name(late, exec->late_tool);
    exec->late_tool_ms = late->deadline_ms;
    exec_expire(session);
    if (chains_are_planning(session)) /* no code hears of it by a signal */
        handed_withdraw(session, "its deadline has passed");
    session_changed(session);
}

static void handed_on_tell(void *context)
{
    struct session *session = context;
    struct exec *exec = session->running;
    if (exec == NULL || session->handed.n_calls == 0)
        return;
    if (exec->listener != NULL)
        handed_answer(exec);
    else
        recording_lasting(exec);
    session_changed(session);
}

static int handed_refuse(const struct session *session, const char *name, size_t bytes,
                         struct err *e)
{
    const struct exec *exec = session->running;
    if (exec == NULL || exec->is_timed_out || session->ending.wish != DEATH_UNWISHED) {
        err_set(e, ERR_CONFLICT, "%s is called by cells while they run", name);
        return err_advise(e, "The caller who handed it in answers it, and waits for a cell.");
    }
    if (!exec->takes_tools) {
        err_set(e, ERR_UNAVAILABLE, "nobody waits for this cell who could answer %s", name);
        return err_advise(e, "Run the code by session.exec: its answer has the call.");
    }
    if (session->handed.n_calls >= HANDED_CALLS_MAX) {
        err_set(e, ERR_LIMIT, "%d calls of this cell wait for its caller already",
                HANDED_CALLS_MAX);
        return err_advise(e, "Call again when some of them have their results.");
    }
    if (bytes > HANDED_ARGS_BYTES) {
        err_set(e, ERR_TOO_LARGE, "the arguments of %s have %zu bytes", name, bytes);
        return err_advise(e, "At most %d are taken. Put them into a file of the workspace.",
                          HANDED_ARGS_BYTES);
    }
    return 0;
}

struct handed_call *session_call_handed(struct session *session, struct tool_entry *entry,
                                        const json_t *args, const struct handed_listener *listener,
                                        void *context, struct err *e)
{
    struct handed *h = &session->handed;
    struct exec *exec = session->running;
    if (handed_refuse(session, entry->name, handed_bytes(args), e) < 0)
        return NULL;
    if (h->tell == NULL) {
        h->tell = loop_timer_new(session->engine->loop, handed_on_tell, session);
        h->deadline = loop_timer_new(session->engine->loop, handed_on_deadline, session);
    }
    const struct handed_tools *tools = exec->tools != NULL ? exec->tools : h->tools;
    h->n_made = h->exec_id == exec->id ? h->n_made + 1 : 1;
    h->exec_id = exec->id;
    struct handed_call *call = mem_alloc(sizeof(*call));
    *call = (struct handed_call){.session = session,
                                 .entry = entry,
                                 .args = json_deep_copy(args),
                                 .deadline_ms = tools->deadline_ms,
                                 .until_ms = clock_mono_ms() + tools->deadline_ms,
                                 .listener = listener,
                                 .context = context};
    snprintf(call->id, sizeof(call->id), "%llu.%u", (unsigned long long)exec->id, h->n_made);
    toolbox_hold(entry);
    list_append(&h->calls, &call->node);
    h->n_calls++;
    session_restart_idle(session);
    exec_pause(exec);
    loop_timer_set(h->tell, 0); /* those of the same turn are told together */
    handed_set_deadline(session);
    return call;
}

/* ---- answered -------------------------------------------------------------------------------- */

static struct handed_call *handed_find_call(const struct session *session, const char *id)
{
    LIST_EACH(&session->handed.calls, node) {
        struct handed_call *call = CONTAINER_OF(node, struct handed_call, node);
        if (strcmp(call->id, id) == 0)
            return call;
    }
    return NULL;
}

static int handed_check_result(const struct session *session, const json_t *results, size_t i,
                               struct err *e)
{
    const json_t *one = json_array_get(results, i), *result = json_object_get(one, "result");
    const char *id = json_string_value(json_object_get(one, "id"));
    size_t bytes = result != NULL ? handed_bytes(result) : 0;
    bool is_twice = false;
    for (size_t k = 0; k < i; k++)
        is_twice |=
            strcmp(json_string_value(json_object_get(json_array_get(results, k), "id")), id) == 0;
    if (handed_find_call(session, id) == NULL) {
        _buf_ struct buf waiting = BUF_INIT(4 * KIB);
        handed_describe(session, &waiting);
        err_set(e, ERR_CONFLICT, "no call %.40s waits for a result", id);
        return err_advise(e, "It was answered, or never made. These wait: %.400s.",
                          waiting.len > 0 ? buf_str(&waiting) : "none");
    }
    if (is_twice)
        return err_set(e, ERR_CONFLICT, "the call %.40s is answered twice", id);
    if ((result == NULL) == (json_object_get(one, "error") == NULL)) {
        err_set(e, ERR_INVALID, "the answer to %.40s needs either \"result\" or \"error\"", id);
        return err_advise(e, "result: what the tool gave, any JSON. error: a text, why it failed.");
    }
    if (bytes > HANDED_RESULT_BYTES) {
        err_set(e, ERR_TOO_LARGE, "the result of %.40s has %zu bytes", id, bytes);
        return err_advise(e,
                          "At most %d are taken. Put it into a file of the workspace, and answer "
                          "with its path.",
                          HANDED_RESULT_BYTES);
    }
    return 0;
}

/* The cell that a caller means waits for results; else says why not. */
static int handed_refuse_late(struct session *session, uint64_t exec_id, struct err *e)
{
    const struct exec *exec = session->running;
    unsigned long long id = exec_id;
    if (exec != NULL && exec->id == exec_id && session->handed.n_calls > 0) {
        if (exec->listener == NULL)
            return 0;
        err_set(e, ERR_CONFLICT, "another caller waits for cell %llu", id);
        return err_advise(e, "One caller at a time answers a cell's calls.");
    }
    if (exec != NULL && exec->id == exec_id) {
        err_set(e, ERR_CONFLICT, "cell %llu waits for no result", id);
        return err_advise(e, "Its calls were answered, or it was interrupted. Answer after an "
                             "answer whose status is tool_call_required.");
    }
    if (exec_id > session->n_execs || exec_id == 0) {
        err_set(e, ERR_NOT_FOUND, "the session has no cell %llu", id);
        return err_advise(e, "Its cells so far: %llu.", (unsigned long long)session->n_execs);
    }
    if (exec_id > session->ended_exec && exec != NULL) {
        err_set(e, ERR_CONFLICT, "cell %llu waits for its turn, and for no result", id);
        return err_advise(e, "Answer after an answer whose status is tool_call_required.");
    }
    err_set(e, ERR_GONE, "cell %llu is over: nobody waits for these results", id);
    return err_advise(e, "How it ended is in its row of the notebook, and in exec.continue if that "
                         "was not told yet.");
}

int session_tool_results(struct session *session, uint64_t exec_id, const json_t *results,
                         const struct exec_wait *wait, struct exec **ret_exec, struct err *e)
{
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0 || handed_refuse_late(session, exec_id, e) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(results); i++)
        if (handed_check_result(session, results, i, e) < 0)
            return -1;
    struct exec *exec = session->running;
    bool is_rest = json_array_size(results) < session->handed.n_calls;
    *ret_exec = is_rest ? NULL : exec;
    wait_resume(exec, wait);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        const char *error = json_string_value(json_object_get(one, "error"));
        struct handed_call *call =
            handed_find_call(session, json_string_value(json_object_get(one, "id")));
        struct err failed;
        size_t len = error != NULL ? MIN(strlen(error), sizeof(failed.message) - 1) : 0;
        if (error != NULL)
            err_set(&failed, ERR_UPSTREAM, "%.*s", (int)utf8_valid_prefix(error, len), error);
        handed_finish(call, json_object_get(one, "result"), error != NULL ? &failed : NULL);
    }
    if (session->running != exec)
        return 0;
    if (is_rest)
        handed_answer(exec);
    else
        recording_lasting(exec); /* it waits for none of them any more */
    return 0;
}
