#include "serve/conn.h"

#include "serve/args.h"
#include "serve/download.h"
#include "serve/guard.h"
#include "serve/rest.h"
#include "wire/json.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define PENDING_MAX (64 * KIB)   /* input that waits for its turn, before reading stops */
#define PENDING_READ (64 * KIB)  /* what one more read may add */
#define DISCARDED_MAX (64 * MIB) /* what a refused client may still send */
#define LONG_BODY (256 * KIB)    /* parsed by a worker thread: the loop serves others meanwhile */
#define KEPT_PENDING (4 * KIB)   /* a larger buffer is given back when it is empty */

static void conn_feed(struct conn *c, const char *data, size_t len);
static void proceed(struct conn *c);
static void settle(struct conn *c);

/* ---- life and death -------------------------------------------------------------------------- */

static void conn_free(struct conn *c)
{
    struct server *s = c->server;
    http1_free(&c->http);
    buf_free(&c->pending);
    free(c);
    server_connection_gone(s);
}

static void end_call(struct conn *c)
{
    c->has_call = false;
    json_decref(c->call.args);
    c->call.args = NULL;
    arena_free(&c->call.arena);
}

static void stream_closed(void *context)
{
    struct conn *c = context;
    c->stream = NULL;
    if (!c->has_call)
        conn_free(c);
}

