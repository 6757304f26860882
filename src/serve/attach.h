/* A client at a terminal of a session, over a WebSocket (RFC 6455). Binary messages are what is
 * typed and what is shown; text messages are JSON about the terminal: {"type":"resize","rows":24,
 * "cols":80} of the client, {"type":"exit",…} as the last one of the daemon. */
#pragma once

struct conn;
struct session;
struct terminal_request;

/* Takes over the connection's call, which it ends. For struct server_config. */
void attach_start(struct conn *c, struct session *session, const struct terminal_request *request);
