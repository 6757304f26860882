/* Terminals of sessions for clients. Daemon; on the loop. Owns the WebSocket's reader; the terminal
 * is the session's. Neither side is read while the other takes nothing. */
#include "serve/attach.h"

#include "base/clock.h"
#include "serve/conn.h"
#include "session/terminals.h"
#include "wire/json.h"
#include "wire/websocket.h"

#include <sys/wait.h>

enum {
    ATTACH_QUEUE_MAX = 256 * 1024, /* unsent bytes before the terminal is not read */
    ATTACH_PING_MS = 60 * 1000,
    ATTACH_PINGS_MAX = 3, /* in a row, without a byte of the client */
    ATTACH_SIZE_MAX = 10000,
};

struct attach {
    struct conn *conn;
    struct terminal *terminal; /* NULL once it has ended */
    struct websocket_reader reader;
    struct loop_timer *timer;
    char accept[WEBSOCKET_ACCEPT_SIZE];
    bool is_open; /* the client was told */
    int n_pings;
};

static void attach_free(struct attach *a)
{
    a->conn->tunnel = NULL;
    a->conn->call.op_state = NULL;
    terminal_close(a->terminal);
    loop_timer_close(a->timer, NULL);
    websocket_reader_free(&a->reader);
    free(a);
}

static void attach_on_gone(struct call *call)
{
    attach_free(call->op_state);
}

/* All that there is to say was written; then the connection ends. */
static void attach_finish(struct attach *a)
{
    struct conn *c = a->conn;
    c->is_keep_alive = false;
    attach_free(a);
    conn_answered(c);
}

static void attach_write(struct attach *a, const struct buf *frame)
{
    conn_write(a->conn, &(struct iovec){frame->data, frame->len}, 1);
}

static void attach_close(struct attach *a, int code, const char *why)
{
    _buf_ struct buf frame = BUF_INIT(KIB);
    websocket_put_close(&frame, code, why);
    attach_write(a, &frame);
    attach_finish(a);
}

static void attach_fail(struct attach *a, const struct err *e)
{
    conn_send_error(a->conn, err_http_status(e->code), e, NULL);
    attach_finish(a);
}

/* ---- from the client ------------------------------------------------------------------------- */

/* False: it is nothing that we know. */
static bool attach_on_text(struct attach *a)
{
    struct err ignored;
    _json_ json_t *order = NULL;
    if (json_read_object(buf_str(&a->reader.message), a->reader.message.len, &order, &ignored) < 0)
        return false;
    const char *type = json_string_value(json_object_get(order, "type"));
    json_int_t rows = json_integer_value(json_object_get(order, "rows"));
    json_int_t cols = json_integer_value(json_object_get(order, "cols"));
    if (type == NULL || strcmp(type, "resize") != 0 || rows < 1 || rows > ATTACH_SIZE_MAX ||
        cols < 1 || cols > ATTACH_SIZE_MAX)
        return false;
    terminal_resize(a->terminal, (uint16_t)rows, (uint16_t)cols);
    return true;
}

/* One message. False if the connection has ended with it. */
static bool attach_on_message(struct attach *a, enum websocket_event event)
{
    const struct buf *control = &a->reader.control;
    _buf_ struct buf pong = BUF_INIT(KIB);
    switch (event) {
    case WEBSOCKET_IS_BINARY:
        terminal_type(a->terminal, buf_str(&a->reader.message), a->reader.message.len);
        break;
    case WEBSOCKET_IS_TEXT:
        if (attach_on_text(a))
            break;
        attach_close(a, WEBSOCKET_POLICY,
                     "text messages are {\"type\": \"resize\", \"rows\": 24, \"cols\": 80}");
        return false;
    case WEBSOCKET_IS_PING:
        if (loop_stream_queued(a->conn->stream) < ATTACH_QUEUE_MAX) {
            websocket_put(&pong, WEBSOCKET_PONG, buf_str(control), control->len);
            attach_write(a, &pong);
        }
        break;
    case WEBSOCKET_IS_CLOSE:
        attach_close(a, WEBSOCKET_NORMAL, "");
        return false;
    case WEBSOCKET_BROKEN:
        attach_close(a, a->reader.code, a->reader.why);
        return false;
    case WEBSOCKET_MORE:
    case WEBSOCKET_IS_PONG:
        break;
    }
    return true;
}

/* What the client sent, as far as the terminal has room for it. */
static void attach_take_input(struct attach *a)
{
    struct conn *c = a->conn;
    a->n_pings = 0;
    while (a->is_open && c->pending.len > 0 && terminal_unsent(a->terminal) < TERMINALS_INPUT_MAX) {
        size_t used;
        enum websocket_event event =
            websocket_feed(&a->reader, c->pending.data, c->pending.len, &used);
        buf_consume(&c->pending, used);
        if (!attach_on_message(a, event))
            return;
    }
}

static void attach_on_input(struct conn *c)
{
    attach_take_input(c->call.op_state);
}

static bool attach_on_client_end(struct conn *c)
{
    (void)c;
    return false; /* who types nothing any more sits at no terminal */
}

static bool attach_is_open(const struct conn *c)
{
    (void)c;
    return true;
}

static const struct conn_tunnel attach_of_conn = {
    .on_input = attach_on_input, .on_end = attach_on_client_end, .is_open = attach_is_open};

