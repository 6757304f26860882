/* Streams of events that a client can take up again where its connection broke: each event has an
 * id, and the last ones are kept. */
#pragma once

#include "base/list.h"
#include "mcp/mcp.h"

struct stream_event;

struct mcp_stream {
    struct list in_peer;
    uint64_t number;    /* of its peer: 0 is what the server says by itself */
    uint64_t next;      /* of the next event */
    struct list events; /* kept, oldest first */
    size_t n_events, bytes;
    bool primes;           /* the client knows events that only tell their id */
    bool has_begun;        /* an event was made: the answer is one, too */
    uint64_t over_ms;      /* monotonic: when its last event was made; 0: more will come */
    struct mcp_link *link; /* NULL if no client reads it now */
};

struct mcp_stream *stream_new(uint64_t number, bool primes);
void stream_free(struct mcp_stream *s); /* its link is ended */
void stream_attach(struct mcp_stream *s, struct mcp_link *link);
void stream_detach(struct mcp_stream *s);
void stream_begin(struct mcp_stream *s); /* its first event, which only tells an id */
void stream_put(struct mcp_stream *s, const char *json, size_t len);
/* The answer: by itself if nothing came before, and then the stream is freed, because nobody has an
 * id to take it up with; else as the last event. */
void stream_answer(struct mcp_stream *s, int status, const char *json, size_t len);
/* Nothing was or will be said: the client hears that, and the stream is gone as above. */
void stream_drop(struct mcp_stream *s);
/* Ends the connection that reads it, not the stream: the client is to come back. */
void stream_pause(struct mcp_stream *s);
/* The number of the stream and of the event that an id names. */
bool stream_parse_id(const char *id, uint64_t *ret_stream, uint64_t *ret_event);
/* Shows `link` what came after that event, and from now on what comes. */
void stream_resume(struct mcp_stream *s, struct mcp_link *link, uint64_t after);
