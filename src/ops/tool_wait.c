/* The tool `wait`: the next answer of a cell that still runs or was not heard to its end. Daemon;
 * on the loop. */
#include "ops/exec_call.h"
#include "ops/tool_call.h"

static const struct op_param tool_wait_params[] = {
    TOOL_PARAM_SESSION,
    {.name = "input",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = EXEC_LINE_MAX,
     .doc = "The line it asks for."},
    {.name = "interrupt", .type = OP_BOOL, .is_nullable = true, .doc = "Stop it first."},
    TOOL_PARAM_YIELD,
    TOOL_PARAM_TOKENS,
    EXEC_PARAM_RESULTS(.is_nullable = true, .is_untold = true),
    {0},
};

/* The first cell whose last answer the caller has not had: one that ended meanwhile, the one that
 * runs, the next; 0: there is none. */
static uint64_t wait_number(const struct session *session)
{
    const struct exec *exec = session->running;
    if (!list_is_empty(&session->kept))
        exec = CONTAINER_OF(session->kept.next, struct exec, kept);
    else if (exec == NULL && !list_is_empty(&session->held))
        exec = CONTAINER_OF(session->held.next, struct exec, kept);
    else if (exec == NULL && !list_is_empty(&session->queue))
        exec = CONTAINER_OF(session->queue.next, struct exec, node);
    return exec != NULL ? exec->id : 0;
}

/* Something that the cell goes on with. */
static bool wait_gives(const struct call *call)
{
    return call_text(call, "input", NULL) != NULL ||
           json_is_array(json_object_get(call->args, "results"));
}

static int wait_begin(struct call *call, struct session *session, struct exec **ret, struct err *e)
{
    const char *line = call_text(call, "input", NULL);
    size_t len = call_text_len(call, "input");
    struct exec_wait wait = exec_call_wait(call);
    const json_t *results = json_object_get(call->args, "results");
    if (json_is_array(results)) {
        uint64_t running = session->running != NULL ? session->running->id : session->ended_exec;
        return session_tool_results(session, running, results, &wait, ret, e);
    }
    if (line != NULL) {
        len -= len > 0 && line[len - 1] == '\n';
        return session_input(session, 0, line, len, &wait, ret, e);
    }
    uint64_t number = wait_number(session);
    if (call_bool(call, "interrupt", false) && session->running != NULL) {
        number = session->running->id;
        session_interrupt(session);
    }
    return session_continue(session, number, &wait, ret, e);
}

static void tool_wait_run(struct call *call)
{
    struct err e;
    struct exec *exec;
    struct session *session = tool_found(call);
    if (session == NULL)
        return;
    if (!wait_gives(call) && wait_number(session) == 0) {
        _buf_ struct buf text = BUF_INIT(KIB);
        buf_append_str(&text, "[nothing runs]");
        tool_reply_text(call, &text);
        return;
    }
    if (wait_begin(call, session, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

static bool has_something(const struct session *session)
{
    return wait_number(session) > 0;
}

static void prepare(struct call *call)
{
    tool_prepare_fitting(call, has_something);
}

static bool tool_wait_only_reads(const struct call *call)
{
    return !wait_gives(call) && !call_bool(call, "interrupt", false);
}

static unsigned tool_wait_uses(const struct call *call)
{
    return wait_gives(call) ? OP_RUNS_CODE : 0;
}

const struct op op_tool_wait = {
    .name = "tool.wait",
    .method = "POST",
    .path = "/v1/tools/wait",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = tool_wait_params,
    .doc = "Waits on for code that still runs, and answers with what is new; gives it a line, or "
           "interrupts it.",
    .tool = "wait",
    .toolset = "core",
    .tool_doc = "New output of code that still runs; answer its input() or interrupt it.",
    .prepare = prepare,
    .run = tool_wait_run,
    .only_reads = tool_wait_only_reads,
    .uses = tool_wait_uses,
    .result = &shape_tool_result,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session\": \"$busy\", \"yield_ms\": 0}",
};
