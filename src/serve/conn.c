/* A connection's life, its deadlines (one timer, whatever it waits for), its answers and what the
 * loop tells of it. Daemon; owns the stream, the request and the call that runs. */
#include "serve/conn.h"

#include "wire/json.h"

#include <assert.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define PENDING_MAX (64 * KIB)   /* input that waits for its turn, before reading stops */
#define PENDING_READ (64 * KIB)  /* what one more read may add */
#define DISCARDED_MAX (64 * MIB) /* what a refused client may still send */
#define KEPT_PENDING (4 * KIB)   /* a larger buffer is given back when it is empty */

/* ---- life and death -------------------------------------------------------------------------- */

void conn_move(struct conn *c, enum conn_state to)
{
#define TO(state) (1U << (state))
    static const unsigned legal[] = {
        [CONN_READING] = TO(CONN_CALLING) | TO(CONN_FLUSHING) | TO(CONN_CLOSED),
        [CONN_CALLING] = TO(CONN_FLUSHING) | TO(CONN_CLOSED),
        [CONN_FLUSHING] = TO(CONN_READING) | TO(CONN_LINGERING) | TO(CONN_CLOSED),
        [CONN_LINGERING] = TO(CONN_CLOSED),
        [CONN_CLOSED] = 0,
    };
    assert(legal[c->state] & TO(to));
#undef TO
    c->state = to;
}

static void conn_free(struct conn *c)
{
    struct server *s = c->server;
    http1_free(&c->http);
    buf_free(&c->pending);
    free(c);
    s->n_connections--;
    s->on_conn_gone(s);
}

static void end_call(struct conn *c)
{
    c->has_call = c->wants_body = false;
    json_decref(c->call.args);
    c->call.args = NULL;
    arena_free(&c->call.arena);
    c->caller = (struct guard_caller){0};
}

static void conn_stream_closed(void *context)
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
    conn_move(c, CONN_CLOSED);
    list_remove(&c->in_all);
    list_remove(&c->in_idle);
    list_remove(&c->in_unproven);
    list_remove(&c->in_deferred);
    loop_timer_close(c->timer, NULL);
    loop_stream_close(c->stream, conn_stream_closed);
    /* Without on_gone the operation goes on, and its answer will be dropped. */
    if (c->has_call && c->call.on_gone != NULL) {
        c->call.on_gone(&c->call);
        c->has_call = false;
    }
    if (!c->has_call)
        end_call(c);
}

