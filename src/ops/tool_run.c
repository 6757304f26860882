/* The tool `run`: code in the caller's session, which is made if there is none. Daemon; on the
 * loop. */
#include "ops/exec_call.h"
#include "ops/tool_call.h"

static const struct op_param tool_run_params[] = {
    {.name = "code", .type = OP_TEXT, .is_required = true, .max = EXEC_CODE_MAX, .doc = "Source."},
    {.name = "language",
     .type = OP_CHOICE,
     .choices = runtime_names,
     .is_nullable = true,
     .means = OP_MEANS_RUNTIME,
     .doc = "Default python."},
    {.name = "session",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = TOOL_NAME_MAX,
     .means = OP_MEANS_SESSION,
     .doc = "Name; a new one makes a session. Default: yours."},
    {.name = "timeout_ms",
     .type = OP_INT,
     .is_nullable = true,
     .min = 1,
     .max = EXEC_TIMEOUT_MAX_MS,
     .means = OP_MEANS_TIMEOUT,
     .doc = "Interrupt it then."},
    TOOL_PARAM_YIELD,
    TOOL_PARAM_TOKENS,
    EXEC_PARAM_TOOLS(.is_untold = true),
    EXEC_PARAM_TOOL_DEADLINE(.is_untold = true),
    {0},
};

static void run_in(struct call *call, struct session *session)
{
    struct err e;
    struct exec *exec;
    session_restart_idle(session);
    struct exec_request request = exec_call_request(call);
    request.code = call_text(call, "code", "");
    request.code_len = call_text_len(call, "code");
    if (session_exec(session, &request, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

static void tool_run_run(struct call *call)
{
    tool_session(call, run_in);
}

static unsigned tool_run_uses(const struct call *call)
{
    return OP_RUNS_CODE | (tool_makes_session(call) ? OP_MAKES_SESSION : 0);
}

const struct op op_tool_run = {
    .name = "tool.run",
    .method = "POST",
    .path = "/v1/tools/run",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_STREAMS | OP_MAKES_SESSION | OP_RUNS_CODE,
    .params = tool_run_params,
    .doc = "Runs code in a live session whose variables and files stay; without a session in the "
           "caller's own, which is made if there is none.",
    .tool = "run",
    .toolset = "core",
    .tool_doc = "Run code in a live sandboxed session; variables, imports and files in /workspace "
                "stay. The last expression's value and figures are shown. Undo with back.",
    .hints = OP_DESTROYS,
    .prepare = tool_prepare,
    .run = tool_run_run,
    .uses = tool_run_uses,
    .result = &shape_tool_result,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"code\": \"print('hello'); 1 + 1\"}",
};
