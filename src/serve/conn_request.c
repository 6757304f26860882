/* A connection's requests: from bytes to the call of an operation, or to a refusal. Daemon; on the
 * loop, long bodies on a worker thread. */
#include "mcp/mcp.h"
#include "serve/args.h"
#include "serve/conn.h"
#include "serve/guard.h"
#include "serve/rest.h"

#define LONG_BODY (256 * KIB) /* parsed by a worker thread: the loop serves others meanwhile */

static const struct conn_endpoint *conn_request_endpoint(const struct conn *c)
{
    const struct conn_endpoint *const *e = c->server->config.endpoints;
    char path[64] = "";
    for (size_t i = 0; i < c->target.n_segments; i++) {
        size_t used = strlen(path);
        snprintf(path + used, sizeof(path) - used, "/%s", c->target.segments[i]);
    }
    while (e != NULL && *e != NULL && strcmp((*e)->path, path) != 0)
        e++;
    return e != NULL ? *e : NULL;
}

/* All that can be decided before the body is read. */
static int check_head(struct conn *c, char *ret_allow, struct err *e)
{
    const struct server *s = c->server;
    const char *raw = http1_target(&c->http);
    c->is_head_only = strcmp(http1_method(&c->http), "HEAD") == 0;
    ret_allow[0] = '\0';
    c->origin = NULL;
    c->known_len = route_known_len(&s->routes, raw);
    if (target_parse(&c->call.arena, raw, c->known_len, &c->target, e) < 0)
        return -1;
    if (!c->is_local &&
        guard_check_browser(&c->http, c->is_loopback, s->config.policy, &c->origin, e) < 0)
        return -1;
    if (c->origin != NULL && guard_is_preflight(&c->http))
        return 0;
    c->route = route_find(&s->routes, http1_method(&c->http), &c->target, ret_allow);
    bool is_public = c->route != NULL && c->route->op->flags & OP_PUBLIC;
    bool is_free = is_public || c->is_local || s->config.key == NULL;
    if (is_free)
        guard_take_caller(&c->http, &c->caller);
    else if (guard_check_caller(&c->http, s->config.key, s->config.policy, &c->call.arena,
                                &c->caller, e) < 0)
        return -1;
    if (!is_public)
        list_remove(&c->in_unproven);
    c->endpoint = c->route == NULL ? conn_request_endpoint(c) : NULL;
    if (c->route != NULL || c->endpoint != NULL)
        return 0;
    if (ret_allow[0] != '\0') {
        err_set(e, ERR_METHOD, "%s is not possible here", http1_method(&c->http));
        return err_advise(e, "Use %s.", ret_allow);
    }
    err_set(e, ERR_NOT_FOUND, "there is nothing at this path");
    return err_advise(e, "The API is under /v1, for example /v1/sessions.");
}

static void conn_request_refuse_malformed(struct conn *c)
{
    conn_refuse(c, c->http.refusal, &c->http.error, NULL, true);
}

/* What anybody may call takes no body: nobody can fill our memory without having shown a key. */
static size_t body_max(const struct op *op)
{
    if (op->flags & OP_PUBLIC)
        return 0;
    return op->flags & OP_LARGE ? HTTP1_BODY_LARGE_MAX : HTTP1_BODY_MAX;
}

static void conn_request_run(struct conn *c);

static void conn_request_continue(struct conn *c)
{
    if (c->http.expects_continue)
        conn_write(c, &(struct iovec){(char[]){HTTP1_CONTINUE}, sizeof(HTTP1_CONTINUE) - 1}, 1);
    c->http.expects_continue = false;
}

static void head_complete(struct conn *c, bool has_more)
{
    struct err e;
    char allow[ROUTE_ALLOW_SIZE];
    if (check_head(c, allow, &e) < 0) {
        conn_refuse(c, err_http_status(e.code), &e, e.code == ERR_METHOD ? allow : NULL,
                    e.code == ERR_INVALID);
        return;
    }
    if (c->origin != NULL && guard_is_preflight(&c->http)) {
        conn_send_preflight(c); /* a browser shows no key before it may */
    } else if (c->endpoint != NULL) {
        if (http1_limit_body(&c->http, c->endpoint->body_max) < 0)
            conn_request_refuse_malformed(c);
        else if (!has_more)
            conn_request_continue(c);
    } else if (c->route->op->flags & (OP_TAKES_BYTES | OP_TUNNELS)) {
        http1_stream_body(&c->http);
        conn_request_run(c); /* which may refuse it before a byte was sent */
    } else if (http1_limit_body(&c->http, body_max(c->route->op)) < 0) {
        conn_request_refuse_malformed(c);
    } else if (!has_more) {
        conn_request_continue(c);
    }
}

/* ---- a body in pieces ------------------------------------------------------------------------ */

void conn_want_body(struct conn *c)
{
    c->wants_body = true;
    if (c->pending.len == 0)
        conn_request_continue(c);
    conn_defer(c);
}