void conn_abandon(struct conn *c)
{
    c->wants_body = false;
    if (!c->has_call)
        return;
    if (c->call.on_gone != NULL)
        c->call.on_gone(&c->call);
    end_call(c);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* What has really reached the client: the kernel's own queue can hold megabytes. */
static uint64_t bytes_taken(const struct conn *c)
{
    int in_kernel = 0;
    ioctl(loop_stream_fd(c->stream), SIOCOUTQ, &in_kernel);
    return c->bytes_written - loop_stream_queued(c->stream) - (uint64_t)in_kernel;
}

/* A timer that is due too early is cheaper than one that is moved with every request. */
static void conn_await(struct conn *c, enum conn_wait wait)
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

/* What the connection waits for in its state. */
static enum conn_wait conn_wait_of(const struct conn *c)
{
    switch (c->state) {
    case CONN_READING:
        if (http1_is_untouched(&c->http))
            return WAIT_REQUEST;
        return c->http.state == HTTP1_IN_HEAD ? WAIT_HEAD : WAIT_BODY;
    case CONN_CALLING:
        if (c->wants_body) /* since the last piece */
            return WAIT_BODY;
        __attribute__((fallthrough));
    case CONN_FLUSHING:
        return loop_stream_queued(c->stream) > 0 ? WAIT_WRITE : WAIT_NOTHING;
    case CONN_LINGERING:
        return WAIT_LINGER;
    case CONN_CLOSED:
        break;
    }
    return WAIT_NOTHING;
}

/* ---- at rest --------------------------------------------------------------------------------- */

static void want_input(struct conn *c)
{
    bool is_wanted = !c->has_ended && (c->state == CONN_READING || c->state == CONN_LINGERING ||
                                       c->pending.len < PENDING_MAX);
    if (is_wanted != c->is_reading) {
        /* If it fails it is tried again when something happens, at the latest the deadline. */
        c->is_reading = loop_stream_read(c->stream, is_wanted) == 0 && is_wanted;
    }
}

void conn_settle(struct conn *c)
{
    if (c->state == CONN_CLOSED)
        return;
    if (c->state == CONN_READING && c->has_ended && http1_is_untouched(&c->http)) {
        conn_close(c);
        return;
    }
    if (c->state == CONN_READING && c->has_ended) {
        /* The client will send no more: what has begun cannot be completed. */
        struct err e;
        err_set(&e, ERR_INVALID, "the connection was ended in the middle of a request");
        err_advise(&e, "Send as many bytes as Content-Length says, or end the chunks with an empty "
                       "one.");
        conn_turn_away(c, &e);
        return;
    }
    enum conn_wait wait = conn_wait_of(c);
    if (wait != c->wait)
        conn_await(c, wait);
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
        conn_await(c, WAIT_WRITE);
}

void conn_send_as(struct conn *c, int status, const char *type, const struct buf *body,
                  const char *allow)
{
    struct buf *head = &c->server->head;
    buf_clear(head);
    if (c->http.state != HTTP1_COMPLETE)
        c->is_keep_alive = false; /* answered before all of the body came */
    /* What a client needs that is asked for a key or a token, or for another one. */
    const char *usual = status == 401 ? "Bearer" : NULL;
    const char *challenge = c->caller.challenge != NULL ? c->caller.challenge : usual;
    http1_write_head(head, &(struct http1_response){.status = status,
                                                    .content_type = type,
                                                    .content_length = (int64_t)body->len,
                                                    .is_keep_alive = c->is_keep_alive,
                                                    .challenge = challenge,
                                                    .origin = c->origin,
                                                    .allow = allow,
                                                    .total = c->call.range_total});
    struct iovec parts[] = {
        {head->data, head->len},
        {(void *)(uintptr_t)buf_str(body), body->len},
    };
    conn_write(c, parts, c->is_head_only ? 1 : 2);
}

void conn_send_preflight(struct conn *c)
{
    struct buf *head = &c->server->head;
    buf_clear(head);
    c->is_keep_alive = c->http.state == HTTP1_COMPLETE && c->http.is_keep_alive;
    http1_write_head(head, &(struct http1_response){.status = 204,
                                                    .content_type = CONN_JSON,
                                                    .content_length = HTTP1_LENGTH_UNTIL_CLOSE,
                                                    .is_keep_alive = c->is_keep_alive,
                                                    .origin = c->origin,
                                                    .more = guard_preflight_headers});
    conn_write(c, &(struct iovec){head->data, head->len}, 1);
    arena_free(&c->call.arena);
    conn_move(c, CONN_FLUSHING);
}

void conn_send_error(struct conn *c, int status, const struct err *e, const char *allow)
{
    _buf_ struct buf json = BUF_INIT(16 * KIB);
    struct json_out o = JSON_OUT(&json);
    json_put_error(&o, e);
    conn_send_as(c, status, CONN_JSON, &json, allow);
}

void conn_refuse(struct conn *c, int status, const struct err *e, const char *allow,
                 bool must_close)
{
    c->is_keep_alive = !must_close && c->http.state == HTTP1_COMPLETE && c->http.is_keep_alive;
    conn_send_error(c, status, e, allow);
    arena_free(&c->call.arena);
    c->caller = (struct guard_caller){0};
    conn_move(c, CONN_FLUSHING);
}

/* Nothing more to say. A socket closed with unread input would take our last answer with it, so our
 * side ends first and the client gets a moment to read and go. */
static void conn_linger(struct conn *c)
{
    if (c->has_ended || c->server->is_stopping) {
        conn_close(c);
        return;
    }
    conn_move(c, CONN_LINGERING);
    loop_stream_shutdown(c->stream);
}

void conn_advance(struct conn *c)
{
    if (c->state != CONN_FLUSHING)
        return;
    if (c->is_broken) {
        conn_close(c);
        return;
    }
    if (loop_stream_queued(c->stream) > 0)
        return;
    if (!c->is_keep_alive || c->server->is_stopping) {
        conn_linger(c);
        return;
    }
    http1_next(&c->http);
    c->origin = NULL;
    conn_move(c, CONN_READING);
    c->wait = WAIT_NOTHING; /* the next request has deadlines of its own */
    c->deadline_ms = 0;
    c->route = NULL;
    c->endpoint = NULL;
    c->is_head_only = false;
    c->has_stream_head = false;
}

static void conn_advance_and_settle(struct conn *c)
{
    conn_advance(c);
    conn_settle(c);
}

void conn_turn_away(struct conn *c, const struct err *e)
{
    conn_refuse(c, err_http_status(e->code), e, NULL, true);
    conn_advance_and_settle(c);
}

void conn_answered(struct conn *c)
{
    end_call(c);
    if (c->state == CONN_CLOSED) {
        if (c->stream == NULL)
            conn_free(c);
        return;
    }
    conn_move(c, CONN_FLUSHING);
    if (c->is_feeding)
        return; /* conn_feed called us and goes on */
    bool is_all_sent = !c->is_broken && loop_stream_queued(c->stream) == 0 && c->is_keep_alive &&
                       !c->server->is_stopping && c->pending.len == 0 && !c->has_ended;
    if (is_all_sent)
        conn_advance_and_settle(c);
    else
        conn_defer(c);
}

/* ---- what the loop tells --------------------------------------------------------------------- */

static void deadline_passed(struct conn *c)
{
    struct err e;
    struct linger at_once = {.l_onoff = 1};
    switch (c->wait) {
    case WAIT_HEAD:
    case WAIT_BODY:
        err_set(&e, ERR_TIMEOUT, "the request was not complete in time");
        err_advise(&e, "Send it in one piece and again.");
        conn_abandon(c);
        conn_turn_away(c, &e);
        break;
    case WAIT_WRITE:
        if (bytes_taken(c) > c->taken_at_deadline) {
            conn_await(c, WAIT_WRITE);
            break;
        }
        /* A client that does not read would never see an orderly end either: what the kernel still
         * holds for it is thrown away. */
        setsockopt(loop_stream_fd(c->stream), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        conn_close(c);
        break;
    case WAIT_REQUEST:
    case WAIT_LINGER:
        conn_close(c);
        break;
    case WAIT_NOTHING:
        break;
    }
}

static void conn_timer_due(void *context)
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
        if (c->tunnel != NULL)
            c->tunnel->on_input(c);
        if (c->state != CONN_CLOSED)
            want_input(c);
        if (c->wants_body)
            conn_pump_body(c);
    }
}

