/* A request's life: what is said about it, the operation that runs for it, its end. Daemon, on the
 * loop; owns requests. */
#include "mcp/request.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "ops/tool_call.h"

#include <stdarg.h>
#include <stdio.h>

#define REQUEST_ANSWER_MAX (160 * MIB) /* an operation's largest, and the envelope */

enum {
    PROGRESS_EVERY_MS = 100, /* what a cell writes is told no more often */
    PROGRESS_BEAT_MS = 5000, /* a silent cell still runs */
};

static const char *const request_levels[] = {"debug", "info",     "notice", "warning",
                                             "error", "critical", "alert",  "emergency"};

enum mcp_level mcp_level_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(request_levels); i++)
        if (strcmp(request_levels[i], name) == 0)
            return (enum mcp_level)i;
    return MCP_LEVEL_NONE;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct mcp_request *request_new(struct mcp *mcp, struct mcp_peer *peer, struct rpc_message *m)
{
    struct mcp_request *rq = mem_alloc(sizeof(*rq));
    rq->mcp = mcp;
    rq->peer = peer;
    rq->message = take_ptr(m->root);
    rq->id = m->id;
    rq->method = m->method;
    rq->params = m->params;
    if (rq->params == NULL) {
        rq->params = json_object();
        json_object_set_new(rq->message, "params", rq->params);
    }
    rq->level = MCP_LEVEL_NONE;
    rq->started_ms = clock_mono_ms();
    list_init(&rq->in_listeners);
    list_init(&rq->watches);
    list_append(peer != NULL ? &peer->requests : &mcp->requests, &rq->in_peer);
    if (peer != NULL) {
        peer->n_requests++;
        peer->used_ms = rq->started_ms;
    }
    return rq;
}

static void request_free(struct mcp_request *rq)
{
    json_decref(rq->call.args);
    arena_free(&rq->call.arena);
    json_decref(rq->message);
    json_decref(rq->questions);
    json_decref(rq->answers);
    json_decref(rq->memory);
    json_decref(rq->filter);
    arena_free(&rq->arena);
    free(rq);
}

void request_shed(struct mcp_request *rq)
{
    json_t *rest = json_pack("{s:O,s:s,s:{}}", "id", rq->id, "method", rq->method, "params");
    json_decref(rq->message);
    rq->message = rest;
    rq->id = json_object_get(rest, "id");
    rq->method = rpc_text(rest, "method");
    rq->params = json_object_get(rest, "params");
    rq->token = NULL;
}

void request_unlink(struct mcp_request *rq)
{
    if (rq->link != NULL && rq->link->request == rq)
        rq->link->request = NULL;
    rq->link = NULL;
}

void request_leave_peer(struct mcp_request *rq)
{
    request_unlink(rq);
    if (rq->peer == NULL)
        return;
    list_remove(&rq->in_peer);
    rq->peer->n_requests--;
    rq->peer = NULL;
    list_append(&rq->mcp->requests, &rq->in_peer);
}

/* Nothing more is said. Its memory stays as long as an operation that cannot be told so has it. */
static void request_end(struct mcp_request *rq)
{
    rq->is_over = true;
    if (rq->on_end != NULL)
        rq->on_end(rq);
    request_unlink(rq);
    rq->stream = NULL;
    loop_timer_close(take_ptr(rq->timer), NULL);
    loop_timer_close(take_ptr(rq->ticker), NULL);
    list_remove(&rq->in_peer);
    if (!list_is_empty(&rq->in_listeners))
        rq->mcp->has.listeners--;
    list_remove(&rq->in_listeners);
    if (rq->peer != NULL) {
        rq->peer->n_requests--;
        rq->peer->used_ms = clock_mono_ms();
        rq->peer = NULL;
    }
    if (rq->has_call && rq->call.on_gone != NULL) {
        rq->has_call = false;
        rq->call.on_gone(&rq->call);
    }
    if (!rq->has_call)
        request_free(rq);
}

