/* Upstream servers over stdio: their start, their tools, calls. Daemon; on the loop; owns the
 * servers and their processes.
 *
 *   ASLEEP --start--> GREETING --initialize is answered--> LISTING --tools/list--> READY
 *   any of them --it ends, or is not to be believed--> ASLEEP, and started again after a pause */
#include "toolbox/upstream.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/utf8.h"
#include "loop/loop.h"
#include "toolbox/peer.h"
#include "toolbox/toolbox.h"
#include "wire/json.h"

#include <assert.h>
#include <string.h>

enum {
    UPSTREAM_START_MS = 20 * 1000,
    UPSTREAM_FIRST_PAUSE_MS = 200,
    UPSTREAM_LAST_PAUSE_MS = 60 * 1000,
    UPSTREAM_CALLS_MAX = 64,    /* of one server that wait for its answer */
    UPSTREAM_IDLE_LINES = 1000, /* that nobody has asked for, between two answers */
    UPSTREAM_PAGES_MAX = 16,    /* of its list of tools */
    UPSTREAM_TEXT_MAX = 2000,   /* bytes of a description */
};
#define UPSTREAM_PROTOCOL "2025-06-18"
#define UPSTREAM_RESULT_MAX (4 * MIB)

enum upstream_state { UPSTREAM_ASLEEP, UPSTREAM_GREETING, UPSTREAM_LISTING, UPSTREAM_READY };

struct upstream {
    struct list node;
    char *name;
    json_t *setting;
    uv_loop_t *loop;
    enum upstream_state state;
    struct peer *peer;
    struct loop_timer *timer; /* until it is ready; until it is started again */
    struct list calls;        /* of struct upstream_call */
    size_t n_calls;
    size_t n_tools, n_pages;
    uint64_t last_id;
    uint64_t asked_id; /* of what it was asked that is no call */
    unsigned n_idle_lines;
    unsigned n_failures; /* since it last answered a call, or was ready */
    char why[200];       /* it does not work */
    bool is_wanted;
};

struct upstream_call {
    struct list node;
    struct upstream *server;
    uint64_t id;
    struct loop_timer *timer;
    uint32_t timeout_ms;
    const struct upstream_listener *listener;
    void *context;
};

static struct list upstreams = {&upstreams, &upstreams};

static void upstream_start(struct upstream *server);

