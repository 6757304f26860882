/* A connection's deadlines: one timer, whatever it waits for. */
#include "serve/conn_parts.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* What has really reached the client: the kernel's own queue can hold megabytes. */
static uint64_t bytes_taken(const struct conn *c)
{
    int in_kernel = 0;
    ioctl(loop_stream_fd(c->stream), SIOCOUTQ, &in_kernel);
    return c->bytes_written - loop_stream_queued(c->stream) - (uint64_t)in_kernel;
}

/* A timer that is due too early is cheaper than one that is moved with every request. */
void conn_await(struct conn *c, enum conn_wait wait)
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

static void refuse_slow(struct conn *c)
{
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the request was not complete in time");
    err_advise(&e, "Send it in one piece and again.");
    conn_abandon(c);
    conn_turn_away(c, &e);
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
            conn_await(c, WAIT_WRITE);
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

void conn_timer_due(void *context)
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

enum conn_wait conn_wait_of(const struct conn *c)
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
