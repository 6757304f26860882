/* What the files of a connection share. conn.c has its life, its answers and what the loop tells of
 * it, conn_request.c the way from bytes to an operation, conn_wait.c how long it waits for what. */
#pragma once

#include "serve/conn.h"

/* ---- conn.c ---------------------------------------------------------------------------------- */

/* Answers without a call. The connection can go on only if the next request's beginning is known.
 */
void conn_refuse(struct conn *c, int status, const struct err *e, const char *allow,
                 bool must_close);
/* The answer was handed over; what comes next, once all of it is sent. */
void conn_advance(struct conn *c);
/* Before returning to the loop: sets the deadline and the reading that go with the state. */
void conn_settle(struct conn *c);

/* The request turned out to be broken, or too slow, while its operation took the body: that is told
 * that the client is gone, and the connection can be used to say why. */
void conn_abandon(struct conn *c);

/* ---- conn_request.c -------------------------------------------------------------------------- */

/* Takes requests from the input as long as they are answered at once; keeps the rest. */
void conn_feed(struct conn *c, const char *data, size_t len);

/* Hands the body to the call, as far as it is there and wanted. From the loop only. */
void conn_pump_body(struct conn *c);

/* ---- conn_wait.c ----------------------------------------------------------------------------- */

enum conn_wait conn_wait_of(const struct conn *c); /* what its state waits for */
void conn_await(struct conn *c, enum conn_wait wait);
void conn_timer_due(void *context); /* of its only timer */
