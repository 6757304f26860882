/* Answers of operations as HTTP: one JSON body, server-sent events, or a file. Daemon; on the loop,
 * but files are read by worker threads, a piece at a time and no faster than the client takes them.
 */
#include "serve/rest.h"

#include "wire/json.h"
#include "wire/sse.h"

#include <errno.h>

/* Above this many unsent bytes events are dropped; the final result never is. */
#define QUEUED_MAX MIB
#define KEPT_SCRATCH (256 * KIB)

static struct conn *conn_of(struct call *call)
{
    return CONTAINER_OF(call, struct conn, call);
}

bool rest_wants_stream(const struct op *op, const struct http1_parser *request)
{
    if (!(op->flags & OP_STREAMS))
        return false;
    if (op->flags & OP_ONLY_STREAMS)
        return true;
    const char *accept = http1_header(request, "accept", NULL);
    return accept != NULL && strcasestr(accept, SSE_CONTENT_TYPE) != NULL;
}

bool rest_prefers(const struct http1_parser *request, const char *type)
{
    const char *accept = http1_header(request, "accept", NULL);
    const char *wanted = accept != NULL ? strcasestr(accept, type) : NULL;
    const char *json = accept != NULL ? strcasestr(accept, "application/json") : NULL;
    return wanted != NULL && (json == NULL || wanted < json);
}

void rest_start_stream(struct conn *c)
{
    if (c->has_stream_head)
        return;
    c->has_stream_head = true;
    /* HTTP/1.0 has no chunks: there the end of the connection is the end of the stream. */
    bool is_chunked = c->http.is_http_1_1;
    if (!is_chunked)
        c->is_keep_alive = false;
    struct buf *head = &c->server->head;
    buf_clear(head);
    http1_write_head(
        head, &(struct http1_response){.status = 200,
                                       .content_type = SSE_CONTENT_TYPE,
                                       .content_length = is_chunked ? HTTP1_LENGTH_CHUNKED
                                                                    : HTTP1_LENGTH_UNTIL_CLOSE,
                                       .is_keep_alive = c->is_keep_alive,
                                       .origin = c->origin});
    conn_write(c, &(struct iovec){head->data, head->len}, 1);
}

static void write_event(struct conn *c, const char *name, const char *json, size_t len,
                        const char *end)
{
    struct buf *event = &c->server->event;
    buf_clear(event);
    sse_append(event, name, json, len);
    char size[24];
    int size_len = snprintf(size, sizeof(size), "%zx\r\n", event->len);
    struct iovec parts[] = {
        {size, (size_t)size_len},
        {event->data, event->len},
        {(void *)(uintptr_t)end, strlen(end)},
    };
    if (c->http.is_http_1_1)
        conn_write(c, parts, ARRAY_LEN(parts));
    else
        conn_write(c, &parts[1], 1);
    if (event->cap > KEPT_SCRATCH)
        buf_free(event);
}

static bool rest_event(struct call *call, const char *name, const char *json, size_t len)
{
    struct conn *c = conn_of(call);
    if (!call->wants_stream || c->state == CONN_CLOSED || c->is_broken)
        return false;
    rest_start_stream(c);
    if (loop_stream_queued(c->stream) > QUEUED_MAX)
        return false;
    write_event(c, name, json, len, "\r\n");
    return !c->is_broken;
}

static void end_stream(struct conn *c, const char *name, const struct buf *json)
{
    rest_start_stream(c);
    write_event(c, name, buf_str(json), json->len, "\r\n0\r\n\r\n");
}

static void rest_reply(struct call *call, int http_status, const struct buf *json)
{
    struct conn *c = conn_of(call);
    if (call->wants_stream)
        end_stream(c, "result", json);
    else
        conn_send_as(c, http_status, call->reply_type != NULL ? call->reply_type : CONN_JSON, json,
                     NULL);
    conn_answered(c);
}

static void rest_fail(struct call *call, const struct err *e)
{
    struct conn *c = conn_of(call);
    if (c->has_stream_head) {
        _buf_ struct buf json = BUF_INIT(16 * KIB);
        struct json_out o = JSON_OUT(&json);
        json_put_error(&o, e);
        end_stream(c, "error", &json);
    } else {
        conn_send_error(c, err_http_status(e->code), e, NULL);
    }
    conn_answered(c);
}

static void rest_begin(struct call *call)
{
    rest_start_stream(conn_of(call));
}

