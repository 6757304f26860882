/* A client that does no more than a measurement needs: requests made beforehand, replies barely
 * parsed. cella-bench. */
#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "bench/bench.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { ANSWER_WITHIN_S = 60, SETTLE_MS = 20 * 1000 };

int bench_http_open(struct bench_http *h, const struct cli_endpoint *endpoint, struct err *e)
{
    struct cli_client client = {.endpoint = endpoint, .fd = -1};
    int errnum = 0;
    *h = (struct bench_http){.endpoint = endpoint, .work = &bench_data_work, .fd = -1};
    if (!cli_client_connect(&client, &errnum))
        return err_errno(e, ERR_UNAVAILABLE, errnum, "connecting to the daemon");
    h->fd = client.fd;
    struct timeval within = {.tv_sec = ANSWER_WITHIN_S};
    fd_set_nonblocking(h->fd, false);
    setsockopt(h->fd, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof(within));
    if (endpoint->host != NULL)
        setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return 0;
}

void bench_http_close(struct bench_http *h)
{
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
}

void bench_http_write(const struct bench_http *h, struct buf *out, const char *method,
                      const char *path, const char *body)
{
    const struct cli_endpoint *p = h->endpoint;
    buf_clear(out);
    buf_printf(out, "%s %s HTTP/1.1\r\n", method, path);
    if (p->host != NULL)
        buf_printf(out, "Host: %s:%s\r\nAuthorization: Bearer %s\r\n", p->host, p->port, p->key);
    else
        buf_append_str(out, "Host: localhost\r\n");
    if (body != NULL)
        buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    buf_printf(out, "\r\n%s", body != NULL ? body : "");
}

