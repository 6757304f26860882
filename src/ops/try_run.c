/* session.try: a cell whose effects await a decision. Daemon; on the loop. */
#include "ops/exec_call.h"
#include "session/trial.h"

static const struct op_param try_run_params[] = {
    OP_PARAM_SESSION,  EXEC_PARAM_CODE, EXEC_PARAM_TIMEOUT, EXEC_PARAM_BUDGET,
    EXEC_PARAM_IMAGES, EXEC_PARAM_HTML, EXEC_PARAM_FORMAT,  {0},
};

static void try_run_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct exec *exec;
    struct exec_request request = {
        .code = call_text(call, "code", ""),
        .code_len = call_text_len(call, "code"),
        .timeout_ms = call_timeout_ms(call),
        .names = HEAD_NAMES_CHANGES,
        .is_trial = true,
        .has_inline_images = call_wants_images(call),
        .has_html = call_bool(call, "html", false),
        .wait = exec_call_wait(call),
    };
    if (session_exec(session, &request, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

const struct op op_try_run = {
    .name = "session.try",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/try",
    .subject = OP_ON_HISTORY,
    .flags = OP_MUTATING | OP_RUNS_CODE,
    .params = try_run_params,
    .doc = "Runs a cell and answers with what it changed; then it is kept or taken back.",
    .run = try_run_run,
    .result = &shape_answer,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"code\": \"x = 99\"}",
};
