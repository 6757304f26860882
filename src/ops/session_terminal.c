/* session.terminal: hands the connection to serve/attach.c, which opens a terminal in the session.
 * Daemon; on the loop. */
#include "ops/ops.h"
#include "session/session.h"
#include "session/terminals.h"

enum { SIZE_MAX_CELLS = 10000, ROWS_DEFAULT = 24, COLUMNS_DEFAULT = 80, COMMAND_MAX = 4096 };

static const struct op_param session_terminal_params[] = {
    OP_PARAM_SESSION,
    {.name = "command",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = COMMAND_MAX,
     .doc = "A line that bash runs at the terminal; an interactive bash if it is left out."},
    {.name = "rows",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = SIZE_MAX_CELLS,
     .doc = "Of the terminal; default 24."},
    {.name = "cols",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = SIZE_MAX_CELLS,
     .doc = "Of the terminal; default 80."},
    {.name = "term",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = 64,
     .doc = "What TERM says; default \"xterm-256color\"."},
    {0},
};

static void session_terminal_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    const struct terminal_request request = {
        .rows = (uint16_t)call_int(call, "rows", ROWS_DEFAULT),
        .columns = (uint16_t)call_int(call, "cols", COLUMNS_DEFAULT),
        .kind = call_text(call, "term", "xterm-256color"),
        .command = call_text(call, "command", NULL),
    };
    call->sink->terminal(call, session, &request);
}

const struct op op_session_terminal = {
    .name = "session.terminal",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/terminal",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING | OP_RUNS_CODE,
    .params = session_terminal_params,
    .doc = "Opens a terminal in the session, as a WebSocket: binary messages are what is typed and "
           "shown.",
    .run = session_terminal_run,
    .sends = "a WebSocket",
    .status = 101,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"command\": \"vi notes.txt\"}",
};
