/* Tunnels from clients to servers inside sessions. Daemon; on the loop. Owns the connection to the
 * server. */
#include "serve/tunnel.h"

#include "base/clock.h"
#include "serve/conn.h"
#include "serve/tunnel_heads.h"
#include "session/ports.h"

#include <assert.h>

enum {
    TUNNEL_QUEUE_MAX = 256 * 1024, /* unsent bytes, each way, before the other side is not read */
    TUNNEL_FEED_MAX = 64 * 1024,   /* of the client's input that are parsed at once */
    TUNNEL_ANSWER_MS = 120 * 1000, /* without a byte either way, before the answer begins */
    TUNNEL_IDLE_MS = 600 * 1000,   /* likewise afterwards */
    TUNNEL_INTERIM_MAX = 8,        /* answers with 1xx before the real one */
};

enum tunnel_state { TUNNEL_CONNECTING, TUNNEL_ASKING, TUNNEL_ANSWERING, TUNNEL_OPEN };

struct tunnel {
    struct conn *conn;
    struct port_link *link;
    struct loop_stream *server; /* NULL while CONNECTING */
    struct loop_timer *timer;
    uint64_t used_ms; /* monotonic: when a byte last went either way */
    enum tunnel_state state;
    struct tunnel_way way;
    struct http1_parser answer;
    unsigned n_interim;
    bool asks_for_upgrade;
    bool is_request_chunked;
    bool is_request_sent; /* all of it, or the server takes no more */
    bool is_answer_chunked;
    bool is_reading; /* from the server */
    bool has_client_ended;
    bool has_failed_once; /* to take the request; its answer may have come all the same */
};

