/* Answers of operations as HTTP: one JSON body, or server-sent events. Daemon; on the loop. */
#include "serve/rest.h"

#include "serve/download.h"
#include "serve/tunnel.h"
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

static void rest_send_file(struct call *call, const struct call_file *file)
{
    download_start(conn_of(call), file);
}

static void rest_tunnel(struct call *call, struct session *session, uint16_t port)
{
    tunnel_start(conn_of(call), session, port);
}

const struct call_sink rest_sink = {
    .reply = rest_reply,
    .fail = rest_fail,
    .send_file = rest_send_file,
    .tunnel = rest_tunnel,
    .begin = rest_begin,
    .event = rest_event,
};
