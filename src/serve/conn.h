/* One connection: requests in, one call at a time, answers out in order.
 *
 *     READING   -> CALLING    the request is complete, or its head if the operation takes the body
 *                              in pieces
 *               -> FLUSHING   it was refused
 *     CALLING   -> FLUSHING   it was answered
 *     FLUSHING  -> READING    the answer is sent, and the connection kept alive
 *               -> LINGERING  the last answer is sent
 *     any       -> CLOSED     the client is gone, a deadline is over
 *
 * Invariants: (1) an operation never finds its connection freed: memory stays until the socket's
 * handle is closed and no call is open; (2) nothing is parsed, and nothing is closed, from inside
 * an operation's stack except right below conn_feed: what an answer makes possible is deferred to
 * the loop; (3) input that waits for its turn is bounded, by not reading.
 *
 * conn.c has its life, its deadlines and what the loop tells of it, conn_request.c the way from
 * bytes to an operation, rest.c the way of the operation's answer. */
#pragma once

#include "serve/guard.h"
#include "serve/server.h"
#include "wire/http1.h"

enum conn_state { CONN_READING, CONN_CALLING, CONN_FLUSHING, CONN_LINGERING, CONN_CLOSED };

/* What the connection's only timer is for. */
enum conn_wait { WAIT_NOTHING, WAIT_REQUEST, WAIT_HEAD, WAIT_BODY, WAIT_WRITE, WAIT_LINGER };

struct conn;
struct download;

/* What a call that goes on to a server in a session does with the client's bytes (tunnel.h). */
struct conn_tunnel {
    void (*on_input)(struct conn *c); /* more of them are in `pending`, from which it takes them */
    /* The client will send no more. False if the connection is to be closed. */
    bool (*on_end)(struct conn *c);
    bool (*is_open)(const struct conn *c); /* it has no end of its own */
};

/* What takes requests at a path whole, instead of an operation of the table. It is called with an
 * open call, which it ends by conn_answered; on_gone of that call tells that the client is gone. */
struct conn_endpoint {
    const char *path;
    const char *allow; /* the methods that it knows */
    size_t body_max;
    void (*take)(struct conn *c);
    /* It has nothing to wait for when the daemon stops. */
    bool (*is_endless)(const struct conn *c);
};

struct conn {
    struct server *server;
    struct list in_all;
    struct list in_idle;
    struct list in_unproven; /* until a request showed that it may speak */
    struct list in_deferred;
    enum conn_state state;
    bool is_local;    /* a UNIX socket whose peer was checked: no key is asked for */
    bool is_loopback; /* came to a loopback address */

    struct loop_stream *stream; /* NULL once the handle is closed */
    struct loop_timer *timer;
    enum conn_wait wait;
    uint64_t deadline_ms;   /* of `wait`, in loop time; 0: none */
    uint64_t armed_ms;      /* when the timer will fire, 0: not at all; never after the deadline */
    uint64_t bytes_written; /* handed to the stream */
    uint64_t taken_at_deadline; /* bytes that had been sent when the deadline was set */
    size_t discarded;           /* bytes read while lingering */
    bool is_reading;
    bool has_ended; /* the client will send no more */
    bool is_broken; /* nothing can be sent any more */

    struct http1_parser http;
    struct buf pending; /* input that arrived while a call was open */
    struct target target;
    size_t known_len;   /* of the raw target: what follows belongs to a server in a session */
    const char *origin; /* of the page that asks, if it is listed; in the head. Else NULL */
    struct guard_caller caller;           /* of this request; in the call's arena */
    const struct route *route;            /* NULL if an endpoint has it */
    const struct conn_endpoint *endpoint; /* NULL if an operation has it */
    bool is_keep_alive;
    bool is_head_only; /* HEAD: the answer has no body */

    bool has_call;   /* `call` is open: the operation may still use it */
    bool wants_body; /* which takes the next piece of the request's body */
    bool is_feeding;
    bool has_stream_head;             /* the head of an event stream was sent */
    struct download *download;        /* the file that is being sent; NULL if none */
    const struct conn_tunnel *tunnel; /* NULL if it has none */
    struct call call;
};

/* The next connection of the listener; NULL if it is gone already. Then one of the two below. */
struct conn *conn_accept(struct server *s, struct loop_listener *listener);
void conn_start(struct conn *c, bool is_local, bool is_loopback);
void conn_turn_away(struct conn *c, const struct err *e);

void conn_close(struct conn *c); /* the client is gone or must go */
void conn_drain(struct conn *c); /* the server stops: finish, then close */
/* What is next for this connection is done from the loop instead of from below the present call. */
void conn_defer(struct conn *c);
void conn_resume_deferred(void *server); /* of the server's deferred_timer */
/* The only place where the state changes. Asserts that the diagram has the move. */
void conn_move(struct conn *c, enum conn_state to);

/* Answering. A connection that cannot be written to any more shows in is_broken only; the call goes
 * on to its end as if nothing had happened. */
#define CONN_JSON "application/json"
void conn_send_as(struct conn *c, int status, const char *type, const struct buf *body,
                  const char *allow);
/* To a browser that asks whether a script may ask. */
void conn_send_preflight(struct conn *c);
void conn_send_error(struct conn *c, int status, const struct err *e, const char *allow);
void conn_write(struct conn *c, const struct iovec *parts, size_t n_parts);
void conn_answered(struct conn *c);  /* the answer was written: ends the call */
void conn_want_body(struct conn *c); /* for the open call: on_body or on_body_end follows */

/* Answers without a call. The connection can go on only if the next request's beginning is known.
 */
void conn_refuse(struct conn *c, int status, const struct err *e, const char *allow,
                 bool must_close);
/* The answer was handed over; what comes next, once all of it is sent. */
void conn_advance(struct conn *c);
/* Before returning to the loop: sets the deadline and the reading that go with the state. */
void conn_settle(struct conn *c);

/* Takes requests from the input as long as they are answered at once; keeps the rest
 * (conn_request.c). */
void conn_feed(struct conn *c, const char *data, size_t len);
/* The request turned out to be broken, or too slow, while its operation took the body: that is told
 * that the client is gone, and the connection can be used to say why. */
void conn_abandon(struct conn *c);
/* Hands the body to the call, as far as it is there and wanted. From the loop only
 * (conn_request.c). */
void conn_pump_body(struct conn *c);
