/* The HTTP client: one connection to the daemon, which is started if none runs. Command line tool.
 * */
#include "cli/client.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cli/launch.h"
#include "cli/terminal.h"
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { CLIENT_READ_STEP = 64 << 10, HEAD_MAX = 8 << 10, TICK_MS = 250 };

/* --- connecting ------------------------------------------------------------------------------- */

/* A nonblocking connect with a deadline; closes the socket when it fails. */
static int connect_socket(int fd, const struct sockaddr *address, socklen_t len)
{
    if (fd < 0)
        return -errno;
    int status = connect(fd, address, len) < 0 ? -errno : 0;
    if (status == -EINPROGRESS) {
        int ready = cli_wait(fd, POLLOUT, clock_mono_ms() + CLI_DEADLINE_CONNECT_MS);
        int problem = 0;
        socklen_t size = sizeof(problem);
        if (ready <= 0)
            status = ready == 0 ? -ETIMEDOUT : ready;
        else
            status = getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0 ? -errno : -problem;
    }
    if (status < 0) {
        close(fd);
        return status;
    }
    return fd;
}

static int connect_unix(const char *data_dir)
{
    /* Through the open directory: the path of a data directory may be longer than sun_path. */
    _fd_ int dir = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SERVE_SOCKET, dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return connect_socket(fd, (const struct sockaddr *)&address, sizeof(address));
}

static int connect_tcp(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return -EHOSTUNREACH;
    int fd = -EHOSTUNREACH;
    for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next)
        fd = connect_socket(
            socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol),
            a->ai_addr, a->ai_addrlen);
    freeaddrinfo(found);
    return fd;
}

bool cli_client_connect(struct cli_client *c, int *ret_errno)
{
    const struct cli_endpoint *p = c->endpoint;
    cli_client_close(c);
    int fd = p->host != NULL ? connect_tcp(p->host, p->port) : connect_unix(p->data_dir);
    if (fd < 0) {
        *ret_errno = -fd;
        return false;
    }
    c->fd = fd;
    return true;
}

static int explain_no_daemon(const struct cli_endpoint *p, int errnum, struct err *e)
{
    if (errnum == EINTR)
        return err_set(e, ERR_UNAVAILABLE, "interrupted");
    if (p->host != NULL) {
        err_errno(e, ERR_UNAVAILABLE, errnum, "no daemon answers on http://%s:%s", p->host,
                  p->port);
        return err_advise(e, "start one there with: cella serve --listen %.64s:%s", p->host,
                          p->port);
    }
    if (errnum == EACCES || errnum == EPERM) {
        err_set(e, ERR_FORBIDDEN, "the daemon in %.256s is another user's", p->data_dir);
        return err_advise(e,
                          "use a data directory of your own with --data DIR, or --url and a key");
    }
    err_set(e, ERR_UNAVAILABLE, "no daemon runs on %.256s", p->data_dir);
    return err_advise(e, "start one with: cella serve --data %.256s", p->data_dir);
}

int cli_client_open(struct cli_client *c, const struct cli_endpoint *endpoint, bool may_start,
                    struct err *e)
{
    *c = (struct cli_client){.endpoint = endpoint, .fd = -1};
    int errnum = 0;
    if (cli_client_connect(c, &errnum))
        return 0;
    bool is_absent = errnum == ENOENT || errnum == ECONNREFUSED;
    if (!may_start || endpoint->host != NULL || !is_absent)
        return explain_no_daemon(endpoint, errnum, e);
    if (cli_launch(endpoint, e) < 0)
        return -1;
    return cli_client_connect(c, &errnum) ? 0 : explain_no_daemon(endpoint, errnum, e);
}