void conn_close(struct conn *c)
{
    if (c->state == CONN_CLOSED)
        return;
    c->state = CONN_CLOSED;
    list_remove(&c->in_all);
    list_remove(&c->in_idle);
    list_remove(&c->in_unproven);
    list_remove(&c->in_deferred);
    loop_timer_close(c->timer, NULL);
    loop_stream_close(c->stream, stream_closed);
    /* Without on_gone the operation goes on, and its answer will be dropped. */
    if (c->has_call && c->call.on_gone != NULL) {
        c->call.on_gone(&c->call);
        c->has_call = false;
    }
    if (!c->has_call)
        end_call(c);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* What has really reached the client: the kernel's own queue can hold megabytes. */
static uint64_t bytes_taken(const struct conn *c)
{
    int in_kernel = 0;
    ioctl(loop_stream_fd(c->stream), SIOCOUTQ, &in_kernel);
    return c->bytes_written - loop_stream_queued(c->stream) - (uint64_t)in_kernel;
}

/* A timer that is due too early is cheaper than one that is moved with every request. */
static void await(struct conn *c, enum conn_wait wait)
{
    const struct server_config *config = &c->server->config;
    const uint32_t within_ms[] = {
        [WAIT_NOTHING] = 0,
        [WAIT_REQUEST] = config->idle_ms,
        [WAIT_HEAD] = config->head_ms,
        [WAIT_BODY] = config->body_ms,
        [WAIT_WRITE] = config->write_ms,
        [WAIT_LINGER] = config->linger_ms,
    };
    c->wait = wait;
    c->deadline_ms = 0;
    if (wait == WAIT_NOTHING)
        return;
    if (wait == WAIT_WRITE)
        c->taken_at_deadline = bytes_taken(c);
    c->deadline_ms = uv_now(config->loop) + within_ms[wait];
    if (c->armed_ms == 0 || c->armed_ms > c->deadline_ms) {
        c->armed_ms = c->deadline_ms;
        loop_timer_set(c->timer, within_ms[wait]);
    }
}

static void refuse(struct conn *c, int status, const struct err *e, const char *allow,
                   bool must_close);

static void refuse_slow(struct conn *c)
{
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the request was not complete in time");
    err_advise(&e, "Send it in one piece and again.");
    refuse(c, 408, &e, NULL, true);
    proceed(c);
}

/* A client that does not read would never see an orderly end either: what the kernel still holds
 * for it is thrown away. */
static void reset(struct conn *c)
{
    struct linger at_once = {.l_onoff = 1};
    setsockopt(loop_stream_fd(c->stream), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    conn_close(c);
}

static void deadline_passed(struct conn *c)
{
    switch (c->wait) {
    case WAIT_HEAD:
    case WAIT_BODY:
        refuse_slow(c);
        break;
    case WAIT_WRITE:
        if (bytes_taken(c) > c->taken_at_deadline)
            await(c, WAIT_WRITE);
        else
            reset(c);
        break;
    case WAIT_REQUEST:
    case WAIT_LINGER:
        conn_close(c);
        break;
    case WAIT_NOTHING:
        break;
    }
}

static void timer_due(void *context)
{
    struct conn *c = context;
    c->armed_ms = 0;
    if (c->deadline_ms == 0)
        return;
    uint64_t now = uv_now(c->server->config.loop);
    if (now < c->deadline_ms) {
        c->armed_ms = c->deadline_ms;
        loop_timer_set(c->timer, c->deadline_ms - now);
    } else {
        deadline_passed(c);
    }
}

static enum conn_wait wait_of(const struct conn *c)
{
    switch (c->state) {
    case CONN_READING:
        if (http1_is_untouched(&c->http))
            return WAIT_REQUEST;
        return c->http.state == HTTP1_IN_HEAD ? WAIT_HEAD : WAIT_BODY;
    case CONN_CALLING:
    case CONN_FLUSHING:
        return loop_stream_queued(c->stream) > 0 ? WAIT_WRITE : WAIT_NOTHING;
    case CONN_LINGERING:
        return WAIT_LINGER;
    case CONN_CLOSED:
        break;
    }
    return WAIT_NOTHING;
}

static void want_input(struct conn *c)
{
    bool is_wanted = !c->has_ended && (c->state == CONN_READING || c->state == CONN_LINGERING ||
                                       c->pending.len < PENDING_MAX);
    if (is_wanted != c->is_reading) {
        c->is_reading = is_wanted;
        loop_stream_read(c->stream, is_wanted);
    }
}

/* The client will send no more: what has begun cannot be completed. */
static void settle_ended(struct conn *c)
{
    if (http1_is_untouched(&c->http)) {
        conn_close(c);
        return;
    }
    struct err e;
    err_set(&e, ERR_INVALID, "the connection was ended in the middle of a request");
    err_advise(&e,
               "Send as many bytes as Content-Length says, or end the chunks with an empty one.");
    refuse(c, 400, &e, NULL, true);
    proceed(c);
}

/* Before returning to the loop: sets the deadline and the reading that go with the state. */
static void settle(struct conn *c)
{
    if (c->state == CONN_CLOSED)
        return;
    if (c->state == CONN_READING && c->has_ended) {
        settle_ended(c);
        return;
    }
    enum conn_wait wait = wait_of(c);
    if (wait != c->wait)
        await(c, wait);
    list_remove(&c->in_idle);
    if (wait == WAIT_REQUEST)
        list_append(&c->server->idle, &c->in_idle);
    want_input(c);
}

/* ---- answering ------------------------------------------------------------------------------- */

void conn_write(struct conn *c, const struct iovec *parts, size_t n_parts)
{
    if (c->state == CONN_CLOSED || c->is_broken)
        return;
    for (size_t i = 0; i < n_parts; i++)
        c->bytes_written += parts[i].iov_len;
    if (loop_stream_write(c->stream, parts, n_parts) < 0)
        c->is_broken = true;
    else if (c->wait == WAIT_NOTHING && loop_stream_queued(c->stream) > 0)
        await(c, WAIT_WRITE);
}

void conn_send(struct conn *c, int status, const char *json, size_t len, const char *allow)
{
    struct buf *head = &c->server->head;
    buf_clear(head);
    http1_write_head(head, &(struct http1_response){.status = status,
                                                    .content_type = "application/json",
                                                    .content_length = (int64_t)len,
                                                    .is_keep_alive = c->is_keep_alive,
                                                    .asks_for_key = status == 401,
                                                    .allow = allow});
    struct iovec parts[] = {
        {head->data, head->len},
        {(void *)(uintptr_t)json, len},
    };
    conn_write(c, parts, c->is_head_only ? 1 : 2);
}

void conn_send_error(struct conn *c, int status, const struct err *e, const char *allow)
{
    _buf_ struct buf json = BUF_INIT(16 * KIB);
    struct json_out o = JSON_OUT(&json);
    json_put_error(&o, e);
    conn_send(c, status, buf_str(&json), json.len, allow);
}

/* Answers without a call. The connection can go on only if the next request's beginning is known.
 */
static void refuse(struct conn *c, int status, const struct err *e, const char *allow,
                   bool must_close)
{
    c->is_keep_alive = !must_close && c->http.state == HTTP1_COMPLETE && c->http.is_keep_alive;
    conn_send_error(c, status, e, allow);
    arena_free(&c->call.arena);
    c->state = CONN_FLUSHING;
}

/* Nothing more to say. A socket closed with unread input would take our last answer with it, so our
 * side ends first and the client gets a moment to read and go. */
static void linger(struct conn *c)
{
    if (c->has_ended || c->server->is_stopping) {
        conn_close(c);
        return;
    }
    c->state = CONN_LINGERING;
    loop_stream_shutdown(c->stream);
}

static void next_request(struct conn *c)
{
    http1_next(&c->http);
    c->state = CONN_READING;
    c->wait = WAIT_NOTHING; /* the next request has deadlines of its own */
    c->deadline_ms = 0;
    c->route = NULL;
    c->is_head_only = false;
    c->has_stream_head = false;
}

/* The answer was handed over; what comes next, once all of it is sent. */
static void advance(struct conn *c)
{
    if (c->state != CONN_FLUSHING)
        return;
    if (c->is_broken)
        conn_close(c);
    else if (loop_stream_queued(c->stream) > 0)
        return;
    else if (c->is_keep_alive && !c->server->is_stopping)
        next_request(c);
    else
        linger(c);
}

static void proceed(struct conn *c)
{
    advance(c);
    settle(c);
}

void conn_answered(struct conn *c)
{
    end_call(c);
    if (c->state == CONN_CLOSED) {
        if (c->stream == NULL)
            conn_free(c);
        return;
    }
    c->state = CONN_FLUSHING;
    if (c->is_feeding)
        return; /* conn_feed is below us on the stack and goes on */
    bool is_simple = !c->is_broken && loop_stream_queued(c->stream) == 0 && c->is_keep_alive &&
                     !c->server->is_stopping && c->pending.len == 0 && !c->has_ended;
    if (is_simple)
        proceed(c);
    else
        server_defer(c->server, &c->in_deferred);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* All that can be decided before the body is read. */
static int check_head(struct conn *c, char *ret_allow, struct err *e)
{
    const struct server *s = c->server;
    const char *raw = http1_target(&c->http);
    c->is_head_only = strcmp(http1_method(&c->http), "HEAD") == 0;
    ret_allow[0] = '\0';
    if (target_parse(&c->call.arena, raw, strlen(raw), &c->target, e) < 0)
        return -1;
    if (!c->is_local && guard_check_browser(&c->http, c->is_loopback, e) < 0)
        return -1;
    c->route = route_find(&s->routes, http1_method(&c->http), &c->target, ret_allow);
    bool is_public = c->route != NULL && c->route->op->flags & OP_PUBLIC;
    if (!is_public && !c->is_local && s->config.key != NULL &&
        guard_check_key(&c->http, s->config.key, e) < 0)
        return -1;
    if (!is_public)
        list_remove(&c->in_unproven);
    if (c->route != NULL)
        return 0;
    if (ret_allow[0] != '\0') {
        err_set(e, ERR_METHOD, "%s is not possible here", http1_method(&c->http));
        return err_advise(e, "Use %s.", ret_allow);
    }
    err_set(e, ERR_NOT_FOUND, "there is nothing at this path");
    return err_advise(e, "The API is under /v1, for example /v1/sessions.");
}

static void refuse_malformed(struct conn *c)
{
    refuse(c, c->http.refusal, &c->http.error, NULL, true);
}

static void head_complete(struct conn *c, bool has_more)
{
    struct err e;
    char allow[ROUTE_ALLOW_SIZE];
    if (check_head(c, allow, &e) < 0) {
        refuse(c, err_http_status(e.code), &e, allow[0] != '\0' ? allow : NULL,
               e.code == ERR_INVALID);
        return;
    }
    bool is_large = c->route->op->flags & OP_LARGE;
    if (http1_limit_body(&c->http, is_large ? HTTP1_BODY_LARGE_MAX : HTTP1_BODY_MAX) < 0) {
        refuse_malformed(c);
    } else if (c->http.expects_continue && !has_more) {
        conn_write(c, &(struct iovec){(char[]){HTTP1_CONTINUE}, sizeof(HTTP1_CONTINUE) - 1}, 1);
    }
}

static void call(struct conn *c, json_t *args)
{
    c->is_keep_alive = c->http.is_keep_alive && !c->server->is_stopping;
    c->state = CONN_CALLING;
    c->has_call = true;
    c->call.op = c->route->op;
    c->call.engine = c->server->config.engine;
    c->call.books = c->server->config.books;
    c->call.policy = c->server->config.policy;
    c->call.boxes = c->server->config.boxes;
    c->call.known_tags = http1_header(&c->http, "if-none-match", NULL);
    c->call.args = args;
    c->call.wants_stream = rest_wants_stream(c->route->op, &c->http) && !c->is_head_only;
    c->call.sink = &rest_sink;
    c->call.on_gone = NULL;
    c->call.on_drained = NULL;
    c->call.op_state = NULL;
    c->call.must_notice_end = false;
    op_run(&c->call);
    /* It has begun and was not refused: the client should not wait for the first output to know. */
    if (c->has_call && c->call.wants_stream)
        rest_start_stream(c);
}

/* A long body on its way through a worker thread. The connection stays as long: its call is open.
 */
struct conn_work {
    uv_work_t uv;
    struct conn *conn;
    json_t *args; /* NULL: they are refused */
    struct err err;
};

static void build_in_worker(uv_work_t *uv)
{
    struct conn_work *work = CONTAINER_OF(uv, struct conn_work, uv);
    const struct conn *c = work->conn;
    if (args_build(c->route, &c->target, &c->http.body, &work->args, &work->err) < 0)
        work->args = NULL;
}

static void built(uv_work_t *uv, int status)
{
    (void)status;
    struct conn_work *work = CONTAINER_OF(uv, struct conn_work, uv);
    struct conn *c = work->conn;
    if (c->state == CONN_CLOSED) {
        json_decref(work->args);
        conn_answered(c);
    } else if (work->args == NULL) {
        c->has_call = false;
        refuse(c, err_http_status(work->err.code), &work->err, NULL, false);
        server_defer(c->server, &c->in_deferred);
    } else {
        call(c, work->args);
    }
    free(work);
}

static void run_later(struct conn *c)
{
    struct conn_work *work = mem_alloc(sizeof(*work));
    work->conn = c;
    c->state = CONN_CALLING;
    c->has_call = true;
    c->call.args = NULL;
    c->call.on_gone = NULL;
    c->call.on_drained = NULL;
    c->call.wants_stream = false;
    c->call.must_notice_end = false;
    uv_queue_work(c->server->config.loop, &work->uv, build_in_worker, built);
}

static void run(struct conn *c)
{
    struct err e;
    json_t *args;
    if (c->http.body.len > LONG_BODY)
        run_later(c);
    else if (args_build(c->route, &c->target, &c->http.body, &args, &e) < 0)
        refuse(c, err_http_status(e.code), &e, NULL, false);
    else
        call(c, args);
}

/* Takes requests from the input as long as they are answered at once; keeps the rest. */
static void conn_feed(struct conn *c, const char *data, size_t len)
{
    enum http1_result result = HTTP1_DONE;
    c->is_feeding = true;
    while (c->state == CONN_READING && result != HTTP1_MORE) {
        size_t used;
        result = http1_feed(&c->http, data, len, &used);
        data += used;
        len -= used;
        if (result == HTTP1_HEAD)
            head_complete(c, len > 0);
        else if (result == HTTP1_DONE)
            run(c);
        else if (result == HTTP1_BAD)
            refuse_malformed(c);
        advance(c);
    }
    c->is_feeding = false;
    if (c->state == CONN_CALLING || c->state == CONN_FLUSHING)
        buf_append(&c->pending, data, len);
    settle(c);
}

/* ---- what the loop tells --------------------------------------------------------------------- */

static void on_data(void *context, const char *data, size_t len)
{
    struct conn *c = context;
    if (c->state == CONN_READING) {
        conn_feed(c, data, len);
    } else if (c->state == CONN_LINGERING) {
        c->discarded += len;
        if (c->discarded > DISCARDED_MAX)
            conn_close(c);
    } else {
        buf_append(&c->pending, data, len);
        want_input(c);
    }
}

/* The end of the client's stream may be the end of the client, or only of what it has to say. */
static bool is_peer_gone(const struct conn *c)
{
    struct pollfd pfd = {.fd = loop_stream_fd(c->stream)};
    return poll(&pfd, 1, 0) == 1 && pfd.revents & (POLLHUP | POLLERR);
}

static void on_end(void *context, int error)
{
    struct conn *c = context;
    c->has_ended = true;
    c->is_reading = false;
    bool is_noticed = c->has_call && c->call.must_notice_end;
    if (error != 0 || c->state == CONN_LINGERING || is_noticed || is_peer_gone(c))
        conn_close(c);
    else
        settle(c);
}

static void on_drained(void *context)
{
    struct conn *c = context;
    if (c->state == CONN_FLUSHING)
        conn_resume(c);
    else if (c->download != NULL)
        download_go_on(c->download);
    else
        settle(c);
    if (c->state == CONN_CALLING && c->has_call && c->call.on_drained != NULL)
        c->call.on_drained(&c->call);
}

static const struct loop_stream_events stream_events = {
    .on_data = on_data,
    .on_end = on_end,
    .on_drained = on_drained,
};

void conn_resume(struct conn *c)
{
    advance(c);
    if (c->state != CONN_READING || c->pending.len == 0) {
        settle(c);
        return;
    }
    struct buf input = c->pending;
    c->pending = BUF_INIT(input.max);
    conn_feed(c, input.data, input.len);
    /* The buffer is used again if nothing was kept meanwhile. */
    if (c->pending.data == NULL && input.cap <= KEPT_PENDING) {
        buf_clear(&input);
        c->pending = input;
    } else {
        buf_free(&input);
    }
}

void conn_drain(struct conn *c)
{
    c->is_keep_alive = false;
    bool is_endless = c->has_call && c->call.wants_stream && c->route->op->flags & OP_ONLY_STREAMS;
    if (c->state == CONN_READING || c->state == CONN_LINGERING || is_endless)
        conn_close(c);
}

struct conn *conn_accept(struct server *s, struct loop_listener *listener)
{
    struct conn *c = mem_alloc(sizeof(*c));
    c->stream = loop_stream_accept(listener, &stream_events, c);
    if (c->stream == NULL) {
        free(c);
        return NULL;
    }
    c->server = s;
    c->timer = loop_timer_new(s->config.loop, timer_due, c);
    c->pending = BUF_INIT(PENDING_MAX + PENDING_READ);
    http1_init(&c->http);
    list_init(&c->in_idle);
    list_init(&c->in_unproven);
    list_init(&c->in_deferred);
    list_append(&s->connections, &c->in_all);
    s->n_connections++;
    return c;
}

void conn_start(struct conn *c, bool is_local, bool is_loopback)
{
    c->is_local = is_local;
    c->is_loopback = is_loopback;
    if (!is_local)
        list_append(&c->server->unproven, &c->in_unproven);
    settle(c);
}

void conn_turn_away(struct conn *c, const struct err *e)
{
    refuse(c, err_http_status(e->code), e, NULL, true);
    proceed(c);
}
