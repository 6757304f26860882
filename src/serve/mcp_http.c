/* Streamable HTTP: each POST is a message whose answer is JSON, or a stream of events if there is
 * more to say. Daemon, on the loop; owns the link between a connection and the MCP server. */
#include "serve/mcp_http.h"

#include "base/clock.h"
#include "mcp/mcp.h"
#include "wire/json.h"
#include "wire/sse.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    HTTP_BEAT_MS = 15 * 1000, /* between comments on a silent stream, so that proxies keep it */
    HTTP_RETRY_MS = 500,      /* after which a client takes up a stream again */
    HTTP_QUEUED_MAX = 1024 * 1024, /* unsent bytes, then messages before the answer are dropped */
};

struct mcp_http {
    struct mcp_link link;
    struct conn *conn;
    struct loop_timer *timer; /* NULL if there is no stream yet */
    char *session;            /* for the header; NULL if none */

    /* A long body on its way through a worker thread: the loop serves others meanwhile. */
    uv_work_t work;
    bool is_parsing;
    struct buf body;
    struct rpc_message message;
    struct rpc_fault fault;
    bool is_message; /* `message` is one */
};

#define HTTP_LONG_BODY (256 * KIB)

static struct mcp_http *http_of(struct mcp_link *link)
{
    return CONTAINER_OF(link, struct mcp_http, link);
}

static void http_free(struct mcp_http *h)
{
    if (h->conn != NULL)
        h->conn->call.op_state = NULL;
    h->conn = NULL;
    loop_timer_close(take_ptr(h->timer), NULL);
    if (h->is_parsing)
        return; /* until the worker has it no more */
    buf_free(&h->body);
    free(h->session);
    free(h);
}

/* All was said: the connection goes on with the next request. */
static void http_finish(struct mcp_http *h)
{
    struct conn *c = h->conn;
    http_free(h);
    conn_answered(c);
}

