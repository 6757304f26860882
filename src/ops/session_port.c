/* session.port: hands the connection to a tunnel (serve/tunnel.c) into the session. Daemon; on the
 * loop. */
#include "ops/ops.h"
#include "session/session.h"

enum { PORT_MAX = 65535 };

static const struct op_param session_port_params[] = {
    OP_PARAM_SESSION,
    {.name = "port",
     .type = OP_INT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = PORT_MAX,
     .doc = "A TCP port on which a process of the session listens, on its own loopback."},
    {0},
};

static void session_port_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session != NULL)
        call->sink->tunnel(call, session, (uint16_t)call_int(call, "port", 0));
}

const struct op op_session_port = {
    .name = "session.port",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/ports/{port}",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING | OP_NEEDS_AGENT | OP_TUNNELS,
    .params = session_port_params,
    .doc = "Passes the request, of any method, on to an HTTP or WebSocket server in the session: "
           "what follows the port is the path there.",
    .run = session_port_run,
    .sends = "the server's answer",
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(UPSTREAM),
    .example = "{\"session_id\": \"$session\", \"port\": 8000}",
};
