/* What of a head is passed on, from a client to a server in a session and back: neither sees what
 * is the other's business with the daemon. */
#pragma once

#include "base/buf.h"
#include "wire/http1.h"

enum { TUNNEL_HEAD_MAX = 2 * HTTP1_HEAD_MAX + 4096 }; /* of what the two below write */

struct tunnel_way {
    unsigned port;
    const char *prefix; /* of the target that is the daemon's: "/v1/sessions/ID/ports/8000" */
    size_t prefix_len;
};

/* Whether the client asks for a WebSocket. */
bool tunnel_asks_for_upgrade(const struct http1_parser *request);
/* The request as the server gets it. */
void tunnel_write_request(struct buf *out, const struct http1_parser *request,
                          const struct tunnel_way *way);
/* Whether an answer with this head has a body. */
bool tunnel_has_body(const struct http1_parser *answer);
/* The head of the answer as the client gets it; `is_chunked` is how its body will come, if it has
 * one and its length is not known. */
void tunnel_write_answer(struct buf *out, const struct http1_parser *answer,
                         const struct tunnel_way *way, bool is_chunked, bool is_keep_alive);