static void http_on_gone(struct call *call)
{
    struct mcp_http *h = call->op_state;
    mcp_link_gone(&h->link);
    http_free(h);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void http_write_head(struct mcp_http *h, int status, const char *type, int64_t length)
{
    struct conn *c = h->conn;
    struct buf *head = &c->server->head;
    char more[192] = "";
    size_t used = 0;
    bool is_stream = length < 0;
    if (h->session != NULL)
        used = (size_t)snprintf(more, sizeof(more), "Mcp-Session-Id: %.64s\r\n", h->session);
    if (is_stream)
        snprintf(more + used, sizeof(more) - used, "X-Accel-Buffering: no\r\n");
    buf_clear(head);
    http1_write_head(head,
                     &(struct http1_response){.status = status,
                                              .content_type = type,
                                              .content_length = length,
                                              .is_keep_alive = c->is_keep_alive,
                                              .allow = status == 405 ? c->endpoint->allow : NULL,
                                              .origin = c->origin,
                                              .more = more});
}

static void http_write_chunk(struct mcp_http *h, const struct buf *event, const char *end)
{
    struct conn *c = h->conn;
    char size[24];
    int size_len = snprintf(size, sizeof(size), "%zx\r\n", event->len);
    struct iovec parts[] = {
        {size, (size_t)size_len}, {event->data, event->len}, {(void *)(uintptr_t)end, strlen(end)}};
    if (c->http.is_http_1_1)
        conn_write(c, parts, ARRAY_LEN(parts));
    else
        conn_write(c, &parts[1], 1);
}

static void http_on_timer(void *context)
{
    struct mcp_http *h = context;
    _buf_ struct buf comment = BUF_INIT(16);
    buf_append_str(&comment, ":\n\n");
    if (loop_stream_queued(h->conn->stream) == 0)
        http_write_chunk(h, &comment, "\r\n");
    loop_timer_set(h->timer, clock_scaled_ms(HTTP_BEAT_MS));
}

static void http_start_stream(struct mcp_http *h)
{
    struct conn *c = h->conn;
    if (c->has_stream_head)
        return;
    c->has_stream_head = true;
    if (!c->http.is_http_1_1)
        c->is_keep_alive = false;
    http_write_head(h, 200, SSE_CONTENT_TYPE,
                    c->http.is_http_1_1 ? HTTP1_LENGTH_CHUNKED : HTTP1_LENGTH_UNTIL_CLOSE);
    conn_write(c, &(struct iovec){c->server->head.data, c->server->head.len}, 1);
    h->timer = loop_timer_new(c->server->config.loop, http_on_timer, h);
    loop_timer_set(h->timer, clock_scaled_ms(HTTP_BEAT_MS));
}

/* JSON of ours has no line ends, so that one line of data is enough. */
static void http_write_event(struct mcp_http *h, const char *id, const char *json, size_t len,
                             const char *end)
{
    struct buf *event = &h->conn->server->event;
    buf_clear(event);
    if (id != NULL)
        buf_printf(event, "id: %s\n", id);
    if (len == 0)
        buf_printf(event, "retry: %d\n", HTTP_RETRY_MS);
    buf_append_str(event, "data: ");
    buf_append(event, json, len);
    buf_append_str(event, "\n\n");
    http_write_chunk(h, event, end);
}

static bool http_event(struct mcp_link *link, const char *id, const char *json, size_t len)
{
    struct mcp_http *h = http_of(link);
    struct conn *c = h->conn;
    if (c->is_broken)
        return false;
    http_start_stream(h);
    if (json == NULL) /* only that there is a stream */
        return true;
    if (loop_stream_queued(c->stream) > HTTP_QUEUED_MAX)
        return false;
    http_write_event(h, id, json, len, "\r\n");
    return true;
}

static void http_end(struct mcp_link *link)
{
    struct mcp_http *h = http_of(link);
    http_start_stream(h);
    if (h->conn->http.is_http_1_1)
        conn_write(h->conn, &(struct iovec){(char[]){"0\r\n\r\n"}, 5}, 1);
    http_finish(h);
}

static void http_answer(struct mcp_link *link, int status, const char *json, size_t len)
{
    struct mcp_http *h = http_of(link);
    struct conn *c = h->conn;
    if (link->session != NULL && h->session == NULL && status == 200)
        h->session = mem_strdup(link->session);
    if (c->has_stream_head) {
        if (len > 0)
            http_write_event(h, NULL, json, len, "\r\n");
        http_end(link);
        return;
    }
    http_write_head(h, status, CONN_JSON, (int64_t)len);
    struct iovec parts[] = {{c->server->head.data, c->server->head.len},
                            {(void *)(uintptr_t)(json != NULL ? json : ""), len}};
    conn_write(c, parts, len > 0 && !c->is_head_only ? 2 : 1);
    http_finish(h);
}

static const struct mcp_link_ops http_link_ops = {
    .event = http_event, .answer = http_answer, .end = http_end};

/* ---- requests -------------------------------------------------------------------------------- */

static void http_refuse(struct mcp_http *h, int status, const char *message)
{
    _buf_ struct buf out = BUF_INIT(4 * KIB);
    struct rpc_fault fault;
    rpc_fault_set(&fault, RPC_INVALID_REQUEST, "%s", message);
    rpc_put_error(&out, NULL, &fault);
    http_answer(&h->link, status, buf_str(&out), out.len);
}

static const char *http_find(void *context, const char *name)
{
    const struct conn *c = context;
    return http1_header(&c->http, name, NULL);
}

const char *mcp_http_tools(const struct conn *c)
{
    for (size_t i = 0; i < c->target.n_params; i++)
        if (strcmp(c->target.params[i].name, "tools") == 0)
            return c->target.params[i].value;
    return NULL;
}

static bool http_says(const struct conn *c, const char *header, const char *word)
{
    const char *value = http1_header(&c->http, header, NULL);
    return value != NULL && strcasestr(value, word) != NULL;
}

static struct mcp_headers http_headers(struct conn *c)
{
    return (struct mcp_headers){
        .version = http_find(c, "mcp-protocol-version"),
        .method = http_find(c, "mcp-method"),
        .name = http_find(c, "mcp-name"),
        .session = http_find(c, "mcp-session-id"),
        .last_event = http_find(c, "last-event-id"),
        .agent = c->caller.agent,
        .tools = mcp_http_tools(c),
        .find = http_find,
        .context = c,
    };
}

static void http_parse(struct mcp_http *h)
{
    h->is_message = rpc_read(buf_str(&h->body), h->body.len, &h->message, &h->fault) == 0;
}

/* The link may be gone when the message was taken: what is handed over lies on our stack. */
static void http_post(struct mcp_http *h)
{
    struct conn *c = h->conn;
    struct mcp_headers headers = http_headers(c);
    struct rpc_message message = h->message;
    struct rpc_fault fault = h->fault;
    mcp_post(c->server->config.mcp, &h->link, &headers, &message, h->is_message ? NULL : &fault);
}

static void http_parse_in_worker(uv_work_t *work)
{
    http_parse(CONTAINER_OF(work, struct mcp_http, work));
}

static void http_parsed(uv_work_t *work, int status)
{
    struct mcp_http *h = CONTAINER_OF(work, struct mcp_http, work);
    (void)status;
    h->is_parsing = false;
    if (h->conn != NULL) {
        http_post(h);
        return;
    }
    json_decref(h->message.root); /* the client went meanwhile */
    http_free(h);
}

static void http_take_post(struct mcp_http *h)
{
    struct conn *c = h->conn;
    h->body = c->http.body;
    c->http.body = BUF_INIT(h->body.max);
    h->is_parsing = h->body.len > HTTP_LONG_BODY;
    if (h->is_parsing) {
        uv_queue_work(c->server->config.loop, &h->work, http_parse_in_worker, http_parsed);
        return;
    }
    http_parse(h);
    http_post(h);
}

static void http_take(struct conn *c)
{
    struct mcp_http *h = mem_alloc(sizeof(*h));
    const char *method = http1_method(&c->http);
    struct mcp *mcp = c->server->config.mcp;
    struct mcp_headers headers = http_headers(c);
    bool is_modern = headers.version != NULL && strcmp(headers.version, MCP_MODERN_VERSION) == 0;
    h->conn = c;
    h->link.ops = &http_link_ops;
    h->link.takes_events = http_says(c, "accept", SSE_CONTENT_TYPE);
    c->call.op_state = h;
    c->call.on_gone = http_on_gone;
    c->call.must_notice_end = true;
    if (strcmp(method, "POST") == 0 && !http_says(c, "content-type", "application/json"))
        http_refuse(h, 415, "Content-Type must be application/json");
    else if (strcmp(method, "POST") == 0)
        http_take_post(h);
    else if (is_modern || (strcmp(method, "GET") != 0 && strcmp(method, "DELETE") != 0))
        http_refuse(h, 405, "only POST is possible here");
    else if (strcmp(method, "DELETE") == 0)
        mcp_delete(mcp, &h->link, &headers);
    else if (!h->link.takes_events)
        http_refuse(h, 406, "GET opens a stream: Accept must have text/event-stream");
    else
        mcp_get(mcp, &h->link, &headers);
}

static bool http_is_endless(const struct conn *c)
{
    const struct mcp_http *h = c->call.op_state;
    return h != NULL && h->link.request == NULL && c->has_stream_head;
}

static const struct conn_endpoint http_endpoint = {
    .path = "/mcp",
    .allow = "POST, GET, DELETE",
    .body_max = RPC_MESSAGE_MAX,
    .take = http_take,
    .is_endless = http_is_endless,
};

const struct conn_endpoint *const mcp_endpoints[] = {&http_endpoint, &mcp_line_endpoint, NULL};