void request_drop(struct mcp_request *rq)
{
    struct mcp_link *link = rq->link;
    struct mcp_stream *stream = rq->stream;
    bool is_line = rq->peer != NULL && rq->peer->line != NULL;
    request_end(rq);
    if (stream != NULL)
        stream_drop(stream);
    else if (link != NULL && !is_line)
        link->ops->answer(link, 202, NULL, 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What HTTP says of an error: a modern client's envelope was wrong, or all went well. */
static int request_status(const struct mcp_request *rq, enum rpc_code code)
{
    if (rq->era == MCP_LEGACY)
        return 200;
    switch (code) {
    case RPC_METHOD_NOT_FOUND:
        return 404;
    case RPC_PARSE_ERROR:
    case RPC_INVALID_REQUEST:
    case RPC_HEADER_MISMATCH:
    case RPC_MISSING_CAPABILITY:
    case RPC_UNSUPPORTED_VERSION:
        return 400;
    case RPC_BUSY:
        return 503;
    case RPC_INVALID_PARAMS:
    case RPC_INTERNAL_ERROR:
    case RPC_SESSION_NOT_FOUND:
    case RPC_RESOURCE_NOT_FOUND:
        return 200;
    }
    return 200;
}

static void request_answer(struct mcp_request *rq, int status, const struct buf *message)
{
    struct mcp_link *link = rq->link;
    struct mcp_stream *stream = rq->stream;
    request_end(rq);
    if (stream != NULL)
        stream_answer(stream, status, buf_str(message), message->len);
    else if (link != NULL)
        link->ops->answer(link, status, buf_str(message), message->len);
}

static void request_answer_fault(struct mcp_request *rq, struct rpc_fault *fault)
{
    json_t *data = fault->data;
    if (rq->deliver != NULL) {
        rq->deliver(rq, NULL, fault);
        request_end(rq);
    } else {
        _buf_ struct buf out = BUF_INIT(REQUEST_ANSWER_MAX);
        rpc_put_error(&out, rq->id, fault);
        request_answer(rq, request_status(rq, fault->code), &out);
    }
    json_decref(data);
}

void request_fail_with(struct mcp_request *rq, enum rpc_code code, json_t *data, const char *fmt,
                       ...)
{
    struct rpc_fault fault = {.code = code, .data = data};
    va_list args;
    va_start(args, fmt);
    vsnprintf(fault.message, sizeof(fault.message), fmt, args);
    va_end(args);
    request_answer_fault(rq, &fault);
}

void request_fail(struct mcp_request *rq, enum rpc_code code, const char *fmt, ...)
{
    struct rpc_fault fault = {.code = code};
    va_list args;
    va_start(args, fmt);
    vsnprintf(fault.message, sizeof(fault.message), fmt, args);
    va_end(args);
    request_answer_fault(rq, &fault);
}

#define REQUEST_SERVER                                                                             \
    "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"cella\",\"version\":\"" CELLA_VERSION "\"" \
    "}"

/* The members of the modern era go in front of the others. A result may bring a meta of its own, as
 * its first member. */
static void request_put_result(struct mcp_request *rq, const char *type, const struct buf *object,
                               struct buf *out)
{
    static const char meta[] = "{\"_meta\":";
    bool has_meta = strncmp(buf_str(object), meta, sizeof(meta) - 1) == 0;
    if (rq->era == MCP_LEGACY) {
        buf_append(out, buf_str(object), object->len);
        return;
    }
    buf_printf(out, "{\"resultType\":\"%s\"", type);
    if (!has_meta)
        buf_append_str(out, ",\"_meta\":{" REQUEST_SERVER "}");
    if (object->len > 2) {
        buf_append_char(out, ',');
        buf_append(out, object->data + 1, object->len - 2);
    }
    buf_append_char(out, '}');
}

void request_reply_typed(struct mcp_request *rq, const char *type, const struct buf *object)
{
    _buf_ struct buf out = BUF_INIT(REQUEST_ANSWER_MAX);
    buf_reserve(&out, object->len + 256);
    if (rq->deliver != NULL) {
        request_put_result(rq, type, object, &out);
        rq->deliver(rq, &out, NULL);
        request_end(rq);
        return;
    }
    rpc_put_result_head(&out, rq->id);
    request_put_result(rq, type, object, &out);
    buf_append_char(&out, '}');
    request_answer(rq, 200, &out);
}

void request_reply(struct mcp_request *rq, const struct buf *object)
{
    request_reply_typed(rq, "complete", object);
}

void request_reply_json(struct mcp_request *rq, json_t *object)
{
    _buf_ struct buf out = BUF_INIT(REQUEST_ANSWER_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_value(&json, object);
    json_decref(object);
    request_reply(rq, &out);
}

void request_put_hints(const struct mcp_request *rq, struct json_out *json, int64_t ttl_ms)
{
    if (rq->era == MCP_LEGACY)
        return;
    json_put_member_int(json, "ttlMs", ttl_ms);
    json_put_member_str(json, "cacheScope", "private");
}

bool request_check_cursor(struct mcp_request *rq)
{
    if (json_object_get(rq->params, "cursor") == NULL)
        return true;
    request_fail(rq, RPC_INVALID_PARAMS, "the cursor is not known: this list has one page");
    return false;
}

/* ---- before the answer ----------------------------------------------------------------------- */

void request_notify(struct mcp_request *rq, const char *method, json_t *params)
{
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    rpc_put_call(&out, NULL, method, params);
    json_decref(params);
    if (rq->stream != NULL)
        stream_put(rq->stream, buf_str(&out), out.len);
    else if (rq->link != NULL && rq->link->takes_events)
        rq->link->ops->event(rq->link, NULL, buf_str(&out), out.len);
}

void request_open_stream(struct mcp_request *rq)
{
    if (rq->stream != NULL)
        stream_begin(rq->stream);
    else if (rq->link != NULL && rq->link->takes_events &&
             (rq->peer == NULL || rq->peer->line == NULL))
        rq->link->ops->event(rq->link, NULL, NULL, 0);
}

void request_log(struct mcp_request *rq, enum mcp_level level, const char *text)
{
    enum mcp_level wanted = rq->era == MCP_LEGACY && rq->peer != NULL ? rq->peer->level : rq->level;
    if (wanted == MCP_LEVEL_NONE || level < wanted)
        return;
    request_notify(rq, "notifications/message",
                   json_pack("{s:s,s:s,s:s}", "level", request_levels[level], "logger", "cella",
                             "data", text));
}

void request_progress(struct mcp_request *rq, double progress, double total, const char *text)
{
    if (rq->token == NULL)
        return;
    json_t *params = json_pack("{s:O,s:f}", "progressToken", rq->token, "progress", progress);
    if (total > 0)
        json_object_set_new(params, "total", json_real(total));
    if (text != NULL)
        json_object_set_new(params, "message", json_string(text));
    request_notify(rq, "notifications/progress", params);
}

static void request_on_tick(void *context)
{
    struct mcp_request *rq = context;
    uint64_t now_ms = clock_mono_ms();
    double seconds = (double)(now_ms - rq->started_ms) / 1000;
    const char *text = rq->said[0] != '\0' ? rq->said : rq->line;
    rq->told_ms = now_ms;
    rq->has_news = false;
    rq->progress = seconds > rq->progress ? seconds : rq->progress + 0.001;
    loop_timer_set(rq->ticker, clock_scaled_ms(PROGRESS_BEAT_MS));
    request_progress(rq, rq->progress, 0, text[0] != '\0' ? text : NULL);
}

void request_tick(struct mcp_request *rq)
{
    if (rq->token == NULL || rq->ticker != NULL)
        return;
    rq->ticker = loop_timer_new(rq->mcp->config.loop, request_on_tick, rq);
    loop_timer_set(rq->ticker, clock_scaled_ms(PROGRESS_BEAT_MS));
}

/* A character that does not fit is left out as a whole. */
static void request_end_line(struct mcp_request *rq, size_t used)
{
    rq->line[used] = '\0';
    rq->line[utf8_valid_prefix(rq->line, used)] = '\0';
    if (rq->line[0] == '\0')
        return;
    memcpy(rq->said, rq->line, sizeof(rq->said));
    rq->has_news = true;
}

void request_tell(struct mcp_request *rq, const char *text, size_t len)
{
    size_t used = strlen(rq->line), room = sizeof(rq->line) - 1;
    bool had_news = rq->has_news;
    if (rq->ticker == NULL)
        return;
    if (len > 2 * room) { /* earlier lines would be replaced anyway */
        text += len - 2 * room;
        len = 2 * room;
        used = 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            request_end_line(rq, used);
            used = 0;
        } else if (text[i] != '\0' && used < room) {
            rq->line[used++] = text[i];
        }
    }
    rq->line[used] = '\0';
    rq->line[utf8_valid_prefix(rq->line, used)] = '\0';
    if (!rq->has_news || had_news)
        return;
    uint64_t since_ms = clock_mono_ms() - rq->told_ms;
    loop_timer_set(rq->ticker, since_ms < PROGRESS_EVERY_MS ? PROGRESS_EVERY_MS - since_ms : 0);
}

static void request_on_timer(void *context)
{
    struct mcp_request *rq = context;
    rq->on_timer(rq);
}

void request_after(struct mcp_request *rq, uint64_t ms, request_fn fn)
{
    if (rq->timer == NULL)
        rq->timer = loop_timer_new(rq->mcp->config.loop, request_on_timer, rq);
    rq->on_timer = fn;
    loop_timer_set(rq->timer, ms);
}

/* ---- operations ------------------------------------------------------------------------------ */

static struct mcp_request *request_of(struct call *call)
{
    return CONTAINER_OF(call, struct mcp_request, call);
}

/* The operation is done with the call. False if nobody waits for it any more. */
static bool request_called(struct mcp_request *rq)
{
    rq->has_call = false;
    json_decref(rq->call.args);
    rq->call.args = NULL;
    if (!rq->is_over)
        return true;
    request_free(rq);
    return false;
}

static void request_on_reply(struct call *call, int http_status, const struct buf *json)
{
    struct mcp_request *rq = request_of(call);
    if (!request_called(rq))
        return;
    struct arena arena = call->arena;
    call->arena = (struct arena){0};
    rq->on_reply(rq, http_status, json);
    arena_free(&arena);
}

static void request_on_fail(struct call *call, const struct err *e)
{
    struct mcp_request *rq = request_of(call);
    if (!request_called(rq))
        return;
    struct arena arena = call->arena;
    call->arena = (struct arena){0};
    rq->on_fail(rq, e);
    arena_free(&arena);
}

static void request_on_file(struct call *call, const struct call_file *file)
{
    struct mcp_request *rq = request_of(call);
    struct arena arena = call->arena;
    bool is_wanted = !rq->is_over && rq->on_file != NULL;
    struct err e;
    err_set(&e, ERR_INVALID, "this operation answers with a file");
    call->arena = (struct arena){0};
    if (!is_wanted && file->fd >= 0)
        close(file->fd);
    if (request_called(rq)) {
        if (is_wanted)
            rq->on_file(rq, file);
        else
            rq->on_fail(rq, &e);
    }
    arena_free(&arena);
}

static void request_on_begin(struct call *call)
{
    (void)call;
}

static bool request_on_event(struct call *call, const char *name, const char *json, size_t len)
{
    struct mcp_request *rq = request_of(call);
    if (!rq->is_over && rq->on_event != NULL)
        rq->on_event(rq, name, json, len);
    return true;
}

static const struct call_sink request_sink = {
    .reply = request_on_reply,
    .fail = request_on_fail,
    .send_file = request_on_file,
    .begin = request_on_begin,
    .event = request_on_event,
};

void request_call(struct mcp_request *rq, const struct op *op, json_t *args, bool wants_stream)
{
    const struct mcp_config *config = &rq->mcp->config;
    arena_free(&rq->call.arena);
    rq->call = (struct call){
        .op = op,
        .engine = config->engine,
        .policy = config->policy,
        .documents = config->documents,
        .boxes = config->boxes,
        .agent = rq->agent,
        .caller = rq->caller,
        .args = args,
        .body_bytes = -1,
        .wants_stream = wants_stream,
        .sink = &request_sink,
    };
    rq->has_call = true;
    if (op->toolset != NULL)
        tool_run(&rq->call);
    else
        op_run(&rq->call);
}
