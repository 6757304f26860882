/* One request of a client from its message to its answer, and the client itself.
 *
 * A request that is a task outlives its link; one over a legacy session outlives its connection.
 * Memory stays until the operation that it called has answered or was told that the client is gone.
 */
#pragma once

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "mcp/mcp.h"
#include "mcp/seal.h"
#include "mcp/stream.h"
#include "ops/op.h"

enum mcp_era { MCP_LEGACY, MCP_MODERN };

/* In the order of their weight. */
enum mcp_level {
    MCP_LEVEL_NONE = -1,
    MCP_DEBUG,
    MCP_INFO,
    MCP_NOTICE,
    MCP_WARNING,
    MCP_ERROR,
    MCP_CRITICAL,
    MCP_ALERT,
    MCP_EMERGENCY,
};
enum mcp_level mcp_level_of(const char *name); /* MCP_LEVEL_NONE: there is no such level */

/* What a client said that it can do. */
struct mcp_caps {
    bool elicits, samples, has_tasks;
};

/* What is offered beside the daemon's own: fixtures of the conformance suite. */
struct mcp_more {
    /* Appends to a list: "tools", "prompts", "resources" or "resourceTemplates". */
    void (*list)(struct mcp *mcp, const char *what, struct json_out *json);
    /* True if it has taken the request. */
    bool (*take)(struct mcp_request *rq);
    const json_t *(*schema)(struct mcp *mcp, const char *tool); /* NULL if it is not one of these */
};

struct mcp {
    struct mcp_config config;
    const struct mcp_more *more; /* NULL if nothing */
    struct seal seal;
    struct call_clients has;
    struct list peers;
    struct map peers_by_id;
    struct list requests;  /* of no peer: modern ones over HTTP */
    struct list listeners; /* requests that listen, of any client */
    struct list tasks;
    struct map tasks_by_id;
    json_t *fixtures;           /* what the fixtures remember; NULL if nothing */
    struct loop_timer *sweeper; /* of idle peers and old tasks */
    uint64_t n_watched;         /* numbers the calls that watch resources */
    bool is_stopping;
};

/* A client that is known beyond one request: a legacy session, or standard input. */
struct mcp_peer {
    struct mcp *mcp;
    struct list in_all;
    char id[MCP_SESSION_SIZE];
    char name[MCP_SESSION_SIZE]; /* of whom its default sessions are: the id, or as it says */
    struct mcp_link *line;       /* of standard input; NULL if over HTTP */
    char *agent;                 /* NULL if none was named */
    char *tools;                 /* sets of tools, with commas between */
    bool is_initialized;         /* by a legacy handshake */
    const char *version;         /* that was agreed on */
    struct mcp_caps caps;
    enum mcp_level level;
    struct list requests;
    size_t n_requests;
    struct list streams; /* oldest first */
    uint64_t n_streams_made;
    struct mcp_stream *own; /* what the server says by itself */
    struct map watched;     /* resources, by URI: struct mcp_watch */
    size_t n_watched;
    uint64_t n_asked; /* requests of ours */
    uint64_t used_ms; /* monotonic */
};

struct mcp_task;
typedef void (*request_fn)(struct mcp_request *rq);
/* The client's answers to what it was asked, by the keys of the questions; an answer that is
 * missing was refused. Borrowed. */
typedef void (*request_answers_fn)(struct mcp_request *rq, const json_t *answers);

struct mcp_request {
    struct mcp *mcp;
    struct mcp_peer *peer; /* NULL for a modern one over HTTP */
    struct mcp_link *link; /* NULL if no client is there now, or a stream is */
    struct mcp_stream *stream;
    struct list in_peer; /* or in the server's */
    struct list in_listeners;
    enum mcp_era era;
    const char *version;
    struct mcp_caps caps;
    enum mcp_level level; /* of a modern one */
    const char *tools;
    const char *agent, *caller; /* NULL if none */
    struct arena arena;
    json_t *message; /* owned: id, method and params lie in it */
    const json_t *id;
    const char *method;
    json_t *params;        /* never NULL */
    const json_t *token;   /* of progress; NULL if it is not wanted */
    struct mcp_task *task; /* NULL if it is none */
    /* Who gets the answer instead of the link: the result as an object, or a fault. */
    void (*deliver)(struct mcp_request *rq, const struct buf *result,
                    const struct rpc_fault *fault);
    bool is_over; /* answered or taken back */

