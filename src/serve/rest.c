/* Answers of operations as HTTP: one JSON body, server-sent events, or a file. Daemon; on the loop,
 * but files are read by worker threads, a piece at a time and no faster than the client takes them.
 */
#include "serve/rest.h"

#include "wire/json.h"
#include "wire/sse.h"

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
                                       .is_keep_alive = c->is_keep_alive});
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
        conn_send(c, http_status, buf_str(json), json->len, NULL);
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

/* ---- files ----------------------------------------------------------------------------------- */

enum { PIECE = 256 * 1024 };

struct download {
    struct conn *conn; /* NULL: nobody waits any more */
    uv_fs_t uv;
    int fd;
    uint64_t at;
    uint64_t bytes;
    bool is_reading; /* a worker has it */
    char piece[PIECE];
};

static void download_free(struct download *d)
{
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
        conn_write(d->conn, &(struct iovec){d->piece, (size_t)n}, 1);
        download_go_on(d);
    }
}

static void download_go_on(struct download *d)
{
    if (d->is_reading)
        return;
    if (d->conn->is_broken || d->at == d->bytes) {
        download_end(d);
        return;
    }
    if (loop_stream_queued(d->conn->stream) > 0)
        return; /* called again when it is sent */
    uv_buf_t into = uv_buf_init(d->piece, (unsigned)MIN((uint64_t)PIECE, d->bytes - d->at));
    d->is_reading = true;
    uv_fs_read(d->conn->server->config.loop, &d->uv, d->fd, &into, 1, (int64_t)d->at, was_read);
}

static void download_on_drained(struct call *call)
{
    download_go_on(conn_of(call)->download);
}

/* Answers the connection's call with the file. */
static void download_start(struct conn *c, const struct call_file *file)
{
    struct buf *head = &c->server->head;
    buf_clear(head);
    bool is_known = file->fd < 0;
    http1_write_head(head,
                     &(struct http1_response){.status = is_known ? 304 : 200,
                                              .content_type = file->type,
                                              .content_length = is_known ? HTTP1_LENGTH_UNTIL_CLOSE
                                                                         : (int64_t)file->bytes,
                                              .is_keep_alive = c->is_keep_alive,
                                              .file_name = file->name,
                                              .tag = file->tag});
    conn_write(c, &(struct iovec){head->data, head->len}, 1);
    if (is_known) {
        conn_answered(c);
        return;
    }
    struct download *d = mem_alloc(sizeof(*d));
    d->conn = c;
    d->fd = file->fd;
    d->bytes = c->is_head_only ? 0 : file->bytes;
    c->download = d;
    c->call.on_gone = download_on_gone;
    c->call.on_drained = download_on_drained;
    download_go_on(d);
}

static void rest_send_file(struct call *call, const struct call_file *file)
{
    download_start(conn_of(call), file);
}

const struct call_sink rest_sink = {
    .reply = rest_reply,
    .fail = rest_fail,
    .send_file = rest_send_file,
    .begin = rest_begin,
    .event = rest_event,
};