static void upstream_move(struct upstream *server, enum upstream_state to)
{
    static const bool is_legal[][UPSTREAM_READY + 1] = {
        [UPSTREAM_ASLEEP] = {[UPSTREAM_GREETING] = true},
        [UPSTREAM_GREETING] = {[UPSTREAM_LISTING] = true},
        [UPSTREAM_LISTING] = {[UPSTREAM_READY] = true},
        [UPSTREAM_READY] = {[UPSTREAM_LISTING] = true}, /* its tools have changed */
    };
    assert(to == UPSTREAM_ASLEEP || is_legal[server->state][to]);
    server->state = to;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int upstream_send(struct upstream *server, json_t *message, struct err *e)
{
    _buf_ struct buf out = BUF_INIT(PEER_QUEUE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_object_set_new(message, "jsonrpc", json_string("2.0"));
    json_put_value(&json, message);
    json_decref(message);
    if (out.overflowed)
        return err_set(e, ERR_TOO_LARGE, "the arguments are too large for a server");
    return peer_send(server->peer, buf_str(&out), out.len, e);
}

static int upstream_ask(struct upstream *server, const char *method, json_t *params)
{
    struct err e;
    server->asked_id = ++server->last_id;
    return upstream_send(server,
                         json_pack("{s:I, s:s, s:o}", "id", (json_int_t)server->asked_id, "method",
                                   method, "params", params),
                         &e);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void upstream_call_free(struct upstream_call *call)
{
    call->server->n_calls--;
    list_remove(&call->node);
    loop_timer_close(take_ptr(call->timer), NULL);
    free(call);
}

static void upstream_call_fail(struct upstream_call *call, const struct err *e)
{
    const struct upstream_listener *listener = call->listener;
    void *context = call->context;
    upstream_call_free(call);
    listener->on_failed(context, e);
}

static void upstream_cancel(struct upstream_call *call, const char *reason)
{
    struct err ignored;
    struct upstream *server = call->server;
    if (server->peer != NULL)
        upstream_send(server,
                      json_pack("{s:s, s:{s:I, s:s}}", "method", "notifications/cancelled",
                                "params", "requestId", (json_int_t)call->id, "reason", reason),
                      &ignored);
}

static void upstream_on_late(void *context)
{
    struct upstream_call *call = context;
    struct err e;
    err_set(&e, ERR_TIMEOUT, "the server %s did not answer within %g seconds", call->server->name,
            call->timeout_ms / 1000.0);
    err_advise(&e, "It was told to stop. Ask for less, or raise the server's timeout_secs.");
    upstream_cancel(call, "it took too long");
    upstream_call_fail(call, &e);
}

struct upstream_call *upstream_call(struct upstream *server, const char *there, const json_t *args,
                                    uint32_t timeout_ms, const struct upstream_listener *listener,
                                    void *context, struct err *e)
{
    if (server->state != UPSTREAM_READY && server->state != UPSTREAM_LISTING) {
        err_set(e, ERR_UNAVAILABLE, "the server %s does not work now: %s", server->name,
                server->why[0] != '\0' ? server->why : "it has not started yet");
        err_advise(e, "It is started again by itself; try again in a moment.");
        return NULL;
    }
    if (server->n_calls >= UPSTREAM_CALLS_MAX) {
        err_set(e, ERR_LIMIT, "%d calls wait for the server %s", UPSTREAM_CALLS_MAX, server->name);
        err_advise(e, "Wait for their results before you call more.");
        return NULL;
    }
    uint64_t id = ++server->last_id;
    json_t *message = json_pack("{s:I, s:s, s:{s:s, s:O}}", "id", (json_int_t)id, "method",
                                "tools/call", "params", "name", there, "arguments", args);
    if (upstream_send(server, message, e) < 0)
        return NULL;
    struct upstream_call *call = mem_alloc(sizeof(*call));
    *call = (struct upstream_call){.server = server,
                                   .id = id,
                                   .timeout_ms = timeout_ms,
                                   .listener = listener,
                                   .context = context};
    call->timer = loop_timer_new(server->loop, upstream_on_late, call);
    loop_timer_set(call->timer, timeout_ms);
    list_append(&server->calls, &call->node);
    server->n_calls++;
    return call;
}

void upstream_forget(struct upstream_call *call)
{
    upstream_cancel(call, "the caller went away");
    upstream_call_free(call);
}

/* ---- what a tool has said -------------------------------------------------------------------- */

/* The texts of a result, one below the other. */
static void upstream_gather(const json_t *content, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *item = json_array_get(content, i), *text = json_object_get(item, "text");
        const char *type = json_string_value(json_object_get(item, "type"));
        if (json_is_string(text)) {
            buf_printf(out, "%s", out->len > 0 ? "\n" : "");
            buf_append(out, json_string_value(text), json_string_length(text));
        } else {
            buf_printf(out, "%s[%.40s]", out->len > 0 ? "\n" : "", type != NULL ? type : "?");
        }
    }
}

static void upstream_conclude(struct upstream_call *call, json_t *result)
{
    struct err e;
    const struct upstream_listener *listener = call->listener;
    void *context = call->context;
    const char *name = call->server->name;
    _buf_ struct buf text = BUF_INIT(UPSTREAM_RESULT_MAX);
    json_t *structured = json_object_get(result, "structuredContent");
    if (!json_is_object(result)) {
        err_set(&e, ERR_UPSTREAM, "the server %s answered with no result", name);
        err_advise(&e, "It does not follow the protocol.");
        upstream_call_fail(call, &e);
        return;
    }
    upstream_gather(json_object_get(result, "content"), &text);
    if (json_is_true(json_object_get(result, "isError"))) {
        err_set(&e, ERR_UPSTREAM, "%.480s", text.len > 0 ? buf_str(&text) : "the tool failed");
        err_advise(&e, "That is what the tool itself says.");
        upstream_call_fail(call, &e);
        return;
    }
    if (text.overflowed) {
        err_set(&e, ERR_TOO_LARGE, "the server %s answered with more than 4 MiB", name);
        err_advise(&e, "Ask for less.");
        upstream_call_fail(call, &e);
        return;
    }
    upstream_call_free(call);
    listener->on_done(context, json_is_object(structured) ? json_incref(structured)
                                                          : json_stringn(buf_str(&text), text.len));
}

static void upstream_refused(struct upstream_call *call, const json_t *error)
{
    struct err e;
    const char *message = json_string_value(json_object_get(error, "message"));
    err_set(&e, ERR_UPSTREAM, "the server %s refused: %.300s", call->server->name,
            message != NULL ? message : "it does not say why");
    err_advise(&e, "list_tools() has what the tool takes.");
    upstream_call_fail(call, &e);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* It does not work now: who waits is told, and it is started again after a pause. */
static void upstream_fall(struct upstream *server, const char *why)
{
    struct err e;
    snprintf(server->why, sizeof(server->why), "%.190s", why);
    upstream_move(server, UPSTREAM_ASLEEP);
    peer_end(take_ptr(server->peer));
    err_set(&e, ERR_UPSTREAM, "the server %s has ended: %s", server->name, server->why);
    err_advise(&e, "It is started again; call the tool again in a moment.");
    while (!list_is_empty(&server->calls))
        upstream_call_fail(CONTAINER_OF(list_first(&server->calls), struct upstream_call, node),
                           &e);
    uint64_t pause = UPSTREAM_LAST_PAUSE_MS;
    if (server->n_failures < 9)
        pause = MIN(pause, (uint64_t)UPSTREAM_FIRST_PAUSE_MS << server->n_failures);
    server->n_failures++;
    if (server->is_wanted)
        loop_timer_set(server->timer, pause);
}

/* ---- its tools ------------------------------------------------------------------------------- */

static bool upstream_offers(const struct upstream *server, const char *there)
{
    const json_t *only = json_object_get(server->setting, "tools");
    for (size_t i = 0; i < json_array_size(only); i++)
        if (strcmp(json_string_value(json_array_get(only, i)), there) == 0)
            return true;
    return !json_is_array(only);
}

static json_t *upstream_short_text(const json_t *text, const char *otherwise)
{
    if (!json_is_string(text))
        return json_string(otherwise);
    size_t len = MIN(json_string_length(text), (size_t)UPSTREAM_TEXT_MAX);
    return json_stringn(json_string_value(text), utf8_valid_prefix(json_string_value(text), len));
}

/* A name that another tool has is this server's with its name before it. */
static void upstream_name(const struct upstream *server, const char *there, char *out, size_t size)
{
    bool is_taken = toolbox_find(there) != NULL && toolbox_find(there)->maker != TOOLBOX_UNSET;
    if (is_taken)
        snprintf(out, size, "%s.%s", server->name, there);
    else
        snprintf(out, size, "%s", there);
}

static void upstream_add(struct upstream *server, const json_t *tool)
{
    char name[2 * TOOLBOX_NAME_MAX + 2];
    const char *there = json_string_value(json_object_get(tool, "name"));
    json_t *schema = json_object_get(tool, "inputSchema");
    const json_t *hints = json_object_get(tool, "annotations");
    bool only_reads = json_is_true(json_object_get(hints, "readOnlyHint"));
    if (there == NULL || !toolbox_is_name(there) || !json_is_object(schema) ||
        !upstream_offers(server, there) || server->n_tools >= TOOLBOX_UPSTREAM_MAX)
        return;
    upstream_name(server, there, name, sizeof(name));
    if (!toolbox_is_name(name) ||
        (toolbox_find(name) != NULL && toolbox_find(name)->maker != TOOLBOX_UNSET))
        return;
    json_t *properties = json_object_get(schema, "properties");
    json_t *told = json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:[s], s:[s], s:O}", "name", name, "category", server->name,
        "description", upstream_short_text(json_object_get(tool, "description"), ""), "parameters",
        json_is_object(properties) ? json_incref(properties) : json_object(), "returns",
        "what the server answers", "side_effects", only_reads ? "read_only" : "system_state",
        "permissions", "network", "schema", schema);
    if (only_reads)
        json_object_set_new(told, "allowed_callers", json_pack("[s, s]", "direct", "chain"));
    json_object_set_new(told, "destructive",
                        json_boolean(json_is_true(json_object_get(hints, "destructiveHint"))));
    struct tool_entry *entry = toolbox_new_entry(TOOLBOX_UPSTREAM, told, json_incref(schema));
    entry->from = server;
    entry->setting = json_pack("{s:s}", "there", there);
    entry->there = json_string_value(json_object_get(entry->setting, "there"));
    entry->timeout_ms =
        (uint32_t)json_integer_value(json_object_get(server->setting, "timeout_ms"));
    toolbox_put(entry);
    server->n_tools++;
}

static void upstream_on_list(struct upstream *server, const json_t *result)
{
    const json_t *tools = json_object_get(result, "tools"),
                 *next = json_object_get(result, "nextCursor");
    if (!json_is_array(tools)) {
        upstream_fall(server, "it answered tools/list without a list");
        return;
    }
    if (server->n_pages++ == 0) {
        toolbox_remove_of(server);
        server->n_tools = 0;
    }
    for (size_t i = 0; i < json_array_size(tools); i++)
        upstream_add(server, json_array_get(tools, i));
    if (json_is_string(next) && json_string_length(next) < KIB &&
        server->n_pages < UPSTREAM_PAGES_MAX) {
        upstream_ask(server, "tools/list", json_pack("{s:O}", "cursor", next));
        return;
    }
    server->asked_id = 0;
    upstream_move(server, UPSTREAM_READY);
    server->n_failures = 0;
    server->why[0] = '\0';
    loop_timer_clear(server->timer);
}

static void upstream_list(struct upstream *server)
{
    server->n_pages = 0;
    upstream_move(server, UPSTREAM_LISTING);
    loop_timer_set(server->timer, UPSTREAM_START_MS);
    upstream_ask(server, "tools/list", json_object());
}

/* ---- what it says ---------------------------------------------------------------------------- */

static void upstream_on_greeted(struct upstream *server, const json_t *result)
{
    struct err ignored;
    if (!json_is_string(json_object_get(result, "protocolVersion"))) {
        upstream_fall(server, "it answered initialize without a version of the protocol");
        return;
    }
    upstream_send(server, json_pack("{s:s}", "method", "notifications/initialized"), &ignored);
    upstream_list(server);
}

static void upstream_on_answer(struct upstream *server, json_t *message)
{
    uint64_t id = (uint64_t)json_integer_value(json_object_get(message, "id"));
    json_t *result = json_object_get(message, "result");
    const json_t *error = json_object_get(message, "error");
    if (id == server->asked_id && server->asked_id != 0) {
        if (result == NULL)
            upstream_fall(server, "it refused to begin");
        else if (server->state == UPSTREAM_GREETING)
            upstream_on_greeted(server, result);
        else
            upstream_on_list(server, result);
        return;
    }
    LIST_EACH(&server->calls, node) {
        struct upstream_call *call = CONTAINER_OF(node, struct upstream_call, node);
        if (call->id != id)
            continue;
        server->n_idle_lines = 0;
        server->n_failures = 0;
        if (error != NULL)
            upstream_refused(call, error);
        else
            upstream_conclude(call, result);
        return;
    }
}

/* It asks something: it may know that somebody is there, and nothing else. */
static void upstream_on_request(struct upstream *server, const json_t *message, const char *method)
{
    struct err ignored;
    json_t *id = json_object_get(message, "id");
    if (id == NULL) {
        if (strcmp(method, "notifications/tools/list_changed") == 0 &&
            server->state == UPSTREAM_READY)
            upstream_list(server);
    } else if (strcmp(method, "ping") == 0) {
        upstream_send(server, json_pack("{s:O, s:{}}", "id", id, "result"), &ignored);
    } else {
        upstream_send(server,
                      json_pack("{s:O, s:{s:i, s:s}}", "id", id, "error", "code", -32601, "message",
                                "this client offers nothing"),
                      &ignored);
    }
}

static void upstream_on_line(void *context, const char *line, size_t len)
{
    struct upstream *server = context;
    struct err e;
    _json_ json_t *message = NULL;
    char why[200];
    if (++server->n_idle_lines > UPSTREAM_IDLE_LINES) {
        upstream_fall(server, "it sent a thousand messages without being asked");
        return;
    }
    if (json_read_object(line, len, &message, &e) < 0) {
        snprintf(why, sizeof(why), "it sent a line that is no JSON-RPC: %.120s", e.message);
        upstream_fall(server, why);
        return;
    }
    const char *method = json_string_value(json_object_get(message, "method"));
    if (method != NULL)
        upstream_on_request(server, message, method);
    else
        upstream_on_answer(server, message);
}

static void upstream_on_end(void *context, const char *why)
{
    upstream_fall(context, why);
}

static const struct peer_events upstream_peer_events = {.on_line = upstream_on_line,
                                                        .on_end = upstream_on_end};

static void upstream_start(struct upstream *server)
{
    struct err e;
    server->n_idle_lines = 0;
    server->peer = peer_start(server->loop, json_object_get(server->setting, "command"),
                              json_object_get(server->setting, "environment"),
                              &upstream_peer_events, server, &e);
    if (server->peer == NULL) {
        upstream_fall(server, e.message);
        return;
    }
    upstream_move(server, UPSTREAM_GREETING);
    loop_timer_set(server->timer, UPSTREAM_START_MS);
    upstream_ask(server, "initialize",
                 json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", UPSTREAM_PROTOCOL,
                           "capabilities", "clientInfo", "name", "cella", "version",
                           CELLA_VERSION));
}

