/* mcp: the Model Context Protocol, both eras, whatever carries it. Promises: a transport hands in
 * one message and a link for what follows from it; every request gets one answer, or none if its
 * client took it back or went away; a tool's call is a call of an operation like any other, through
 * the gate; each thing that clients can make many of has a bound. Owns peers, requests under way,
 * streams, tasks and subscriptions. May call ops and what lies below; only serve calls it.
 *
 *   serve (HTTP, stdio) --> server.c: era, method --> tools, resources, prompts, listen, tasks
 *                                                        |
 *                          link <-- stream.c <-- request.c <-- operations' answers */
#pragma once

#include "loop/loop.h"
#include "mcp/rpc.h"

struct call_clients;
struct documents;
struct engine;
struct image_boxes;
struct policy;

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25" /* the newest with `initialize` */

enum {
    MCP_PEERS_MAX = 512,        /* clients with a session, or on standard input */
    MCP_PEER_IDLE_MS = 3600000, /* without a request or a stream, then a session ends */
    MCP_REQUESTS_MAX = 64,      /* under way for one peer */
    MCP_LISTENERS_MAX = 256,    /* subscriptions/listen at once */
    MCP_WATCHED_MAX = 64,       /* resources that one client watches */
    MCP_TASKS_MAX = 1024,
    MCP_STREAMS_MAX = 16,        /* of one peer, that can be resumed */
    MCP_STREAM_KEPT_MS = 300000, /* after its last event */
    MCP_EVENTS_MAX = 256,        /* kept of one stream */
    MCP_SESSION_SIZE = 64,       /* a session's id, with the NUL */
};
#define MCP_STREAM_BYTES (8 * MIB) /* kept of one stream */
#define MCP_TASK_BYTES (64 * MIB)  /* of tasks, with results that wait to be fetched */

struct mcp_config {
    uv_loop_t *loop;
    struct engine *engine;
    struct policy *policy;
    struct documents *documents;
    struct image_boxes *boxes;
    bool has_fixtures; /* what the conformance suite calls */
};

struct mcp;
struct mcp_peer;
struct mcp_request;
struct mcp_stream;
struct mcp_link;

struct mcp *mcp_new(const struct mcp_config *config);
/* Before the engine: ends what has no end of its own; requests are answered when it stops. */
void mcp_stop(struct mcp *mcp);
void mcp_free(struct mcp *mcp);

/* What clients have, for health; NULL without a server. It changes with them. */
const struct call_clients *mcp_clients(const struct mcp *mcp);

/* ---- links -----------------------------------------------------------------------------------
 * Where what follows from one message goes. A transport embeds it in its connection. */

struct mcp_link_ops {
    /* A message before the answer. `id` is the event's, NULL if it has none. No bytes: an event
     * that only tells its id. False if the client reads too slowly: then it was dropped. */
    bool (*event)(struct mcp_link *link, const char *id, const char *json, size_t len);
    /* The answer; no bytes: there is nothing to say (202). `status` is HTTP's. */
    void (*answer)(struct mcp_link *link, int status, const char *json, size_t len);
    /* The stream of events ends; there may be another that goes on with it. */
    void (*end)(struct mcp_link *link);
};

struct mcp_link {
    const struct mcp_link_ops *ops;
    bool takes_events;           /* the client reads streams */
    struct mcp_request *request; /* that it waits for; NULL if none. Not of standard input. */
    struct mcp_stream *stream;   /* whose events it shows; NULL if none */
    const char *session;         /* set by `initialize`: the session's id, for a header */
};

/* The client is gone: what only it waited for is taken back. */
void mcp_link_gone(struct mcp_link *link);

/* ---- HTTP ------------------------------------------------------------------------------------ */

/* The headers of a request that matter here. */
struct mcp_headers {
    const char *version, *method, *name, *session, *last_event; /* NULL if not sent */
    const char *agent;                                          /* whom it speaks for */
    const char *tools; /* the sets of tools that are wanted; NULL for the default */
    /* Any header, by its name in lower case. */
    const char *(*find)(void *context, const char *name);
    void *context;
};

/* A message as rpc_read gave it, whose root is taken; `fault` is why it is none, else NULL. */
void mcp_post(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *headers,
              struct rpc_message *message, struct rpc_fault *fault);
/* A stream of what the server has to say by itself, or the rest of a broken one. */
void mcp_get(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *headers);
void mcp_delete(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *headers);

/* ---- a stream of messages, one on each line -------------------------------------------------- */

/* NULL with the fault: too many clients, or no such set of tools. `link` serves all requests.
 * `client` is the name under which it finds its sessions again after the daemon began anew; NULL:
 * it does not come back. */
struct mcp_peer *mcp_open(struct mcp *mcp, struct mcp_link *link, const char *agent,
                          const char *client, const char *tools, struct rpc_fault *fault);
void mcp_take_line(struct mcp_peer *peer, const char *text, size_t len);
bool mcp_is_busy(const struct mcp_peer *peer); /* a request is under way */
void mcp_close(struct mcp_peer *peer);