void conn_pump_body(struct conn *c)
{
    struct http1_parser *http = &c->http;
    while (c->state == CONN_CALLING && c->wants_body) {
        size_t used = 0;
        if (http->state == HTTP1_IN_BODY && c->pending.len > 0 &&
            http1_feed(http, c->pending.data, c->pending.len, &used) == HTTP1_BAD) {
            conn_abandon(c);
            conn_turn_away(c, &http->error);
            return;
        }
        buf_consume(&c->pending, used);
        if (http->body.len > 0) {
            _buf_ struct buf piece = http->body;
            http->body = BUF_INIT(piece.max);
            c->wants_body = false;
            c->call.on_body(&c->call, &piece);
        } else if (http->state == HTTP1_COMPLETE) {
            c->wants_body = false;
            c->is_keep_alive = http->is_keep_alive && !c->server->is_stopping;
            c->call.on_body_end(&c->call);
        } else if (c->has_ended) {
            conn_close(c);
        } else {
            break;
        }
    }
    conn_settle(c);
}

/* ---- the call -------------------------------------------------------------------------------- */

static void conn_request_call(struct conn *c, json_t *args)
{
    c->is_keep_alive =
        c->http.is_keep_alive && !c->server->is_stopping && c->http.state == HTTP1_COMPLETE;
    if (c->state != CONN_CALLING)
        conn_move(c, CONN_CALLING);
    c->has_call = true;
    c->call = (struct call){
        .op = c->route->op,
        .engine = c->server->config.engine,
        .documents = c->server->config.documents,
        .policy = c->server->config.policy,
        .boxes = c->server->config.boxes,
        .clients = mcp_clients(c->server->config.mcp),
        .agent = c->caller.agent,
        .host = http1_header(&c->http, "host", NULL),
        .known_tags = http1_header(&c->http, "if-none-match", NULL),
        .arena = c->call.arena, /* the target was read into it */
        .args = args,
        .range = http1_header(&c->http, "range", NULL),
        .if_range = http1_header(&c->http, "if-range", NULL),
        .body_bytes = http1_body_bytes(&c->http),
        .wants_stream = rest_wants_stream(c->route->op, &c->http) && !c->is_head_only,
        .wants_text = rest_prefers(&c->http, "text/plain"),
        .wants_html = rest_prefers(&c->http, "text/html"),
        .sink = &rest_sink,
    };
    op_run(&c->call);
    /* It has begun and was not refused: the client should not wait for the first output to know. */
    if (c->has_call && c->call.wants_stream && !c->call.is_at_gate)
        rest_start_stream(c);
}

/* A long body on its way through a worker thread. The connection stays as long: its call is open.
 */
struct conn_work {
    uv_work_t uv;
    struct conn *conn;
    json_t *args; /* NULL if they are refused */
    struct err err;
};

static void build_in_worker(uv_work_t *uv)
{
    struct conn_work *work = CONTAINER_OF(uv, struct conn_work, uv);
    const struct conn *c = work->conn;
    if (args_build(c->route, &c->target, &c->http.body, &work->args, &work->err) < 0)
        work->args = NULL;
}

static void built(uv_work_t *uv, int status)
{
    (void)status;
    struct conn_work *work = CONTAINER_OF(uv, struct conn_work, uv);
    struct conn *c = work->conn;
    if (c->state == CONN_CLOSED) {
        json_decref(work->args);
        conn_answered(c);
    } else if (work->args == NULL) {
        c->has_call = false;
        conn_refuse(c, err_http_status(work->err.code), &work->err, NULL, false);
        conn_defer(c);
    } else {
        conn_request_call(c, work->args);
    }
    free(work);
}

static void conn_request_run(struct conn *c)
{
    struct err e;
    json_t *args;
    if (c->endpoint != NULL) {
        /* The endpoint answers whatever is wrong with the body: it knows how its clients want to be
         * told. */
        c->is_keep_alive =
            c->http.is_keep_alive && !c->server->is_stopping && c->http.state == HTTP1_COMPLETE;
        conn_move(c, CONN_CALLING);
        c->has_call = true;
        c->call = (struct call){.arena = c->call.arena};
        c->endpoint->take(c);
        return;
    }
    bool is_bytes = c->route->op->flags & OP_TAKES_BYTES;
    if (c->http.body.len > LONG_BODY && !is_bytes) {
        struct conn_work *work = mem_alloc(sizeof(*work));
        work->conn = c;
        conn_move(c, CONN_CALLING);
        c->has_call = true;
        c->call = (struct call){.arena = c->call.arena};
        uv_queue_work(c->server->config.loop, &work->uv, build_in_worker, built);
    } else if (args_build(c->route, &c->target, &c->http.body, &args, &e) < 0)
        conn_refuse(c, err_http_status(e.code), &e, NULL, false);
    else
        conn_request_call(c, args);
}

void conn_feed(struct conn *c, const char *data, size_t len)
{
    enum http1_result result = HTTP1_DONE;
    c->is_feeding = true;
    while (c->state == CONN_READING && result != HTTP1_MORE) {
        size_t used;
        result = http1_feed(&c->http, data, len, &used);
        data += used;
        len -= used;
        if (result == HTTP1_HEAD)
            head_complete(c, len > 0);
        else if (result == HTTP1_DONE)
            conn_request_run(c);
        else if (result == HTTP1_BAD)
            conn_request_refuse_malformed(c);
        conn_advance(c);
    }
    c->is_feeding = false;
    if (c->state == CONN_CALLING || c->state == CONN_FLUSHING)
        buf_append(&c->pending, data, len);
    if (c->tunnel != NULL && c->pending.len > 0)
        c->tunnel->on_input(c); /* the client did not wait for our consent */
    conn_settle(c);
}