    /* The operation that runs for it, and what is done with its answer. */
    struct call call;
    bool has_call;
    void (*on_reply)(struct mcp_request *rq, int status, const struct buf *json);
    void (*on_fail)(struct mcp_request *rq, const struct err *e);
    void (*on_file)(struct mcp_request *rq,
                    const struct call_file *file); /* takes its descriptor */
    void (*on_event)(struct mcp_request *rq, const char *name, const char *json, size_t len);

    request_fn on_end;        /* what was begun for it is given back; NULL if nothing was */
    struct loop_timer *timer; /* NULL if none */
    request_fn on_timer;
    struct loop_timer *ticker; /* of progress while nothing else is told */
    uint64_t started_ms, told_ms;
    double progress;
    char line[160]; /* that the cell writes now */
    char said[160]; /* the last one that it has written */
    bool has_news;  /* `said` was not told yet */

    /* Questions to the client. */
    json_t *questions; /* that are open: {key: {method, params}} */
    json_t *answers;   /* that have come */
    request_answers_fn on_answers;

    json_t *memory; /* of what has to wait: content so far, a fixture's step */
    int step;
    const void *own;     /* of the method that handles it */
    struct list watches; /* of listeners: resources */
    json_t *filter;
};

/* What an error carries beside its words; the reference is taken. */
void request_fail_with(struct mcp_request *rq, enum rpc_code code, json_t *data, const char *fmt,
                       ...) PRINTF_LIKE(4, 5);
void request_fail(struct mcp_request *rq, enum rpc_code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The result's members, as {"a":1}; era and server are added. */
void request_reply(struct mcp_request *rq, const struct buf *object);
void request_reply_json(struct mcp_request *rq, json_t *object); /* the reference is taken */
void request_reply_typed(struct mcp_request *rq, const char *type, const struct buf *object);
/* Nothing will be said any more: taken back, or its client is gone. */
void request_drop(struct mcp_request *rq);

/* Messages about it, before its answer. The reference to params is taken. */
void request_notify(struct mcp_request *rq, const char *method, json_t *params);
void request_log(struct mcp_request *rq, enum mcp_level level, const char *text);
void request_progress(struct mcp_request *rq, double progress, double total, const char *text);
/* Shows the client that its request is worked on, where it reads streams. */
void request_open_stream(struct mcp_request *rq);

void request_after(struct mcp_request *rq, uint64_t ms, request_fn fn);
/* What a cell writes becomes progress, its last line no more often than PROGRESS_EVERY_MS; while it
 * is silent there is a beat. */
void request_tick(struct mcp_request *rq);
void request_tell(struct mcp_request *rq, const char *text, size_t len);

/* Runs an operation; `args` is taken. on_reply and the others say what follows. */
void request_call(struct mcp_request *rq, const struct op *op, json_t *args, bool wants_stream);

struct mcp_request *request_new(struct mcp *mcp, struct mcp_peer *peer, struct rpc_message *m);
/* Forgets all of the message but its id: of a request that stays open for long. */
void request_shed(struct mcp_request *rq);
/* Takes the link away: the answer goes elsewhere. */
void request_unlink(struct mcp_request *rq);
/* Likewise the client, which may go before the request does. */
void request_leave_peer(struct mcp_request *rq);
/* How long the client may keep a result, in the era that knows this: ttlMs and cacheScope. */
void request_put_hints(const struct mcp_request *rq, struct json_out *json, int64_t ttl_ms);
/* Lists have one page: a cursor was not ours. False if the request was answered so. */
bool request_check_cursor(struct mcp_request *rq);
