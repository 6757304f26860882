/* How an operation's answer goes out over HTTP: one JSON body, or server-sent events. */
#pragma once

#include "serve/conn.h"

extern const struct call_sink rest_sink; /* of calls inside a struct conn */

/* The client takes text, and no JSON before it. */
bool rest_wants_text(const struct http1_parser *request);
bool rest_wants_stream(const struct op *op, const struct http1_parser *request);

/* Sends the head of an event stream, unless that was done. */
void rest_start_stream(struct conn *c);