void cli_client_close(struct cli_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

int cli_client_with(const struct cli_args *args, bool may_start, cli_work work, void *context,
                    struct err *e)
{
    struct cli_endpoint endpoint;
    struct cli_client client = {.fd = -1};
    int status = cli_endpoint_from(args, &endpoint, e);
    if (status == 0)
        status = cli_client_open(&client, &endpoint, may_start, e);
    if (status == 0)
        status = work(args, &client, context, e);
    cli_client_close(&client);
    cli_endpoint_free(&endpoint);
    return status;
}

/* --- one request ------------------------------------------------------------------------------ */

struct exchange {
    struct cli_client *client;
    const struct cli_request *request;
    struct cli_response response;
    struct cli_sse sse;
    bool is_left;     /* the reader of events, or of the body, had enough */
    bool is_answered; /* before all of the body was sent */
};

static void write_head(const struct cli_endpoint *p, const struct cli_request *r, struct buf *out)
{
    buf_printf(out, "%s %s HTTP/1.1\r\n", r->method, r->path);
    if (p->host == NULL)
        buf_append_str(out, "Host: localhost\r\n");
    else
        buf_printf(out, strchr(p->host, ':') ? "Host: [%s]:%s\r\n" : "Host: %s:%s\r\n", p->host,
                   p->port);
    if (p->key != NULL)
        buf_printf(out, "Authorization: Bearer %s\r\n", p->key);
    if (r->on_event != NULL)
        buf_append_str(out, "Accept: text/event-stream\r\n");
    if (r->upgrade != NULL)
        buf_printf(out,
                   "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: %s\r\n",
                   r->upgrade);
    if (r->read_body != NULL && r->body_total >= 0)
        buf_printf(out, "Content-Length: %lld\r\n", (long long)r->body_total);
    else if (r->read_body != NULL)
        buf_append_str(out, "Transfer-Encoding: chunked\r\n");
    if (r->body != NULL)
        buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", r->body_len);
    buf_append_str(out, "\r\n");
}

/* As cli_wait; somebody may want to hear the clock meanwhile. */
static int wait_ticking(struct exchange *x, short events)
{
    const struct cli_request *r = x->request;
    while (r->on_tick != NULL) {
        uint64_t tick = clock_mono_ms() + TICK_MS;
        if (r->deadline_ms != 0 && r->deadline_ms <= tick)
            break;
        int ready = cli_wait(x->client->fd, events, tick);
        if (ready != 0)
            return ready;
        r->on_tick(r->context);
    }
    return cli_wait(x->client->fd, events, r->deadline_ms);
}

/* Waits for the connection; a signal is the request's business. */
static int wait_ready(struct exchange *x, short events, struct err *e)
{
    for (;;) {
        int ready = wait_ticking(x, events);
        if (ready > 0)
            return 0;
        if (ready == 0)
            return err_set(e, ERR_TIMEOUT, "the daemon did not answer in time");
        if (ready != -EINTR)
            return err_errno(e, ERR_UNAVAILABLE, ready, "waiting for the daemon");
        int signo = cli_signal_taken();
        if (x->request->on_signal == NULL || !x->request->on_signal(x->request->context, signo))
            return err_set(e, ERR_UNAVAILABLE, "interrupted");
    }
}

/* A body that is refused is answered before all of it was sent. */
static bool client_has_answer(struct exchange *x)
{
    char byte;
    x->is_answered |= x->request->read_body != NULL &&
                      recv(x->client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    return x->is_answered;
}

static int send_bytes(struct exchange *x, const char *data, size_t len, struct err *e)
{
    short events = x->request->read_body != NULL ? POLLOUT | POLLIN : POLLOUT;
    while (len > 0 && !client_has_answer(x)) {
        ssize_t n = send(x->client->fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            x->is_answered = true; /* it may have said why before it closed: read that */
            return 0;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_errno(e, ERR_UNAVAILABLE, errno, "sending to the daemon");
        if (n < 0 && wait_ready(x, events, e) < 0)
            return -1;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* Piece by piece, in chunks if nobody knows how long it is. */
static int send_body(struct exchange *x, struct err *e)
{
    const struct cli_request *r = x->request;
    uint64_t left = r->body_total >= 0 ? (uint64_t)r->body_total : UINT64_MAX;
    _free_ char *piece = mem_alloc(CLIENT_READ_STEP);
    ssize_t n = 1;
    while (n > 0 && left > 0 && !x->is_answered) {
        char size[24];
        n = r->read_body(r->context, piece, (size_t)MIN((uint64_t)CLIENT_READ_STEP, left), e);
        if (n < 0)
            return -1;
        left -= (uint64_t)n;
        if (n == 0 && r->body_total >= 0)
            return err_set(e, ERR_UNAVAILABLE, "the file became shorter while it was sent");
        int len = r->body_total >= 0 ? 0 : snprintf(size, sizeof(size), "%zx\r\n", (size_t)n);
        if (send_bytes(x, size, (size_t)len, e) < 0 || send_bytes(x, piece, (size_t)n, e) < 0 ||
            (len > 0 && send_bytes(x, "\r\n", 2, e) < 0))
            return -1;
    }
    return 0;
}

static bool feed_bytes(void *context, const char *data, size_t len)
{
    struct exchange *x = context;
    bool goes_on = x->request->take_body(x->request->context, data, len);
    x->is_left = !goes_on;
    return goes_on;
}

static bool feed_stream(void *context, const char *data, size_t len)
{
    struct exchange *x = context;
    return cli_sse_feed(&x->sse, data, len);
}

static bool client_pass_event(void *context, const char *name, const char *data, size_t len)
{
    struct exchange *x = context;
    bool goes_on = x->request->on_event(x->request->context, name, data, len);
    x->is_left = !goes_on;
    return goes_on;
}

/* The head alone, byte by byte: what follows a 101 is not HTTP. The state of any other answer, of
 * which more may come. */
static int client_receive_upgrade(struct exchange *x, enum cli_response_state *ret, struct err *e)
{
    _buf_ struct buf head = BUF_INIT(HEAD_MAX);
    while (head.len < 4 || memcmp(head.data + head.len - 4, "\r\n\r\n", 4) != 0) {
        char byte;
        ssize_t n = recv(x->client->fd, &byte, 1, 0);
        if (n == 1 && !buf_append_char(&head, byte))
            return err_set(e, ERR_UNAVAILABLE, "the daemon's answer is broken");
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return err_set(e, ERR_UNAVAILABLE, "the daemon closed the connection");
        if (n < 0 && wait_ready(x, POLLIN, e) < 0)
            return -1;
    }
    if (strncmp(head.data, "HTTP/1.1 101 ", 13) == 0) {
        x->response.status = 101;
        x->response.is_kept_alive = true;
        *ret = CLI_RESPONSE_DONE;
    } else {
        *ret = cli_response_feed(&x->response, head.data, head.len);
    }
    return 0;
}

static int client_receive(struct exchange *x, struct err *e)
{
    _free_ char *space = mem_alloc(CLIENT_READ_STEP);
    enum cli_response_state state = CLI_RESPONSE_MORE;
    if (x->request->upgrade != NULL && client_receive_upgrade(x, &state, e) < 0)
        return -1;
    while (state == CLI_RESPONSE_MORE) {
        ssize_t n = recv(x->client->fd, space, CLIENT_READ_STEP, 0);
        if (n > 0)
            state = cli_response_feed(&x->response, space, (size_t)n);
        else if (n == 0 || errno == ECONNRESET)
            state = cli_response_end(&x->response);
        else if (errno != EAGAIN && errno != EINTR)
            return err_errno(e, ERR_UNAVAILABLE, errno, "reading from the daemon");
        else if (wait_ready(x, POLLIN, e) < 0)
            return -1;
    }
    if (state == CLI_RESPONSE_DONE)
        return 0;
    if (x->is_left)
        return err_set(e, ERR_CONFLICT, "the stream was left");
    err_set(e, ERR_UNAVAILABLE, "the daemon's answer is broken: %s", x->response.problem);
    return err_advise(e, "see the daemon's log (daemon.log in its data directory)");
}

/* A kept connection may have been closed meanwhile. Found out before sending, so that nothing is
 * ever sent twice. */
static bool is_stale(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

static int exchange(struct exchange *x, struct err *e)
{
    struct cli_client *c = x->client;
    int errnum = 0;
    if ((c->fd < 0 || is_stale(c->fd)) && !cli_client_connect(c, &errnum))
        return explain_no_daemon(c->endpoint, errnum, e);
    _buf_ struct buf head = BUF_INIT(HEAD_MAX);
    write_head(c->endpoint, x->request, &head);
    if (head.overflowed)
        return err_set(e, ERR_INVALID, "the key or the path is too long");
    if (send_bytes(x, head.data, head.len, e) < 0 ||
        send_bytes(x, x->request->body, x->request->body_len, e) < 0 ||
        (x->request->read_body != NULL && send_body(x, e) < 0))
        return -1;
    return client_receive(x, e);
}

int cli_client_ask(struct cli_client *c, const struct cli_request *request, struct cli_reply *ret,
                   struct err *e)
{
    struct exchange x = {.client = c, .request = request};
    cli_response_init(&x.response, request->on_event != NULL ? feed_stream : NULL, &x);
    x.response.on_bytes = request->take_body != NULL ? feed_bytes : NULL;
    cli_sse_init(&x.sse, client_pass_event, &x);
    int status = exchange(&x, e);
    if (status == 0) {
        *ret = (struct cli_reply){.status = x.response.status,
                                  .was_stream = x.response.is_stream,
                                  .body = x.response.body};
        x.response.body = BUF_INIT(0);
    }
    if (status < 0 || !x.response.is_kept_alive || x.is_answered)
        cli_client_close(c);
    cli_sse_free(&x.sse);
    cli_response_free(&x.response);
    return status;
}

void cli_reply_free(struct cli_reply *reply)
{
    buf_free(&reply->body);
}