static void rest_want_body(struct call *call)
{
    conn_want_body(conn_of(call));
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { PIECE = 256 * 1024 };

struct download {
    struct conn *conn; /* NULL if the connection is gone */
    uv_fs_t uv;
    int fd;
    struct loop_poll *poll; /* of a pipe; NULL if it is a file */
    uint64_t at, bytes;
    bool is_sealed; /* of unknown length: `bytes` does not count, the last byte says that it is all
                     */
    bool is_chunked;
    bool is_reading; /* a worker has it */
    bool has_held;   /* piece[0] was read and not sent: it may be the seal */
    char piece[PIECE];
};

static void download_free(struct download *d)
{
    loop_poll_close(d->poll, NULL);
    close(d->fd);
    free(d);
}

static void download_end(struct download *d)
{
    struct conn *c = d->conn;
    c->download = NULL;
    download_free(d);
    conn_answered(c);
}

/* The client went away, and its connection with it; a worker may still have the piece. */
static void download_on_gone(struct call *call)
{
    struct conn *c = conn_of(call);
    struct download *d = take_ptr(c->download);
    d->conn = NULL;
    if (!d->is_reading)
        download_free(d);
}

/* The head said how many bytes come: one who gets fewer must see that the connection breaks. */
static void download_break_off(struct download *d)
{
    d->conn->is_keep_alive = false;
    d->conn->is_broken = true;
    download_end(d);
}

static void download_write(struct download *d, size_t len)
{
    char size[24];
    int size_len = snprintf(size, sizeof(size), "%zx\r\n", len);
    struct iovec parts[] = {{size, (size_t)size_len}, {d->piece, len}, {(char[]){"\r\n"}, 2}};
    if (d->is_chunked)
        conn_write(d->conn, parts, ARRAY_LEN(parts));
    else
        conn_write(d->conn, &parts[1], 1);
}

static void download_go_on(struct download *d);

static void was_read(uv_fs_t *uv)
{
    struct download *d = CONTAINER_OF(uv, struct download, uv);
    ssize_t n = uv->result;
    uv_fs_req_cleanup(uv);
    d->is_reading = false;
    if (d->conn == NULL) {
        download_free(d);
    } else if (n <= 0) {
        download_break_off(d);
    } else {
        d->at += (uint64_t)n;
        download_write(d, (size_t)n);
        download_go_on(d);
    }
}

static void download_on_pipe(void *context, int events)
{
    struct download *d = context;
    (void)events;
    size_t held = d->has_held ? 1 : 0, room = PIECE - held;
    if (!d->is_sealed)
        room = (size_t)MIN((uint64_t)room, d->bytes - d->at);
    ssize_t n = read(d->fd, d->piece + held, room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* The end of an archive: whole only with its seal. */
    bool has_seal = d->is_sealed && d->has_held && d->piece[0] == 1;
    if (n <= 0 && !has_seal) {
        download_break_off(d);
        return;
    }
    if (n <= 0) {
        if (d->is_chunked)
            conn_write(d->conn, &(struct iovec){(char[]){"0\r\n\r\n"}, 5}, 1);
        download_end(d);
        return;
    }
    d->at += (uint64_t)n;
    size_t len = held + (size_t)n;
    if (d->is_sealed && len == 1) {
        d->has_held = true;
        return;
    }
    download_write(d, len - d->is_sealed);
    if (d->is_sealed) {
        d->piece[0] = d->piece[len - 1];
        d->has_held = true;
    }
    download_go_on(d);
}

static void download_go_on(struct download *d)
{
    if (d->is_reading)
        return;
    if (d->conn->is_broken || (!d->is_sealed && d->at == d->bytes)) {
        download_end(d);
        return;
    }
    bool is_taken = loop_stream_queued(d->conn->stream) == 0; /* else: called again when it is */
    if (d->poll != NULL) {
        loop_poll_want(d->poll, is_taken ? LOOP_READ : 0);
        return;
    }
    if (!is_taken)
        return;
    uv_buf_t into = uv_buf_init(d->piece, (unsigned)MIN((uint64_t)PIECE, d->bytes - d->at));
    d->is_reading = true;
    uv_fs_read(d->conn->server->config.loop, &d->uv, d->fd, &into, 1, (int64_t)d->at, was_read);
}

static void download_on_drained(struct call *call)
{
    download_go_on(conn_of(call)->download);
}

static void download_send_head(struct conn *c, const struct call_file *file, int64_t length)
{
    struct buf *head = &c->server->head;
    bool is_known = file->fd < 0;
    int status = is_known ? 304 : file->is_part ? 206 : 200;
    buf_clear(head);
    http1_write_head(head, &(struct http1_response){
                               .status = status,
                               .content_type = file->type,
                               .content_length = is_known ? HTTP1_LENGTH_UNTIL_CLOSE : length,
                               .is_keep_alive = c->is_keep_alive,
                               .origin = c->origin,
                               .file_name = file->name,
                               .tag = file->tag,
                               .version = file->version,
                               .is_part = file->is_part,
                               .first = file->first,
                               .total = file->total});
    conn_write(c, &(struct iovec){head->data, head->len}, 1);
}

static void download_start(struct conn *c, const struct call_file *file)
{
    bool is_sealed = file->bytes < 0, is_chunked = is_sealed && c->http.is_http_1_1;
    if (is_sealed && !is_chunked)
        c->is_keep_alive = false;
    download_send_head(c, file,
                       !is_sealed   ? file->bytes
                       : is_chunked ? HTTP1_LENGTH_CHUNKED
                                    : HTTP1_LENGTH_UNTIL_CLOSE);
    if (file->fd < 0) {
        conn_answered(c);
        return;
    }
    struct download *d = mem_alloc(sizeof(*d));
    d->conn = c;
    d->fd = file->fd;
    d->is_sealed = is_sealed && !c->is_head_only;
    d->is_chunked = is_chunked;
    d->bytes = c->is_head_only || is_sealed ? 0 : (uint64_t)file->bytes;
    if (file->is_pipe)
        d->poll = loop_poll_new(c->server->config.loop, d->fd, download_on_pipe, d);
    c->download = d;
    c->call.on_gone = download_on_gone;
    c->call.on_drained = download_on_drained;
    if (file->is_pipe && d->poll == NULL)
        download_break_off(d);
    else
        download_go_on(d);
}

static void rest_send_file(struct call *call, const struct call_file *file)
{
    download_start(conn_of(call), file);
}

static void rest_tunnel(struct call *call, struct session *session, uint16_t port)
{
    struct conn *c = conn_of(call);
    c->server->config.tunnel(c, session, port);
}

static void rest_terminal(struct call *call, struct session *session,
                          const struct terminal_request *request)
{
    struct conn *c = conn_of(call);
    c->server->config.terminal(c, session, request);
}

const struct call_sink rest_sink = {
    .reply = rest_reply,
    .fail = rest_fail,
    .send_file = rest_send_file,
    .tunnel = rest_tunnel,
    .terminal = rest_terminal,
    .begin = rest_begin,
    .want_body = rest_want_body,
    .event = rest_event,
};
