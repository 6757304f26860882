/* The HTTP server inside the daemon: connections from any number of listeners, routed to the table
 * of operations. */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"
#include "serve/route.h"

#include <sys/types.h>

struct conn;
struct conn_endpoint;
struct mcp;

struct server_config {
    uv_loop_t *loop;
    const struct op *const *ops; /* NULL-terminated */
    struct engine *engine;       /* handed to every call */
    struct documents *documents; /* likewise; NULL if none */
    struct policy *policy;       /* likewise */
    struct image_boxes *boxes;   /* likewise; NULL if none */
    const char *key;             /* of TCP connections; NULL if none is asked for */
    /* Takes over the open call of a connection to the port of a session (tunnel.h). */
    void (*tunnel)(struct conn *c, struct session *session, uint16_t port);
    /* Likewise to a terminal (attach.h). */
    void (*terminal)(struct conn *c, struct session *session,
                     const struct terminal_request *request);
    /* Paths that are no operation's; ends with NULL. NULL if there are none. */
    const struct conn_endpoint *const *endpoints;
    struct mcp *mcp; /* behind such a path; NULL if there is none */
    uid_t owner;     /* who may use UNIX sockets, besides root */

    size_t max_connections;
    uint32_t idle_ms;   /* between requests */
    uint32_t head_ms;   /* from a request's first byte to the end of its head */
    uint32_t body_ms;   /* from there to the end of its body */
    uint32_t write_ms;  /* without the client taking a single byte */
    uint32_t linger_ms; /* after our last byte, for the client to read it and go */
};

#define SERVER_CONFIG_DEFAULT                                                                      \
    ((struct server_config){.max_connections = 4096,                                               \
                            .idle_ms = 600000,                                                     \
                            .head_ms = 15000,                                                      \
                            .body_ms = 60000,                                                      \
                            .write_ms = 30000,                                                     \
                            .linger_ms = 2000})

struct server_listener;

struct server {
    struct server_config config;
    struct route_table routes;
    struct server_listener *listeners[4];
    size_t n_listeners;

    struct list connections;
    size_t n_connections; /* also those whose socket is gone but whose call is not */
    void (*on_conn_gone)(struct server *s); /* n_connections fell */
    struct list idle;     /* between requests, longest first: the first to go when it gets full */
    struct list unproven; /* connections, oldest first */

    /* Connections to be looked at from the loop instead of from the operation that runs now. */
    struct list deferred;
    struct loop_timer *deferred_timer;

    struct buf head;  /* scratch for one response */
    struct buf event; /* scratch for one event */

    bool is_stopping;
    struct loop_timer *stop_timer;
    loop_fn on_stopped;
    void *stop_context;
};

struct server *server_new(const struct server_config *config);

/* Takes over a bound socket. On loopback the Host and Origin headers must name this machine, so
 * that no web page can reach us under a name of its own. 0 or -1. */
int server_listen(struct server *s, int fd, struct err *e);

/* Takes no more connections, closes idle ones, lets running calls answer until `grace_ms` is over.
 * on_stopped is called from the loop when nothing is left on it; then server_free. */
void server_stop(struct server *s, uint32_t grace_ms, loop_fn on_stopped, void *context);
void server_free(struct server *s);
