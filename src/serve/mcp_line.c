/* Messages of a client on standard input, whom `cella mcp` connects: a connection that was upgraded
 * to lines of JSON both ways. Daemon, on the loop; owns the line that is not complete yet. */
#include "mcp/mcp.h"
#include "serve/mcp_http.h"
#include "wire/json.h"

#include <string.h>

#define LINE_PROTOCOL "cella-mcp"

enum {
    LINE_QUEUED_MAX = 8 * 1024 * 1024,  /* unsent bytes, then messages before answers are dropped */
    LINE_ANSWERS_MAX = 1 * 1024 * 1024, /* likewise, then nothing is taken until all are sent */
    LINE_TURN_MAX = 32,                 /* messages that are taken in one turn of the loop */
};

struct mcp_line {
    struct mcp_link link;
    struct conn *conn;
    struct mcp_peer *peer;
    struct buf text;         /* of the line that comes */
    bool is_too_long;        /* the rest of it is thrown away */
    bool has_ended;          /* the client will say no more; what it asked for is still answered */
    bool is_taking;          /* below us on the stack */
    struct loop_timer *turn; /* of the loop, in which what waits in `pending` is gone on with */
};

static struct mcp_line *line_of(struct mcp_link *link)
{
    return CONTAINER_OF(link, struct mcp_line, link);
}

static void line_free(struct mcp_line *l)
{
    l->conn->tunnel = NULL;
    l->conn->call.op_state = NULL;
    loop_timer_close(take_ptr(l->turn), NULL);
    mcp_close(l->peer);
    buf_free(&l->text);
    free(l);
}

static void line_on_gone(struct call *call)
{
    line_free(call->op_state);
}

/* ---- to the client --------------------------------------------------------------------------- */

static void line_write(struct mcp_line *l, const char *json, size_t len)
{
    struct iovec parts[] = {{(void *)(uintptr_t)json, len}, {(char[]){'\n'}, 1}};
    conn_write(l->conn, parts, ARRAY_LEN(parts));
}

static bool line_event(struct mcp_link *link, const char *id, const char *json, size_t len)
{
    struct mcp_line *l = line_of(link);
    (void)id;
    if (len == 0 || loop_stream_queued(l->conn->stream) > LINE_QUEUED_MAX)
        return len == 0;
    line_write(l, json, len);
    return true;
}

/* True if one side has ended, and the client has nothing to hear any more. */
static bool line_is_over(const struct mcp_line *l)
{
    bool has_said_all = l->has_ended && l->conn->pending.len == 0;
    return (has_said_all || l->conn->server->is_stopping) && !mcp_is_busy(l->peer);
}

static void line_finish(struct mcp_line *l)
{
    struct conn *c = l->conn;
    c->is_keep_alive = false;
    line_free(l);
    conn_answered(c);
}

static void line_answer(struct mcp_link *link, int status, const char *json, size_t len)
{
    struct mcp_line *l = line_of(link);
    (void)status;
    if (len > 0)
        line_write(l, json, len);
    if (!l->is_taking && line_is_over(l))
        line_finish(l);
}

static void line_end(struct mcp_link *link)
{
    (void)link;
}

static const struct mcp_link_ops line_link_ops = {
    .event = line_event, .answer = line_answer, .end = line_end};

/* ---- from the client ------------------------------------------------------------------------- */

/* A client that reads no answers is asked nothing more, so that they do not heap up here. */
static bool line_is_full(const struct mcp_line *l)
{
    return loop_stream_queued(l->conn->stream) > LINE_ANSWERS_MAX;
}

/* As many messages as a turn has; returns the bytes that were taken. */
static size_t line_take(struct mcp_line *l, const char *data, size_t len)
{
    size_t taken = 0;
    for (size_t i = 0; i < LINE_TURN_MAX && taken < len && !line_is_full(l); i++) {
        const char *from = data + taken, *end = memchr(from, '\n', len - taken);
        size_t n = end != NULL ? (size_t)(end - from) : len - taken;
        /* One byte too many is kept, so that the reader refuses it. */
        l->is_too_long |= l->text.len + n > RPC_MESSAGE_MAX;
        if (!l->is_too_long || l->text.len == 0)
            buf_append(&l->text, from, MIN(n, (size_t)RPC_MESSAGE_MAX + 1 - l->text.len));
        taken += n + (end != NULL);
        if (end != NULL) {
            size_t used = l->is_too_long ? (size_t)RPC_MESSAGE_MAX + 1 : l->text.len;
            if (l->is_too_long || strspn(buf_str(&l->text), " \t\r") < l->text.len)
                mcp_take_line(l->peer, buf_str(&l->text), used);
            l->is_too_long = false;
            if (l->text.cap > 64 * KIB)
                buf_free(&l->text);
            buf_clear(&l->text);
        }
    }
    return taken;
}