/* The end of the client's stream may be the end of the client, or only of what it has to say. */
static bool is_peer_gone(const struct conn *c)
{
    struct pollfd pfd = {.fd = loop_stream_fd(c->stream)};
    return poll(&pfd, 1, 0) == 1 && pfd.revents & (POLLHUP | POLLERR);
}

static void conn_on_end(void *context, int error)
{
    struct conn *c = context;
    c->has_ended = true;
    c->is_reading = false;
    bool is_noticed = c->has_call && c->call.must_notice_end;
    if (c->tunnel != NULL && error == 0 && !is_peer_gone(c))
        is_noticed = !c->tunnel->on_end(c);
    if (error != 0 || c->state == CONN_LINGERING || is_noticed || is_peer_gone(c))
        conn_close(c);
    else if (c->wants_body)
        conn_pump_body(c);
    else
        conn_settle(c);
}

static void conn_resume(struct conn *c)
{
    if (c->wants_body) {
        conn_pump_body(c);
        return;
    }
    conn_advance(c);
    if (c->state != CONN_READING || c->pending.len == 0) {
        conn_settle(c);
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

void conn_defer(struct conn *c)
{
    struct server *s = c->server;
    list_remove(&c->in_deferred);
    list_append(&s->deferred, &c->in_deferred);
    if (!loop_timer_is_set(s->deferred_timer))
        loop_timer_set(s->deferred_timer, 0);
}

void conn_resume_deferred(void *server)
{
    struct server *s = server;
    /* Only those of now: a connection that is deferred again waits for the next turn. */
    struct list batch;
    list_init(&batch);
    list_move_all(&s->deferred, &batch);
    struct list *node;
    while ((node = list_first(&batch)) != NULL) {
        list_remove(node);
        conn_resume(CONTAINER_OF(node, struct conn, in_deferred));
    }
}

static void conn_on_drained(void *context)
{
    struct conn *c = context;
    if (c->state == CONN_FLUSHING)
        conn_resume(c);
    else
        conn_settle(c);
    if (c->state == CONN_CALLING && c->has_call && c->call.on_drained != NULL)
        c->call.on_drained(&c->call);
}

static const struct loop_stream_events stream_events = {
    .on_data = on_data,
    .on_end = conn_on_end,
    .on_drained = conn_on_drained,
};

/* ---- coming and going ------------------------------------------------------------------------ */

struct conn *conn_accept(struct server *s, struct loop_listener *listener)
{
    struct conn *c = mem_alloc(sizeof(*c));
    c->stream = loop_stream_accept(listener, &stream_events, c);
    if (c->stream == NULL) {
        free(c);
        return NULL;
    }
    c->server = s;
    c->timer = loop_timer_new(s->config.loop, conn_timer_due, c);
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
    conn_settle(c);
}

void conn_drain(struct conn *c)
{
    c->is_keep_alive = false;
    bool is_endless = c->has_call && c->call.wants_stream && c->route->op->flags & OP_ONLY_STREAMS;
    is_endless |= c->has_call && c->endpoint != NULL && c->endpoint->is_endless(c);
    is_endless |= c->tunnel != NULL && c->tunnel->is_open(c);
    if (c->state == CONN_READING || c->state == CONN_LINGERING || is_endless)
        conn_close(c);
}
