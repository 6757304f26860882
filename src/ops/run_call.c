/* Running cells of a notebook. */
#include "ops/exec_call.h"
#include "ops/notebook_call.h"
#include "policy/policy.h"

/* ---- whether it may ----------------------------------------------------------------------------
 */

/* In the call's arena. */
struct admission {
    struct call *call;
    struct store_call *under_way;
    void (*fn)(struct call *call);
};

static int check_agent(const struct call *call, const char *agent, const char *runtime,
                       struct err *e)
{
    struct agents_grant grant;
    struct agents_claim claim = {.agent = agent};
    if (runtime_by_name(runtime) == NULL) {
        err_set(e, ERR_CONFLICT, "the notebook's language is %.64s, which cannot be run here",
                runtime);
        return err_advise(e, "Export it, and import it with a \"runtime\".");
    }
    if (agent == NULL)
        agent = CONFIG_DEFAULT_AGENT;
    if (policy_plan_of(call->policy, agent) != NULL) {
        err_set(e, ERR_CONFLICT, "the agent %s is in plan mode: %s was not run", agent,
                call->op->name);
        return err_advise(e, "Reading is possible. DELETE /v1/agents/%s/plan leaves plan mode.",
                          agent);
    }
    return policy_admit(call->policy, call->engine, &claim, runtime, &grant, e);
}

static void on_row(void *context, const struct store_notebook *row, const struct err *e)
{
    struct admission *admission = context;
    struct call *call = admission->call;
    struct err refusal;
    call->on_gone = NULL;
    call->op_state = NULL;
    if (e == NULL && row->runtime != NULL &&
        check_agent(call, row->user, row->runtime, &refusal) < 0)
        e = &refusal;
    if (e != NULL)
        call_fail(call, e);
    else
        admission->fn(call);
}

static void on_asker_gone(struct call *call)
{
    struct admission *admission = call->op_state;
    store_forget(admission->under_way);
}

void run_call_admit(struct call *call, void (*fn)(struct call *call))
{
    const char *id = call_text(call, "session_id", "");
    struct session *session = notebook_session(call, id);
    if (session != NULL && session->state != SESSION_DEAD) {
        session_touch(session);
        fn(call);
        return;
    }
    struct admission *admission = arena_alloc(&call->arena, sizeof(*admission));
    *admission = (struct admission){.call = call, .fn = fn};
    call->op_state = admission;
    call->on_gone = on_asker_gone;
    admission->under_way = store_get_notebook(engine_store(call->engine), id, on_row, admission);
}

/* ---- one cell ----------------------------------------------------------------------------------
 */

/* On its way to the session. The call may be answered before we hear of it, so this is not in its
 * arena. */
struct start {
    struct call *call;
    void *waiting; /* what the call's op_state is to be */
    struct book_call *under_way;
};

static void on_begun(void *context, struct exec *exec, const struct err *e)
{
    struct start *start = context;
    struct call *call = start->call;
    void *waiting = start->waiting;
    free(start);
    if (exec == NULL && e == NULL)
        return; /* the call is over */
    call->op_state = waiting;
    call->on_gone = NULL;
    if (e != NULL)
        call_fail(call, e);
    else
        exec_call_begun(call, exec);
}

static void on_gone(struct call *call)
{
    struct start *start = call->op_state;
    book_forget(start->under_way);
    free(start);
}

void run_call_begin(struct call *call, const char *cell)
{
    struct exec_request request = exec_call_request(call);
    struct start *start = mem_alloc(sizeof(*start));
    *start = (struct start){.call = call, .waiting = call->op_state};
    call->op_state = start;
    call->on_gone = on_gone;
    start->under_way =
        book_run(call->books, call_text(call, "session_id", ""), cell, &request, on_begun, start);
}
