/* Running cells of a notebook. Daemon; on the loop; the run under way is the call's. */
#include "ops/exec_call.h"
#include "ops/notebook_call.h"

/* On its way to the session. The call may be answered before we hear of it, so this is not in its
 * arena. */
struct start {
    struct call *call;
    void *waiting; /* what the call's op_state is to be */
    struct task *under_way;
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

static void run_call_on_gone(struct call *call)
{
    struct start *start = call->op_state;
    task_forget(start->under_way);
    free(start);
}

void run_call_begin(struct call *call, const char *cell)
{
    struct exec_request request = exec_call_request(call);
    struct start *start = mem_alloc(sizeof(*start));
    *start = (struct start){.call = call, .waiting = call->op_state};
    call->op_state = start;
    call->on_gone = run_call_on_gone;
    start->under_way =
        runs_cell(call->engine, call_text(call, "session_id", ""), cell, &request, on_begun, start);
}
