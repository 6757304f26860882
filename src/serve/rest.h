/* How an operation's answer goes out over HTTP: one JSON body, or server-sent events. */
#pragma once

#include "serve/conn.h"

extern const struct call_sink rest_sink; /* of calls inside a struct conn */

/* The client takes text, and no JSON before it. */
/* The type stands in the Accept header, and before JSON. */
bool rest_prefers(const struct http1_parser *request, const char *type);
bool rest_wants_stream(const struct op *op, const struct http1_parser *request);

/* Sends the head of an event stream, unless that was done. */
void rest_start_stream(struct conn *c);