int bench_http_send(struct bench_http *h, const struct buf *request, struct err *e)
{
    for (size_t sent = 0; sent < request->len;) {
        ssize_t n = send(h->fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
        if (n < 0)
            return err_errno(e, ERR_UNAVAILABLE, errno, "sending to the daemon");
        sent += (size_t)n;
    }
    return 0;
}

/* 1 if the reply is whole, 0 if not yet, -1 if this is no reply of our daemon. */
static int parse_reply(struct bench_http *h, struct bench_reply *ret)
{
    char *end = memmem(h->in, h->in_len, "\r\n\r\n", 4);
    if (end == NULL)
        return h->in_len < BENCH_REPLY_MAX ? 0 : -1;
    size_t head_len = (size_t)(end - h->in) + 4;
    h->in[h->in_len] = '\0';
    *end = '\0';
    const char *length = strcasestr(h->in, "\r\nContent-Length:");
    bool is_http = strncmp(h->in, "HTTP/1.1 ", 9) == 0;
    unsigned long long body_len = length != NULL ? strtoull(length + 17, NULL, 10) : ULLONG_MAX;
    ret->status = is_http ? (int)strtol(h->in + 9, NULL, 10) : 0;
    *end = '\r';
    if (!is_http || body_len > BENCH_REPLY_MAX - head_len || h->in_len > head_len + body_len)
        return -1;
    ret->body = h->in + head_len;
    ret->body_len = body_len;
    return h->in_len == head_len + body_len;
}

int bench_http_read(struct bench_http *h, struct bench_reply *ret, struct err *e)
{
    ssize_t n = recv(h->fd, h->in + h->in_len, BENCH_REPLY_MAX - h->in_len, 0);
    if (n < 0 && errno == EAGAIN)
        return err_set(e, ERR_TIMEOUT, "the daemon did not answer within %d s", ANSWER_WITHIN_S);
    if (n < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "reading from the daemon");
    if (n == 0)
        return err_set(e, ERR_UNAVAILABLE, "the daemon closed the connection");
    h->in_len += (size_t)n;
    int is_whole = parse_reply(h, ret);
    if (is_whole < 0)
        return err_set(e, ERR_INTERNAL, "the daemon's answer is not what this client can read");
    if (is_whole)
        h->in_len = 0;
    return is_whole;
}

int bench_http_ask(struct bench_http *h, const struct buf *request, struct bench_reply *ret,
                   struct err *e)
{
    if (bench_http_send(h, request, e) < 0)
        return -1;
    int is_whole;
    do
        is_whole = bench_http_read(h, ret, e);
    while (is_whole == 0);
    return is_whole < 0 ? -1 : 0;
}

/* --- what is asked ---------------------------------------------------------------------------- */

const struct bench_work bench_data_work = {"{\"profile\":\"data\"}", "{\"code\":\"1+1\"}"};

void bench_write_create(const struct bench_http *h, struct buf *out)
{
    bench_http_write(h, out, "POST", "/v1/sessions", h->work->create);
}

void bench_write_exec(const struct bench_http *h, struct buf *out, const char *session)
{
    char path[128];
    snprintf(path, sizeof(path), "/v1/sessions/%s/exec", session);
    bench_http_write(h, out, "POST", path, h->work->cell);
}

void bench_write_delete(const struct bench_http *h, struct buf *out, const char *session)
{
    char path[128];
    snprintf(path, sizeof(path), "/v1/sessions/%s", session);
    bench_http_write(h, out, "DELETE", path, NULL);
}

static int refuse_reply(const struct bench_reply *r, const char *wanted, struct err *e)
{
    return err_set(e, ERR_INTERNAL, "%s: the daemon answered %d: %.300s", wanted, r->status,
                   r->body);
}

int bench_read_created(const struct bench_reply *r, char ret_session[UUID_SIZE], struct err *e)
{
    static const char member[] = "\"session_id\":\"";
    const char *at = r->status == 201 ? strstr(r->body, member) : NULL;
    if (at == NULL ||
        !ids_is_uuid(at + strlen(member), strnlen(at + strlen(member), UUID_SIZE - 1)))
        return refuse_reply(r, "creating a session", e);
    snprintf(ret_session, UUID_SIZE, "%.36s", at + strlen(member));
    return 0;
}

int bench_check_two(const struct bench_reply *r, struct err *e)
{
    bool is_value = strstr(r->body, "\"text\":\"2\"") != NULL;
    bool is_printed = strstr(r->body, "\"stdout\":\"2\\n\"") != NULL;
    bool is_two = r->status == 200 && strstr(r->body, "\"status\":\"ok\"") != NULL &&
                  (is_value || is_printed);
    return is_two ? 0 : refuse_reply(r, "running 1+1", e);
}

int bench_check_ok(const struct bench_reply *r, struct err *e)
{
    return r->status == 200 ? 0 : refuse_reply(r, "ending a session", e);
}

int bench_session_create(struct bench_http *h, char ret_session[UUID_SIZE], struct err *e)
{
    _buf_ struct buf request = BUF_INIT(4 * KIB);
    struct bench_reply reply;
    bench_write_create(h, &request);
    if (bench_http_ask(h, &request, &reply, e) < 0)
        return -1;
    return bench_read_created(&reply, ret_session, e);
}

int bench_session_exec(struct bench_http *h, const char *session, struct err *e)
{
    _buf_ struct buf request = BUF_INIT(4 * KIB);
    struct bench_reply reply;
    bench_write_exec(h, &request, session);
    if (bench_http_ask(h, &request, &reply, e) < 0)
        return -1;
    return bench_check_two(&reply, e);
}

int bench_session_delete(struct bench_http *h, const char *session, struct err *e)
{
    _buf_ struct buf request = BUF_INIT(4 * KIB);
    struct bench_reply reply;
    bench_write_delete(h, &request, session);
    if (bench_http_ask(h, &request, &reply, e) < 0)
        return -1;
    return bench_check_ok(&reply, e);
}

long long bench_number_in(const struct bench_reply *reply, const char *member)
{
    const char *at = strstr(reply->body, member);
    return at != NULL ? strtoll(at + strlen(member), NULL, 10) : -1;
}

int bench_session_settle(struct bench_http *h, const char *session, long long *ret_checkpoint,
                         struct err *e)
{
    uint64_t deadline_ms = clock_mono_ms() + SETTLE_MS;
    _buf_ struct buf request = BUF_INIT(4 * KIB);
    struct bench_reply reply;
    char path[128];
    snprintf(path, sizeof(path), "/v1/sessions/%s/checkpoints", session);
    bench_http_write(h, &request, "GET", path, NULL);
    for (;;) {
        if (bench_pause(5, e) < 0 || bench_http_ask(h, &request, &reply, e) < 0)
            return -1;
        if (bench_number_in(&reply, "\"cells_since\":") == 0) {
            *ret_checkpoint = bench_number_in(&reply, "\"current\":");
            return bench_pause(20, e); /* its files are recorded, too */
        }
        if (clock_mono_ms() > deadline_ms)
            return refuse_reply(&reply, "waiting for a checkpoint", e);
    }
}