static void attach_on_client_drained(struct call *call)
{
    struct attach *a = call->op_state;
    if (loop_stream_queued(a->conn->stream) < ATTACH_QUEUE_MAX)
        terminal_want_output(a->terminal, true);
}

static void attach_on_timer(void *context)
{
    struct attach *a = context;
    if (!a->is_open || ++a->n_pings <= ATTACH_PINGS_MAX) {
        _buf_ struct buf frame = BUF_INIT(KIB);
        websocket_put(&frame, WEBSOCKET_PING, "", 0);
        if (a->is_open && loop_stream_queued(a->conn->stream) < ATTACH_QUEUE_MAX)
            attach_write(a, &frame);
        loop_timer_set(a->timer, clock_scaled_ms(ATTACH_PING_MS));
    } else {
        attach_close(a, WEBSOCKET_GOING_AWAY, "the client does not answer");
    }
}

/* ---- from the terminal ----------------------------------------------------------------------- */

static void attach_on_opened(void *context)
{
    struct attach *a = context;
    struct conn *c = a->conn;
    _buf_ struct buf head = BUF_INIT(KIB);
    http1_write_status(&head, 101);
    buf_printf(&head,
               "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
               a->accept);
    attach_write(a, &head);
    a->is_open = true;
    attach_take_input(a);
    if (c->state != CONN_CLOSED)
        conn_settle(c);
}

static void attach_on_output(void *context, const char *data, size_t len)
{
    struct attach *a = context;
    unsigned char head[WEBSOCKET_HEAD_MAX];
    struct iovec parts[] = {{head, websocket_head(head, WEBSOCKET_BINARY, len)},
                            {(void *)(uintptr_t)data, len}};
    conn_write(a->conn, parts, ARRAY_LEN(parts));
    if (loop_stream_queued(a->conn->stream) >= ATTACH_QUEUE_MAX)
        terminal_want_output(a->terminal, false);
}

static void attach_on_terminal_drained(void *context)
{
    struct attach *a = context;
    struct conn *c = a->conn;
    attach_take_input(a);
    if (c->tunnel != NULL)
        conn_settle(c); /* there is room for the client's input again */
}

static void attach_tell_end(struct attach *a, const struct terminal_end *end)
{
    _buf_ struct buf text = BUF_INIT(4 * KIB), frame = BUF_INIT(8 * KIB);
    struct json_out json = JSON_OUT(&text);
    bool is_exit = end->has_status && WIFEXITED(end->status);
    json_put_object(&json);
    json_put_member_str(&json, "type", "exit");
    if (is_exit)
        json_put_member_int(&json, "status", WEXITSTATUS(end->status));
    else if (end->has_status && WIFSIGNALED(end->status))
        json_put_member_int(&json, "signal", WTERMSIG(end->status));
    if (end->why[0] != '\0')
        json_put_member_str(&json, "reason", end->why);
    json_put_object_end(&json);
    websocket_put(&frame, WEBSOCKET_TEXT, text.data, text.len);
    attach_write(a, &frame);
}

static void attach_on_ended(void *context, const struct terminal_end *end)
{
    struct attach *a = context;
    struct err e;
    a->terminal = NULL;
    if (a->is_open) {
        attach_tell_end(a, end);
        attach_close(a, WEBSOCKET_NORMAL, "");
        return;
    }
    err_set(&e, ERR_UNAVAILABLE, "no terminal could be opened: %s",
            end->why[0] != '\0' ? end->why : "it ended at once");
    err_advise(&e, "Try again; `cella doctor` says what the machine lacks.");
    attach_fail(a, &e);
}

static const struct terminal_listener attach_terminal_listener = {
    .on_opened = attach_on_opened,
    .on_output = attach_on_output,
    .on_drained = attach_on_terminal_drained,
    .on_ended = attach_on_ended,
};

/* ---- the beginning --------------------------------------------------------------------------- */

static int attach_check_handshake(const struct http1_parser *request, char *ret_accept,
                                  struct err *e)
{
    const char *key = http1_header(request, "sec-websocket-key", NULL);
    const char *version = http1_header(request, "sec-websocket-version", NULL);
    bool is_asked = request->is_http_1_1 && http1_lists(request, "connection", "upgrade") &&
                    http1_lists(request, "upgrade", "websocket");
    if (is_asked && key != NULL && version != NULL && strcmp(version, "13") == 0 &&
        websocket_accept(key, ret_accept) == 0)
        return 0;
    err_set(e, ERR_INVALID, "a terminal is a WebSocket of version 13");
    return err_advise(e, "Connect with a WebSocket client, or use: cella attach ID");
}

void attach_start(struct conn *c, struct session *session, const struct terminal_request *request)
{
    struct err e;
    struct attach *a = mem_alloc(sizeof(*a));
    a->conn = c;
    a->timer = loop_timer_new(c->server->config.loop, attach_on_timer, a);
    websocket_reader_init(&a->reader);
    c->call.op_state = a;
    c->call.on_gone = attach_on_gone;
    if (attach_check_handshake(&c->http, a->accept, &e) == 0)
        a->terminal = terminal_open(session, request, &attach_terminal_listener, a, &e);
    if (a->terminal == NULL) {
        attach_fail(a, &e);
        return;
    }
    c->tunnel = &attach_of_conn;
    c->call.on_drained = attach_on_client_drained;
    loop_timer_set(a->timer, clock_scaled_ms(ATTACH_PING_MS));
}
