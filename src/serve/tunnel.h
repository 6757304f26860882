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
struct tunnel;

/* Takes over the connection's call, which it ends. */
void tunnel_start(struct conn *c, struct session *session, uint16_t port);

/* For the connection, which calls them while it has a tunnel. */
void tunnel_on_input(struct tunnel *t);   /* bytes of the client were added to c->pending */
void tunnel_on_drained(struct tunnel *t); /* the client has taken all so far */
/* The client will send no more. False if the connection is to be closed. */
bool tunnel_on_client_end(struct tunnel *t);
bool tunnel_is_open(const struct tunnel *t); /* a WebSocket, which has no end of its own */
