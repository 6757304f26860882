/* One request to a server inside a session, and its answer: the connection's tunnel.
 *
 *   CONNECTING --> ASKING --the head of the answer--> ANSWERING --its end--> over
 *                     |
 *                     +--101 to a request for a WebSocket--> OPEN, bytes both ways --> over
 *
 * Invariants: (1) one connection to the server for each request, closed with its answer: nothing of
 * one caller can reach another through it; (2) both directions are bounded: who sends more than the
 * other takes is not read; (3) what the server sends is hostile: it is parsed strictly and written
 * anew, or the client gets a 502; (4) the client's bytes are framed here, too: what follows its
 * request is never the server's; (5) every wait has a deadline. */
#pragma once

#include "base/base.h"

struct conn;
struct session;

/* Takes over the connection's call, which it ends. For struct server_config. */
void tunnel_start(struct conn *c, struct session *session, uint16_t port);