static void upstream_on_timer(void *context)
{
    struct upstream *server = context;
    if (server->state == UPSTREAM_ASLEEP)
        upstream_start(server);
    else
        upstream_fall(server, "it did not say what tools it has in time");
}

/* ---- the configuration ----------------------------------------------------------------------- */

static void upstream_free(struct upstream *server)
{
    server->is_wanted = false;
    upstream_fall(server, "it is not configured any more");
    toolbox_remove_of(server);
    list_remove(&server->node);
    loop_timer_close(take_ptr(server->timer), NULL);
    json_decref(server->setting);
    free(server->name);
    free(server);
}

void upstream_begin_settings(void)
{
    LIST_EACH(&upstreams, node)
        CONTAINER_OF(node, struct upstream, node)->is_wanted = false;
}

void upstream_set(uv_loop_t *loop, const char *name, json_t *setting)
{
    LIST_EACH(&upstreams, node) {
        struct upstream *server = CONTAINER_OF(node, struct upstream, node);
        if (strcmp(server->name, name) == 0 && json_equal(server->setting, setting)) {
            server->is_wanted = true;
            json_decref(setting);
            return;
        }
    }
    struct upstream *server = mem_alloc(sizeof(*server));
    *server = (struct upstream){
        .name = mem_strdup(name), .setting = setting, .loop = loop, .is_wanted = true};
    list_init(&server->calls);
    list_append(&upstreams, &server->node);
    server->timer = loop_timer_new(loop, upstream_on_timer, server);
    upstream_start(server);
}

void upstream_end_settings(void)
{
    LIST_EACH(&upstreams, node) {
        struct upstream *server = CONTAINER_OF(node, struct upstream, node);
        if (!server->is_wanted)
            upstream_free(server);
    }
}

void upstream_describe_failures(struct buf *out)
{
    LIST_EACH(&upstreams, node) {
        const struct upstream *server = CONTAINER_OF(node, struct upstream, node);
        if (server->state != UPSTREAM_READY)
            buf_printf(out, "%sThe server %s does not work: %s.", out->len > 0 ? " " : "",
                       server->name, server->why[0] != '\0' ? server->why : "it is starting");
    }
}