static void tunnel_move(struct tunnel *t, enum tunnel_state to)
{
    static const bool is_legal[][TUNNEL_OPEN + 1] = {
        [TUNNEL_CONNECTING] = {[TUNNEL_ASKING] = true},
        [TUNNEL_ASKING] = {[TUNNEL_ANSWERING] = true},
        [TUNNEL_ANSWERING] = {[TUNNEL_OPEN] = true},
        [TUNNEL_OPEN] = {0},
    };
    assert(is_legal[t->state][to]);
    t->state = to;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void tunnel_free(struct tunnel *t)
{
    t->conn->tunnel = NULL;
    t->conn->call.op_state = NULL;
    port_close(t->link);
    loop_stream_close(t->server, NULL);
    loop_timer_close(t->timer, NULL);
    http1_free(&t->answer);
    free(t);
}

static void tunnel_on_gone(struct call *call)
{
    tunnel_free(call->op_state);
}

/* What was promised to the client has been sent. Where its next request begins is known only if all
 * of this one was read. */
static void tunnel_finish(struct tunnel *t)
{
    struct conn *c = t->conn;
    if (c->http.state != HTTP1_COMPLETE || t->asks_for_upgrade)
        c->is_keep_alive = false;
    tunnel_free(t);
    conn_answered(c);
}

/* The client is told what went wrong, or if its answer has begun sees that it breaks off. */
static void tunnel_fail(struct tunnel *t, const struct err *e)
{
    struct conn *c = t->conn;
    if (t->state >= TUNNEL_ANSWERING) {
        c->is_broken = true;
    } else {
        if (c->http.state != HTTP1_COMPLETE || t->asks_for_upgrade)
            c->is_keep_alive = false;
        conn_send_error(c, err_http_status(e->code), e, NULL);
    }
    tunnel_finish(t);
}

static void tunnel_fail_with(struct tunnel *t, const char *what)
{
    struct err e;
    err_set(&e, ERR_UPSTREAM, "the server on port %u of the session %s", t->way.port, what);
    err_advise(&e, "Look at the server in a cell of the session: its process and what it wrote.");
    tunnel_fail(t, &e);
}

static void tunnel_on_timer(void *context)
{
    struct tunnel *t = context;
    uint64_t limit_ms =
        clock_scaled_ms(t->state == TUNNEL_ASKING ? TUNNEL_ANSWER_MS : TUNNEL_IDLE_MS);
    uint64_t now_ms = clock_mono_ms();
    if (now_ms < t->used_ms + limit_ms)
        loop_timer_set(t->timer, t->used_ms + limit_ms - now_ms);
    else
        tunnel_fail_with(t, "has been silent for too long");
}

/* ---- from the client to the server ----------------------------------------------------------- */

/* A server that takes no more may still have an answer. */
static void tunnel_send(struct tunnel *t, const struct iovec *parts, size_t n_parts)
{
    t->used_ms = clock_mono_ms();
    if (loop_stream_write(t->server, parts, n_parts) < 0)
        t->is_request_sent = true;
}

static void tunnel_send_piece(struct tunnel *t, const struct buf *body)
{
    char size[24];
    int size_len = snprintf(size, sizeof(size), "%zx\r\n", body->len);
    struct iovec parts[] = {
        {size, (size_t)size_len}, {body->data, body->len}, {(char[]){'\r', '\n'}, 2}};
    if (body->len > 0 && t->is_request_chunked)
        tunnel_send(t, parts, 3);
    else if (body->len > 0)
        tunnel_send(t, &parts[1], 1);
}

/* False if the tunnel has ended: the client does not send what it announced. */
static bool tunnel_send_body(struct tunnel *t)
{
    struct conn *c = t->conn;
    enum http1_result result = HTTP1_MORE;
    bool has_input = true;
    while (!t->is_request_sent && has_input && loop_stream_queued(t->server) < TUNNEL_QUEUE_MAX) {
        size_t used;
        result = http1_feed(&c->http, c->pending.data, MIN(c->pending.len, (size_t)TUNNEL_FEED_MAX),
                            &used);
        buf_consume(&c->pending, used);
        if (result == HTTP1_BAD) {
            tunnel_fail(t, &c->http.error);
            return false;
        }
        tunnel_send_piece(t, &c->http.body);
        buf_clear(&c->http.body);
        if (result == HTTP1_DONE) {
            if (t->is_request_chunked)
                tunnel_send(t, &(struct iovec){(char[]){"0\r\n\r\n"}, 5}, 1);
            t->is_request_sent = true;
            c->is_keep_alive = c->http.is_keep_alive && !c->server->is_stopping;
        }
        has_input = c->pending.len > 0;
    }
    return true;
}

/* What the client sent and the server has room for. False if the tunnel has ended. */
static bool tunnel_pass_on(struct tunnel *t)
{
    struct conn *c = t->conn;
    if (t->state == TUNNEL_CONNECTING)
        return true;
    if (t->state != TUNNEL_OPEN)
        return tunnel_send_body(t);
    if (c->pending.len > 0 && loop_stream_queued(t->server) < TUNNEL_QUEUE_MAX) {
        tunnel_send(t, &(struct iovec){c->pending.data, c->pending.len}, 1);
        buf_clear(&c->pending);
    }
    if (t->has_client_ended && c->pending.len == 0) {
        t->has_client_ended = false; /* once */
        loop_stream_shutdown(t->server);
    }
    return true;
}

static void tunnel_on_input(struct conn *c)
{
    tunnel_pass_on(c->call.op_state);
}

static bool tunnel_on_client_end(struct conn *c)
{
    struct tunnel *t = c->call.op_state;
    t->has_client_ended = true;
    return t->state == TUNNEL_OPEN && tunnel_pass_on(t);
}

static bool tunnel_is_open(const struct conn *c)
{
    const struct tunnel *t = c->call.op_state;
    return t->state == TUNNEL_OPEN;
}

static const struct conn_tunnel tunnel_of_conn = {
    .on_input = tunnel_on_input, .on_end = tunnel_on_client_end, .is_open = tunnel_is_open};

/* ---- from the server to the client ----------------------------------------------------------- */

static void tunnel_want_answer(struct tunnel *t)
{
    bool is_wanted = loop_stream_queued(t->conn->stream) < TUNNEL_QUEUE_MAX;
    if (is_wanted != t->is_reading)
        t->is_reading = loop_stream_read(t->server, is_wanted) == 0 && is_wanted;
}

static void tunnel_on_drained(struct call *call)
{
    struct tunnel *t = call->op_state;
    if (t->server != NULL)
        tunnel_want_answer(t);
}

static void tunnel_write_head(struct tunnel *t)
{
    struct conn *c = t->conn;
    struct buf *head = &c->server->event;
    bool is_endless = tunnel_has_body(&t->answer) && !http1_has_length(&t->answer);
    t->is_answer_chunked = is_endless && c->http.is_http_1_1;
    if ((is_endless && !t->is_answer_chunked) || c->http.state != HTTP1_COMPLETE)
        c->is_keep_alive = false;
    buf_clear(head);
    tunnel_write_answer(head, &t->answer, &t->way, t->is_answer_chunked, c->is_keep_alive);
    tunnel_move(t, TUNNEL_ANSWERING);
    conn_write(c, &(struct iovec){head->data, head->len}, 1);
}

static void tunnel_write_piece(struct tunnel *t)
{
    const struct buf *body = &t->answer.body;
    char size[24];
    int size_len = snprintf(size, sizeof(size), "%zx\r\n", body->len);
    struct iovec parts[] = {
        {size, (size_t)size_len}, {body->data, body->len}, {(char[]){'\r', '\n'}, 2}};
    if (body->len > 0 && t->is_answer_chunked)
        conn_write(t->conn, parts, 3);
    else if (body->len > 0)
        conn_write(t->conn, &parts[1], 1);
    buf_clear(&t->answer.body);
}

static void tunnel_answered(struct tunnel *t)
{
    if (t->is_answer_chunked)
        conn_write(t->conn, &(struct iovec){(char[]){"0\r\n\r\n"}, 5}, 1);
    tunnel_finish(t);
}

/* The head of an answer is complete. False if the tunnel has ended. */
static bool tunnel_on_head(struct tunnel *t)
{
    int status = http1_status(&t->answer);
    if (status == 101 && t->asks_for_upgrade && http1_lists(&t->answer, "upgrade", "websocket")) {
        tunnel_write_head(t);
        tunnel_move(t, TUNNEL_OPEN);
        return tunnel_pass_on(t);
    }
    if (status >= 200) {
        tunnel_write_head(t);
        return true;
    }
    if (status == 101 || ++t->n_interim > TUNNEL_INTERIM_MAX) {
        tunnel_fail_with(t, "changes the protocol, or never comes to its answer");
        return false;
    }
    http1_next(&t->answer);
    return true;
}

static void tunnel_on_data(void *context, const char *data, size_t len)
{
    struct tunnel *t = context;
    struct conn *c = t->conn;
    t->used_ms = clock_mono_ms();
    enum http1_result result = HTTP1_HEAD;
    while (t->state != TUNNEL_OPEN && (len > 0 || result == HTTP1_HEAD)) {
        size_t used;
        result = http1_feed(&t->answer, data, len, &used);
        data += used;
        len -= used;
        if (result == HTTP1_BAD) {
            tunnel_fail(t, &t->answer.error);
            return;
        }
        if (result == HTTP1_HEAD && !tunnel_on_head(t))
            return;
        if (t->state == TUNNEL_ANSWERING)
            tunnel_write_piece(t);
        if (result == HTTP1_DONE) {
            tunnel_answered(t); /* whatever follows was not asked for */
            return;
        }
    }
    if (len > 0)
        conn_write(c, &(struct iovec){(void *)(uintptr_t)data, len}, 1);
    if (c->is_broken)
        tunnel_finish(t);
    else
        tunnel_want_answer(t);
}

static void tunnel_on_end(void *context, int error)
{
    struct tunnel *t = context;
    /* A server that closes before it has read all of the request may have answered: what it sent is
     * read before its end counts. */
    if (error != 0 && !t->has_failed_once && t->state != TUNNEL_OPEN) {
        t->has_failed_once = t->is_request_sent = true;
        loop_stream_read(t->server, false);
        t->is_reading = false;
        tunnel_want_answer(t);
        return;
    }
    if (t->state == TUNNEL_OPEN) {
        tunnel_finish(t);
    } else if (t->state == TUNNEL_ASKING && http1_is_untouched(&t->answer)) {
        tunnel_fail_with(t, "closed the connection without an answer");
    } else if (error == 0 && http1_finish(&t->answer) == HTTP1_DONE) {
        tunnel_answered(t);
    } else {
        tunnel_fail_with(t, "broke off in the middle of its answer");
    }
}

static void tunnel_on_server_drained(void *context)
{
    struct tunnel *t = context;
    struct conn *c = t->conn;
    if (tunnel_pass_on(t))
        conn_settle(c); /* there is room for the client's input again */
}

static const struct loop_stream_events tunnel_stream_events = {
    .on_data = tunnel_on_data,
    .on_end = tunnel_on_end,
    .on_drained = tunnel_on_server_drained,
};

/* ---- the beginning --------------------------------------------------------------------------- */

static void tunnel_on_connected(void *context, int fd)
{
    struct tunnel *t = context;
    struct conn *c = t->conn;
    struct err e;
    t->server = loop_stream_open(c->server->config.loop, fd, &tunnel_stream_events, t);
    if (t->server == NULL) {
        close(fd);
        err_set(&e, ERR_UNAVAILABLE, "the daemon cannot watch another socket");
        err_advise(&e, "Close connections that are not needed and try again.");
        tunnel_fail(t, &e);
        return;
    }
    _buf_ struct buf head = BUF_INIT(TUNNEL_HEAD_MAX);
    tunnel_write_request(&head, &c->http, &t->way);
    tunnel_move(t, TUNNEL_ASKING);
    tunnel_send(t, &(struct iovec){head.data, head.len}, 1);
    loop_timer_set(t->timer, clock_scaled_ms(TUNNEL_ANSWER_MS));
    if (c->http.expects_continue && c->pending.len == 0)
        conn_write(c, &(struct iovec){(char[]){HTTP1_CONTINUE}, sizeof(HTTP1_CONTINUE) - 1}, 1);
    tunnel_want_answer(t);
    if (tunnel_pass_on(t))
        conn_settle(c);
}

static void tunnel_on_failed(void *context, const struct err *e)
{
    struct tunnel *t = context;
    t->link = NULL;
    tunnel_fail(t, e);
}

static void tunnel_on_cut(void *context)
{
    struct tunnel *t = context;
    t->link = NULL;
    tunnel_fail_with(t, "has ended with the session's processes");
}

static const struct port_listener tunnel_port_listener = {
    .on_connected = tunnel_on_connected,
    .on_failed = tunnel_on_failed,
    .on_cut = tunnel_on_cut,
};

void tunnel_start(struct conn *c, struct session *session, uint16_t port)
{
    struct err e;
    struct tunnel *t = mem_alloc(sizeof(*t));
    t->conn = c;
    t->used_ms = clock_mono_ms();
    t->way = (struct tunnel_way){
        .port = port, .prefix = http1_target(&c->http), .prefix_len = c->known_len};
    t->asks_for_upgrade = tunnel_asks_for_upgrade(&c->http);
    t->is_request_chunked = http1_header(&c->http, "transfer-encoding", NULL) != NULL;
    t->is_request_sent = c->http.state == HTTP1_COMPLETE;
    t->timer = loop_timer_new(c->server->config.loop, tunnel_on_timer, t);
    http1_init_answer(&t->answer, c->is_head_only);
    c->tunnel = &tunnel_of_conn;
    c->call.op_state = t;
    c->call.on_gone = tunnel_on_gone;
    c->call.on_drained = tunnel_on_drained;
    t->link = port_open(session, port, &tunnel_port_listener, t, &e);
    if (t->link == NULL)
        tunnel_fail(t, &e);
}
