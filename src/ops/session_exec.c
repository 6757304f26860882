#include "ops/exec_call.h"

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    {.name = "code",
     .type = OP_TEXT,
     .is_required = true,
     .max = EXEC_CODE_MAX,
     .doc = "The cell: source code, at most 1 MiB."},
    {.name = "timeout_ms",
     .type = OP_INT,
     .min = 1,
     .max = EXEC_TIMEOUT_MAX_MS,
     .doc = "How long the cell may run before it is interrupted; default 30000."},
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    {.name = "names",
     .type = OP_BOOL,
     .is_nullable = true,
     .doc = "true: the answer lists the session's names; false: it says nothing about them; "
            "without it, which ones the cell added, changed or removed."},
    {.name = "durable",
     .type = OP_BOOL,
     .doc = "The answer comes when what the cell did is safe on disk."},
    {0},
};

static enum head_names read_names(const struct call *call)
{
    const json_t *names = json_object_get(call->args, "names");
    if (json_is_boolean(names))
        return json_is_true(names) ? HEAD_NAMES_FULL : HEAD_NAMES_NONE;
    return HEAD_NAMES_CHANGES;
}

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct exec *exec;
    struct exec_request request = {
        .code = call_text(call, "code", ""),
        .code_len = call_text_len(call, "code"),
        .timeout_ms = (uint32_t)call_int(call, "timeout_ms", EXEC_TIMEOUT_DEFAULT_MS),
        .names = read_names(call),
        .is_durable = call_bool(call, "durable", false),
        .wait = exec_call_wait(call),
    };
    if (session_exec(session, &request, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

const struct op op_session_exec = {
    .name = "session.exec",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/exec",
    .flags = OP_MUTATING | OP_STREAMS,
    .params = params,
    .doc = "Runs a cell in a session and answers with its output, value and error.",
    .run = run,
};
