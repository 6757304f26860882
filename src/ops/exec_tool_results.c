/* Results of tools that the caller has handed in: exec.tool_results. Daemon; on the loop. */
#include "ops/exec_call.h"

static const struct op_param exec_tool_results_params[] = {
    OP_PARAM_SESSION,
    {.name = "cell",
     .type = OP_TEXT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = CELL_ID_SIZE - 1,
     .doc = "The cell, by the number or the cell_id of its first answer."},
    EXEC_PARAM_RESULTS(.is_required = true),
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    EXEC_PARAM_FORMAT,
    {0},
};

static void exec_tool_results_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    struct exec *exec;
    const json_t *results = json_object_get(call->args, "results");
    uint64_t number = session_cell_number(session, call_text(call, "cell", ""));
    struct exec_wait wait = exec_call_wait(call);
    if (session_tool_results(session, number, results, &wait, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

const struct op op_exec_tool_results = {
    .name = "exec.tool_results",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/exec/{cell}/tool_results",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = exec_tool_results_params,
    .doc = "Answers calls of tools that the caller has handed in, and waits for the cell's next "
           "answer.",
    .run = exec_tool_results_run,
    .result = &shape_answer,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$calling\", \"cell\": \"$exec\", "
               "\"results\": [{\"id\": \"1.1\", \"result\": 42}]}",
};
