/* session.exec: a cell into the session's queue; exec_call.c answers. Daemon; on the loop. */
#include "ops/exec_call.h"

static const struct op_param session_exec_params[] = {
    OP_PARAM_SESSION,
    EXEC_PARAM_CODE,
    EXEC_PARAM_TIMEOUT,
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    EXEC_PARAM_NAMES,
    EXEC_PARAM_DURABLE,
    EXEC_PARAM_IMAGES,
    EXEC_PARAM_HTML,
    EXEC_PARAM_FORMAT,
    EXEC_PARAM_FILES,
    EXEC_PARAM_STRUCTURED,
    EXEC_PARAM_TOOLS(.is_untold = false),
    EXEC_PARAM_TOOL_DEADLINE(.is_untold = false),
    {0},
};

/* What is looked at is Python, and its calls are those of code that explores. */
static int session_exec_check(const struct session *session, const struct exec_request *request,
                              struct err *e)
{
    if (!request->is_structured ||
        (session->exploring.is_on && session->runtime == &runtime_python))
        return 0;
    err_set(e, ERR_INVALID, "\"structured\": true is for cells of Python in sessions that explore");
    return err_advise(e, "Create the session with \"explore\": true, or leave structured out.");
}

static void session_exec_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct exec *exec;
    struct exec_request request = exec_call_request(call);
    request.code = call_text(call, "code", "");
    request.code_len = call_text_len(call, "code");
    request.is_structured = call_bool(call, "structured", session->usual.is_structured);
    if (session_exec_check(session, &request, &e) < 0 ||
        session_exec(session, &request, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

const struct op op_session_exec = {
    .name = "session.exec",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/exec",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = session_exec_params,
    .doc = "Runs a cell in a session and answers with its output, value and error.",
    .run = session_exec_run,
    .result = &shape_answer,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"code\": \"print('hello'); x + 1\"}",
};
