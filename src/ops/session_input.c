/* session.input: a line for the cell that asked, then its next answer. Daemon; on the loop. */
#include "ops/exec_call.h"

static const struct op_param session_input_params[] = {
    OP_PARAM_SESSION,
    {.name = "text",
     .type = OP_TEXT,
     .max = EXEC_LINE_MAX,
     .doc = "The line, without its newline; either this or eof."},
    {.name = "eof", .type = OP_BOOL, .doc = "There is no more input: the reader sees its end."},
    {.name = "number",
     .type = OP_INT,
     .min = 1,
     .max = INT64_MAX,
     .doc = "The number of the cell that is meant; without it the one that waits."},
    EXEC_PARAM_BUDGET,
    EXEC_PARAM_YIELD,
    EXEC_PARAM_DISCONNECT,
    EXEC_PARAM_FORMAT,
    {0},
};

static void session_input_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    const char *text = call_text(call, "text", NULL);
    if ((text != NULL) == call_bool(call, "eof", false)) {
        err_set(&e, ERR_INVALID, "either \"text\" or \"eof\": true is needed");
        err_advise(&e, "text: the line that the cell waits for. eof: there will be none.");
        call_fail(call, &e);
        return;
    }
    size_t len = call_text_len(call, "text");
    if (len > 0 && text[len - 1] == '\n')
        len--;
    struct exec *exec;
    struct exec_wait wait = exec_call_wait(call);
    uint64_t exec_id = (uint64_t)call_int(call, "number", 0);
    if (session_input(session, exec_id, text, len, &wait, &exec, &e) < 0)
        call_fail(call, &e);
    else
        exec_call_begun(call, exec);
}

const struct op op_session_input = {
    .name = "session.input",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/input",
    .subject = OP_ON_CELL,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = session_input_params,
    .doc = "Gives a line to the cell that waits for one, and waits for its next answer.",
    .run = session_input_run,
    .result = &shape_answer,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$waiting\", \"text\": \"Ada\"}",
};