/* What is left over is gone on with in the next turn, or when the client has read its answers;
 * meanwhile it keeps the connection from reading more. */
static void line_on_input(struct conn *c)
{
    struct mcp_line *l = c->call.op_state;
    struct buf input = c->pending;
    c->pending = BUF_INIT(input.max);
    l->is_taking = true;
    buf_consume(&input, line_take(l, buf_str(&input), input.len));
    l->is_taking = false;
    buf_free(&c->pending);
    c->pending = input;
    if (input.len > 0 && !line_is_full(l))
        loop_timer_set(l->turn, 0);
}

static void line_go_on(void *context)
{
    struct mcp_line *l = context;
    line_on_input(l->conn);
    if (line_is_over(l))
        line_finish(l);
    else
        conn_settle(l->conn);
}

static void line_on_drained(struct call *call)
{
    struct mcp_line *l = call->op_state;
    if (l->conn->pending.len > 0)
        line_go_on(l);
}

static bool line_on_client_end(struct conn *c)
{
    struct mcp_line *l = c->call.op_state;
    l->has_ended = true;
    buf_append_char(&c->pending, '\n'); /* of the last line */
    line_on_input(c);
    return !line_is_over(l);
}

/* When the daemon stops, what is under way is still answered. */
static bool line_is_open(const struct conn *c)
{
    const struct mcp_line *l = c->call.op_state;
    return !mcp_is_busy(l->peer);
}

static const struct conn_tunnel line_of_conn = {
    .on_input = line_on_input, .on_end = line_on_client_end, .is_open = line_is_open};

/* ---- the beginning --------------------------------------------------------------------------- */

static void line_refuse(struct conn *c, int status, const char *message)
{
    struct err e;
    err_set(&e, ERR_INVALID, "%s", message);
    err_advise(&e, "see: cella mcp --help");
    conn_send_error(c, status, &e, NULL);
    conn_answered(c);
}

/* Long enough that nobody guesses another's. */
static bool line_is_token(const char *text)
{
    size_t len = strlen(text);
    return len >= 22 && len < MCP_SESSION_SIZE &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

static void line_start(struct conn *c)
{
    struct rpc_fault fault;
    const char *client = http1_header(&c->http, "cella-client", NULL);
    if (!http1_lists(&c->http, "upgrade", LINE_PROTOCOL)) {
        line_refuse(c, 400, "this path is for connections that are upgraded to " LINE_PROTOCOL);
        return;
    }
    if (client != NULL && !line_is_token(client)) {
        line_refuse(c, 400, "Cella-Client is a random name: 22 to 63 letters, digits, - and _");
        return;
    }
    struct mcp_line *l = mem_alloc(sizeof(*l));
    l->conn = c;
    l->link.ops = &line_link_ops;
    l->link.takes_events = true;
    l->text = BUF_INIT(RPC_MESSAGE_MAX + 1);
    l->peer = mcp_open(c->server->config.mcp, &l->link, c->caller.agent, client, mcp_http_tools(c),
                       &fault);
    if (l->peer == NULL) {
        free(l);
        line_refuse(c, fault.code == RPC_BUSY ? 503 : 400, fault.message);
        return;
    }
    c->call.op_state = l;
    c->call.on_gone = line_on_gone;
    c->call.on_drained = line_on_drained;
    l->turn = loop_timer_new(c->server->config.loop, line_go_on, l);
    c->tunnel = &line_of_conn;
    _buf_ struct buf head = BUF_INIT(KIB);
    http1_write_status(&head, 101);
    buf_append_str(&head, "Upgrade: " LINE_PROTOCOL "\r\nConnection: Upgrade\r\n\r\n");
    conn_write(c, &(struct iovec){head.data, head.len}, 1);
}

static bool line_is_endless(const struct conn *c)
{
    (void)c;
    return false; /* it is a tunnel, which is asked itself */
}

const struct conn_endpoint mcp_line_endpoint = {
    .path = "/mcp/stdio",
    .allow = "GET",
    .body_max = 0,
    .take = line_start,
    .is_endless = line_is_endless,
};
