/* Listeners and connections on libuv. Daemon; owns what the kernel did not take at once. */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { BACKLOG = 1024, READ_SIZE = 64 * 1024, PARTS_MAX = 8 };

/* TCP and UNIX sockets differ only in how libuv opens them. */
union endpoint {
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct loop_listener {
    union endpoint uv;
    bool is_unix;
    loop_fn on_connection;
    loop_fn on_closed;
    void *context;
};

struct loop_stream {
    union endpoint uv;
    const struct loop_stream_events *events;
    loop_fn on_closed;
    void *context;
    uv_shutdown_t shutdown;
};

/* Bytes that the kernel did not take at once. */
struct pending_write {
    uv_write_t uv;
    char data[];
};

static void endpoint_init(uv_loop_t *loop, union endpoint *uv, bool is_unix)
{
    int rc = is_unix ? uv_pipe_init(loop, &uv->pipe, 0) : uv_tcp_init(loop, &uv->tcp);
    assert(rc == 0);
    (void)rc;
}

static bool is_unix_socket(int fd)
{
    int domain = 0;
    socklen_t len = sizeof(domain);
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
    return domain == AF_UNIX;
}

static void listener_connection(uv_stream_t *uv, int status)
{
    struct loop_listener *l = CONTAINER_OF(uv, struct loop_listener, uv);
    if (status == 0)
        l->on_connection(l->context);
}

static void listener_closed(uv_handle_t *uv)
{
    struct loop_listener *l = CONTAINER_OF(uv, struct loop_listener, uv);
    if (l->on_closed != NULL)
        l->on_closed(l->context);
    free(l);
}

struct loop_listener *loop_listener_new(uv_loop_t *loop, int fd, loop_fn on_connection,
                                        void *context)
{
    struct loop_listener *l = mem_alloc(sizeof(*l));
    l->is_unix = is_unix_socket(fd);
    l->on_connection = on_connection;
    l->context = context;
    endpoint_init(loop, &l->uv, l->is_unix);
    int rc = l->is_unix ? uv_pipe_open(&l->uv.pipe, fd) : uv_tcp_open(&l->uv.tcp, fd);
    if (rc == 0)
        rc = loop_reserve(loop, fd);
    if (rc == 0)
        rc = uv_listen(&l->uv.stream, BACKLOG, listener_connection);
    if (rc != 0) {
        loop_listener_close(l, NULL);
        return NULL;
    }
    return l;
}

void loop_listener_close(struct loop_listener *l, loop_fn on_closed)
{
    if (l == NULL)
        return;
    l->on_closed = on_closed;
    uv_close((uv_handle_t *)&l->uv, listener_closed);
}

/* Before each time libuv watches the stream: it gives the place back when bytes come that are not
 * wanted now. */
static int stream_reserve(const struct loop_stream *s)
{
    return loop_reserve(s->uv.stream.loop, loop_stream_fd(s));
}

struct loop_stream *loop_stream_accept(struct loop_listener *l,
                                       const struct loop_stream_events *events, void *context)
{
    struct loop_stream *s = mem_alloc(sizeof(*s));
    s->events = events;
    s->context = context;
    endpoint_init(l->uv.stream.loop, &s->uv, l->is_unix);
    if (uv_accept(&l->uv.stream, &s->uv.stream) != 0) {
        loop_stream_close(s, NULL);
        return NULL;
    }
    if (stream_reserve(s) < 0) {
        loop_stream_close(s, NULL);
        return NULL;
    }
    if (!l->is_unix)
        uv_tcp_nodelay(&s->uv.tcp, 1);
    return s;
}

struct loop_stream *loop_stream_open(uv_loop_t *loop, int fd,
                                     const struct loop_stream_events *events, void *context)
{
    struct loop_stream *s = mem_alloc(sizeof(*s));
    s->events = events;
    s->context = context;
    bool is_unix = is_unix_socket(fd);
    endpoint_init(loop, &s->uv, is_unix);
    int rc = loop_reserve(loop, fd);
    if (rc == 0)
        rc = is_unix ? uv_pipe_open(&s->uv.pipe, fd) : uv_tcp_open(&s->uv.tcp, fd);
    if (rc != 0) {
        loop_stream_close(s, NULL); /* before libuv has the socket: it stays the caller's */
        return NULL;
    }
    if (!is_unix)
        uv_tcp_nodelay(&s->uv.tcp, 1);
    return s;
}

int loop_stream_fd(const struct loop_stream *s)
{
    uv_os_fd_t fd = -1;
    uv_fileno((const uv_handle_t *)&s->uv, &fd);
    return fd;
}

/* One buffer serves all connections: the bytes are looked at before anything else is read. */
static void stream_alloc(uv_handle_t *uv, size_t suggested, uv_buf_t *ret)
{
    static char shared[READ_SIZE];
    (void)uv;
    (void)suggested;
    *ret = uv_buf_init(shared, sizeof(shared));
}

static void stream_data(uv_stream_t *uv, ssize_t n, const uv_buf_t *data)
{
    struct loop_stream *s = CONTAINER_OF(uv, struct loop_stream, uv);
    if (n > 0) {
        s->events->on_data(s->context, data->base, (size_t)n);
    } else if (n < 0) {
        uv_read_stop(uv);
        s->events->on_end(s->context, n == UV_EOF ? 0 : (int)n);
    }
}

int loop_stream_read(struct loop_stream *s, bool is_wanted)
{
    int rc = is_wanted ? stream_reserve(s) : uv_read_stop(&s->uv.stream);
    return is_wanted && rc == 0 ? uv_read_start(&s->uv.stream, stream_alloc, stream_data) : rc;
}

static void write_done(uv_write_t *uv, int status)
{
    struct pending_write *w = CONTAINER_OF(uv, struct pending_write, uv);
    struct loop_stream *s = CONTAINER_OF(uv->handle, struct loop_stream, uv);
    free(w);
    /* After a close the owner hears nothing more; a broken stream is noticed by its reader. */
    if (uv_is_closing((uv_handle_t *)&s->uv))
        return;
    if (status < 0)
        s->events->on_end(s->context, status);
    else if (loop_stream_queued(s) == 0)
        s->events->on_drained(s->context);
}

/* Everything after the first `skip` bytes. */
static struct pending_write *copy_rest(const struct iovec *parts, size_t n_parts, size_t skip,
                                       size_t *ret_len)
{
    size_t total = 0;
    for (size_t i = 0; i < n_parts; i++)
        total += parts[i].iov_len;
    struct pending_write *w = mem_realloc(NULL, sizeof(*w) + total - skip);
    size_t len = 0;
    for (size_t i = 0; i < n_parts; i++) {
        size_t skipped = MIN(skip, parts[i].iov_len);
        size_t n = parts[i].iov_len - skipped;
        skip -= skipped;
        if (n > 0)
            memcpy(w->data + len, (const char *)parts[i].iov_base + skipped, n);
        len += n;
    }
    *ret_len = len;
    return w;
}

int loop_stream_write(struct loop_stream *s, const struct iovec *parts, size_t n_parts)
{
    assert(n_parts <= PARTS_MAX);
    uv_buf_t bufs[PARTS_MAX];
    size_t total = 0;
    for (size_t i = 0; i < n_parts; i++) {
        bufs[i] = uv_buf_init(parts[i].iov_base, (unsigned)parts[i].iov_len);
        total += parts[i].iov_len;
    }
    int sent = uv_try_write(&s->uv.stream, bufs, (unsigned)n_parts);
    if (sent < 0 && sent != UV_EAGAIN)
        return sent;
    sent = MAX(sent, 0);
    if ((size_t)sent == total)
        return 0;
    int rc = stream_reserve(s);
    if (rc < 0)
        return rc;
    size_t rest;
    struct pending_write *w = copy_rest(parts, n_parts, (size_t)sent, &rest);
    uv_buf_t buf = uv_buf_init(w->data, (unsigned)rest);
    rc = uv_write(&w->uv, &s->uv.stream, &buf, 1, write_done);
    if (rc != 0)
        free(w);
    return rc;
}

size_t loop_stream_queued(const struct loop_stream *s)
{
    return uv_stream_get_write_queue_size(&s->uv.stream);
}

static void shutdown_done(uv_shutdown_t *uv, int status)
{
    (void)uv;
    (void)status;
}

void loop_stream_shutdown(struct loop_stream *s)
{
    if (stream_reserve(s) == 0)
        uv_shutdown(&s->shutdown, &s->uv.stream, shutdown_done);
    else
        shutdown(loop_stream_fd(s), SHUT_WR); /* what was not sent yet is lost */
}

static void stream_closed(uv_handle_t *uv)
{
    struct loop_stream *s = CONTAINER_OF(uv, struct loop_stream, uv);
    if (s->on_closed != NULL)
        s->on_closed(s->context);
    free(s);
}

void loop_stream_close(struct loop_stream *s, loop_fn on_closed)
{
    if (s == NULL)
        return;
    s->on_closed = on_closed;
    uv_close((uv_handle_t *)&s->uv, stream_closed);
}
