/* The server: which era a message is of, which method it asks for, who may ask. Daemon, on the
 * loop; owns all that clients have open. */
#include "base/clock.h"
#include "mcp/ask.h"
#include "mcp/complete.h"
#include "mcp/fixtures.h"
#include "mcp/headers.h"
#include "mcp/listen.h"
#include "mcp/peer.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "mcp/tasks.h"
#include "mcp/tools.h"
#include "mcp/watch.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LEVEL "io.modelcontextprotocol/logLevel"

enum { SERVER_SWEEP_MS = 60 * 1000, DISCOVER_TTL_MS = 300 * 1000 };

/* The newest first. */
static const char *const server_versions[] = {MCP_MODERN_VERSION, MCP_LEGACY_VERSION, "2025-06-18",
                                              "2025-03-26", "2024-11-05"};

static const char *const server_instructions =
    "Code runs in live sandboxed sessions: variables and files stay between calls, a crash is "
    "rolled back, and back undoes, redoes and branches.";

/* ---- life ------------------------------------------------------------------------------------ */

static void server_on_sweep(void *context)
{
    struct mcp *mcp = context;
    peer_sweep(mcp);
    mcp_tasks_sweep(mcp);
    /* An idle daemon never wakes. */
    if (mcp->has.sessions > 0 || mcp->has.tasks > 0)
        loop_timer_set(mcp->sweeper, clock_scaled_ms(SERVER_SWEEP_MS));
}

struct mcp *mcp_new(const struct mcp_config *config)
{
    struct mcp *mcp = mem_alloc(sizeof(*mcp));
    mcp->config = *config;
    mcp->more = config->has_fixtures ? &fixtures : NULL;
    seal_init(&mcp->seal);
    list_init(&mcp->peers);
    list_init(&mcp->requests);
    list_init(&mcp->listeners);
    list_init(&mcp->tasks);
    mcp->sweeper = loop_timer_new(config->loop, server_on_sweep, mcp);
    mcp_tasks_load(mcp);
    if (mcp->has.tasks > 0)
        loop_timer_set(mcp->sweeper, clock_scaled_ms(SERVER_SWEEP_MS));
    return mcp;
}

const struct call_clients *mcp_clients(const struct mcp *mcp)
{
    return mcp != NULL ? &mcp->has : NULL;
}

void mcp_stop(struct mcp *mcp)
{
    if (mcp == NULL || mcp->is_stopping)
        return;
    mcp->is_stopping = true;
    listen_end_all(mcp);
    mcp_tasks_end_all(mcp);
    LIST_EACH(&mcp->peers, node) {
        struct mcp_peer *peer = CONTAINER_OF(node, struct mcp_peer, in_all);
        watch_end_all(&peer->watched);
        stream_free(take_ptr(peer->own));
    }
    loop_timer_close(take_ptr(mcp->sweeper), NULL);
}

void mcp_free(struct mcp *mcp)
{
    struct list *node;
    if (mcp == NULL)
        return;
    while ((node = list_first(&mcp->peers)) != NULL)
        peer_free(CONTAINER_OF(node, struct mcp_peer, in_all));
    map_free(&mcp->peers_by_id);
    map_free(&mcp->tasks_by_id);
    json_decref(mcp->fixtures);
    free(mcp);
}

void mcp_link_gone(struct mcp_link *link)
{
    struct mcp_request *rq = link->request;
    if (link->stream != NULL)
        stream_detach(link->stream); /* what comes is kept for the client's return */
    if (rq != NULL) {
        request_unlink(rq);
        if (rq->era == MCP_MODERN) /* before, a client that goes has not cancelled */
            request_drop(rq);
    }
}

/* ---- who is there ---------------------------------------------------------------------------- */

static struct mcp_caps mcp_read_caps(const json_t *capabilities)
{
    const json_t *extensions = json_object_get(capabilities, "extensions");
    const json_t *elicitation = json_object_get(capabilities, "elicitation");
    bool has_forms = json_object_size(elicitation) == 0 || /* before there were others */
                     json_object_get(elicitation, "form") != NULL;
    return (struct mcp_caps){
        .elicits = json_is_object(elicitation) && has_forms,
        .samples = json_is_object(json_object_get(capabilities, "sampling")),
        .has_tasks = json_is_object(json_object_get(extensions, TASKS_EXTENSION)),
    };
}

static void server_put_offer(const struct mcp_request *rq, struct json_out *json)
{
    bool can_change = rq->mcp->more != NULL;
    json_put_key(json, "capabilities");
    json_put_object(json);
    json_put_key(json, "tools");
    json_put_object(json);
    json_put_member_true(json, "listChanged", can_change);
    json_put_object_end(json);
    json_put_key(json, "resources");
    json_put_object(json);
    json_put_member_bool(json, "subscribe", true);
    json_put_object_end(json);
    json_put_key(json, "prompts");
    json_put_object(json);
    json_put_member_true(json, "listChanged", can_change);
    json_put_object_end(json);
    json_put_key(json, "completions");
    json_put_object(json);
    json_put_object_end(json);
    json_put_key(json, "logging");
    json_put_object(json);
    json_put_object_end(json);
    if (rq->era == MCP_MODERN) {
        json_put_key(json, "extensions");
        json_put_object(json);
        json_put_key(json, TASKS_EXTENSION);
        json_put_object(json);
        json_put_object_end(json);
        json_put_object_end(json);
    }
    json_put_object_end(json);
}

static json_t *server_version_list(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_LEN(server_versions); i++)
        json_array_append_new(list, json_string(server_versions[i]));
    return list;
}

static void server_discover(struct mcp_request *rq)
{
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&out);
    json_t *versions = server_version_list();
    json_put_object(&json);
    json_put_key(&json, "supportedVersions");
    json_put_value(&json, versions);
    server_put_offer(rq, &json);
    json_put_member_str(&json, "instructions", server_instructions);
    request_put_hints(rq, &json, DISCOVER_TTL_MS);
    json_put_object_end(&json);
    json_decref(versions);
    request_reply(rq, &out);
}

/* NULL if the version is not one of the older era that is spoken here. */
static const char *server_legacy_version(const char *asked)
{
    for (size_t i = 1; asked != NULL && i < ARRAY_LEN(server_versions); i++)
        if (strcmp(server_versions[i], asked) == 0)
            return server_versions[i];
    return NULL;
}

static void server_initialize(struct mcp_request *rq)
{
    struct mcp_peer *peer = rq->peer;
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&out);
    peer->is_initialized = true;
    peer->version = server_legacy_version(rpc_text(rq->params, "protocolVersion"));
    if (peer->version == NULL)
        peer->version = MCP_LEGACY_VERSION;
    peer->caps = mcp_read_caps(json_object_get(rq->params, "capabilities"));
    json_put_object(&json);
    json_put_member_str(&json, "protocolVersion", peer->version);
    server_put_offer(rq, &json);
    json_put_key(&json, "serverInfo");
    json_put_object(&json);
    json_put_member_str(&json, "name", "cella");
    json_put_member_str(&json, "version", CELLA_VERSION);
    json_put_object_end(&json);
    json_put_member_str(&json, "instructions", server_instructions);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

static void server_ping(struct mcp_request *rq)
{
    request_reply_json(rq, json_object());
}

static void server_set_level(struct mcp_request *rq)
{
    enum mcp_level level = mcp_level_of(rpc_text(rq->params, "level"));
    if (level == MCP_LEVEL_NONE) {
        request_fail(rq, RPC_INVALID_PARAMS,
                     "level must be debug, info, notice, warning, error, critical, alert or "
                     "emergency");
        return;
    }
    rq->peer->level = level;
    request_reply_json(rq, json_object());
}

/* ---- methods --------------------------------------------------------------------------------- */

#define OF(era) (1U << (era))
#define OF_BOTH (OF(MCP_LEGACY) | OF(MCP_MODERN))

static const struct server_method {
    const char *name;
    unsigned eras;
    request_fn run;
} server_methods[] = {
    {"tools/call", OF_BOTH, tools_call},
    {"tools/list", OF_BOTH, tools_list},
    {"resources/list", OF_BOTH, resources_list},
    {"resources/templates/list", OF_BOTH, resources_list_templates},
    {"resources/read", OF_BOTH, resources_read},
    {"prompts/list", OF_BOTH, prompts_list},
    {"prompts/get", OF_BOTH, prompts_get},
    {"completion/complete", OF_BOTH, complete},
    {"initialize", OF(MCP_LEGACY), server_initialize},
    {"ping", OF(MCP_LEGACY), server_ping},
    {"logging/setLevel", OF(MCP_LEGACY), server_set_level},
    {"resources/subscribe", OF(MCP_LEGACY), listen_subscribe},
    {"resources/unsubscribe", OF(MCP_LEGACY), listen_unsubscribe},
    {"server/discover", OF(MCP_MODERN), server_discover},
    {"subscriptions/listen", OF(MCP_MODERN), listen_begin},
    {"tasks/get", OF(MCP_MODERN), mcp_task_get},
    {"tasks/update", OF(MCP_MODERN), mcp_task_update},
    {"tasks/cancel", OF(MCP_MODERN), mcp_task_cancel},
};

static void server_run(struct mcp_request *rq)
{
    struct loop_timer *sweeper = rq->mcp->sweeper;
    if (sweeper != NULL && !loop_timer_is_set(sweeper))
        loop_timer_set(sweeper, clock_scaled_ms(SERVER_SWEEP_MS));
    for (size_t i = 0; i < ARRAY_LEN(server_methods); i++) {
        const struct server_method *method = &server_methods[i];
        if (strcmp(method->name, rq->method) != 0 || !(method->eras & OF(rq->era)))
            continue;
        if (rq->mcp->more == NULL || !rq->mcp->more->take(rq))
            method->run(rq);
        return;
    }
    request_fail(rq, RPC_METHOD_NOT_FOUND, "there is no method \"%s\"", rq->method);
}

/* ---- modern requests ------------------------------------------------------------------------- */

static int server_check_meta(const struct rpc_message *m, struct rpc_fault *fault)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    const char *version = rpc_text(meta, META_VERSION);
    if (version == NULL)
        return rpc_fault_set(fault, RPC_INVALID_PARAMS, "params._meta must have \"%s\"",
                             META_VERSION);
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
        return rpc_fault_set(fault, RPC_INVALID_PARAMS, "params._meta must have \"%s\"",
                             META_CAPABILITIES);
    if (strcmp(version, MCP_MODERN_VERSION) == 0)
        return 0;
    rpc_fault_set(fault, RPC_UNSUPPORTED_VERSION,
                  "the version \"%.64s\" is not spoken here without a session", version);
    fault->data = json_pack("{s:o,s:s}", "supported", server_version_list(), "requested", version);
    return -1;
}

/* The message becomes a request that says itself who asks. */
static struct mcp_request *server_modern(struct mcp *mcp, struct mcp_peer *peer,
                                         struct mcp_link *link, struct rpc_message *m)
{
    struct mcp_request *rq = request_new(mcp, peer, m);
    const json_t *meta = json_object_get(rq->params, "_meta");
    rq->era = MCP_MODERN;
    rq->version = MCP_MODERN_VERSION;
    rq->caps = mcp_read_caps(json_object_get(meta, META_CAPABILITIES));
    rq->level = mcp_level_of(rpc_text(meta, META_LEVEL));
    rq->token = json_object_get(meta, "progressToken");
    rq->link = link;
    return rq;
}

static struct mcp_request *server_legacy(struct mcp_peer *peer, struct rpc_message *m)
{
    struct mcp_request *rq = request_new(peer->mcp, peer, m);
    rq->era = MCP_LEGACY;
    rq->version = peer->version;
    rq->caps = peer->caps;
    rq->caps.has_tasks = false;
    rq->token = json_object_get(json_object_get(rq->params, "_meta"), "progressToken");
    return rq;
}

static void server_answer_fault(struct mcp_link *link, int status, const json_t *id,
                                struct rpc_fault *fault)
{
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    rpc_put_error(&out, id, fault);
    json_decref(fault->data);
    link->ops->answer(link, status, buf_str(&out), out.len);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

/* A modern client says so in its headers, or at least in its message. */
static bool server_is_modern(const struct mcp_headers *h, const struct rpc_message *m)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    if (h->version != NULL)
        return server_legacy_version(h->version) == NULL;
    return json_object_get(meta, META_VERSION) != NULL ||
           (m->method != NULL && strcmp(m->method, "server/discover") == 0);
}

static void post_modern(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *h,
                        struct rpc_message *m)
{
    struct rpc_fault fault;
    const char *tool = m->kind == RPC_REQUEST && strcmp(m->method, "tools/call") == 0
                           ? rpc_text(m->params, "name")
                           : NULL;
    if (m->kind == RPC_NOTIFICATION) {
        link->ops->answer(link, 202, NULL, 0);
        return;
    }
    if (m->kind == RPC_RESPONSE) {
        rpc_fault_set(&fault, RPC_INVALID_REQUEST, "no request of this server is open");
        server_answer_fault(link, 400, m->id, &fault);
        return;
    }
    const json_t *schema = tool != NULL && mcp->more != NULL ? mcp->more->schema(mcp, tool) : NULL;
    if (headers_check(h, m, &fault) < 0 || server_check_meta(m, &fault) < 0 ||
        (schema != NULL &&
         headers_check_arguments(h, schema, json_object_get(m->params, "arguments"), &fault) < 0)) {
        server_answer_fault(link, 400, m->id, &fault);
        return;
    }
    struct mcp_request *rq = server_modern(mcp, NULL, link, m);
    rq->tools = arena_strdup(&rq->arena, h->tools != NULL ? h->tools : tools_default(mcp));
    rq->agent = h->agent != NULL ? arena_strdup(&rq->arena, h->agent) : NULL;
    link->request = rq;
    server_run(rq);
}

/* The session that the header names; NULL if the client was answered. */
static struct mcp_peer *post_peer(struct mcp *mcp, struct mcp_link *link,
                                  const struct mcp_headers *h, const json_t *id)
{
    struct rpc_fault fault;
    struct mcp_peer *peer = h->session != NULL ? peer_find(mcp, h->session) : NULL;
    bool is_own = peer != NULL && (peer->agent == NULL) == (h->agent == NULL) &&
                  (peer->agent == NULL || strcmp(peer->agent, h->agent) == 0);
    if (is_own) {
        peer->used_ms = clock_mono_ms();
        return peer;
    }
    if (h->session == NULL)
        rpc_fault_set(&fault, RPC_INVALID_REQUEST,
                      "the header Mcp-Session-Id is missing: initialize first, or speak %s",
                      MCP_MODERN_VERSION);
    else
        rpc_fault_set(&fault, RPC_SESSION_NOT_FOUND,
                      "there is no such session, or it has ended: initialize again");
    server_answer_fault(link, h->session == NULL ? 400 : 404, id, &fault);
    return NULL;
}

static void server_on_notification(struct mcp_peer *peer, const struct rpc_message *m)
{
    if (strcmp(m->method, "notifications/cancelled") != 0)
        return;
    struct mcp_request *rq = peer_request(peer, json_object_get(m->params, "requestId"));
    if (rq != NULL)
        request_drop(rq);
}

/* Copies: the operation of a request that becomes a task goes on when its client has gone. */
static void server_speak_for(struct mcp_request *rq, const struct mcp_peer *peer)
{
    rq->tools = arena_strdup(&rq->arena, peer->tools);
    rq->agent = peer->agent != NULL ? arena_strdup(&rq->arena, peer->agent) : NULL;
    rq->caller = arena_strdup(&rq->arena, peer->name);
}

static void post_legacy_request(struct mcp_peer *peer, struct mcp_link *link, struct rpc_message *m)
{
    struct rpc_fault fault;
    if (peer->n_requests >= MCP_REQUESTS_MAX) {
        rpc_fault_set(&fault, RPC_BUSY, "%d requests of this session are under way: wait for one",
                      MCP_REQUESTS_MAX);
        server_answer_fault(link, 200, m->id, &fault);
        return;
    }
    struct mcp_request *rq = server_legacy(peer, m);
    server_speak_for(rq, peer);
    if (link->takes_events) {
        rq->stream = peer_stream(peer, link);
    } else {
        rq->link = link;
        link->request = rq;
        rq->caps = (struct mcp_caps){0}; /* there is no way to ask */
    }
    server_run(rq);
}

static void post_legacy(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *h,
                        struct rpc_message *m)
{
    struct rpc_fault fault;
    struct mcp_peer *peer;
    if (m->kind == RPC_REQUEST && strcmp(m->method, "initialize") == 0) {
        peer = peer_new(mcp, h->agent, h->tools != NULL ? h->tools : tools_default(mcp), &fault);
        if (peer == NULL) {
            server_answer_fault(link, 503, m->id, &fault);
            return;
        }
        link->session = peer->id;
        struct mcp_request *rq = server_legacy(peer, m);
        rq->link = link;
        link->request = rq;
        server_run(rq);
        return;
    }
    peer = post_peer(mcp, link, h, m->id);
    if (peer == NULL)
        return;
    if (m->kind == RPC_REQUEST) {
        post_legacy_request(peer, link, m);
        return;
    }
    if (m->kind == RPC_NOTIFICATION)
        server_on_notification(peer, m);
    else
        ask_on_response(peer, m);
    link->ops->answer(link, 202, NULL, 0);
}

void mcp_post(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *h,
              struct rpc_message *m, struct rpc_fault *fault)
{
    struct rpc_fault own;
    if (fault == NULL && h->tools != NULL && tools_check_sets(h->tools, &own) < 0)
        fault = &own;
    if (fault != NULL)
        server_answer_fault(link, 400, m->id, fault);
    else if (server_is_modern(h, m))
        post_modern(mcp, link, h, m);
    else
        post_legacy(mcp, link, h, m);
    json_decref(m->root);
}

void mcp_get(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *h)
{
    struct rpc_fault fault;
    uint64_t number, after;
    struct mcp_peer *peer = post_peer(mcp, link, h, NULL);
    if (peer == NULL)
        return;
    if (h->last_event != NULL) {
        struct mcp_stream *s =
            stream_parse_id(h->last_event, &number, &after) ? peer_find_stream(peer, number) : NULL;
        if (s != NULL) {
            link->ops->event(link, NULL, NULL, 0); /* there may be nothing to show */
            stream_resume(s, link, after);
            return;
        }
        rpc_fault_set(&fault, RPC_INVALID_REQUEST,
                      "the stream of this Last-Event-ID is not kept any more");
        server_answer_fault(link, 400, NULL, &fault);
        return;
    }
    if (peer->own != NULL && peer->own->link != NULL) {
        rpc_fault_set(&fault, RPC_INVALID_REQUEST, "the session has a stream of this kind already");
        server_answer_fault(link, 409, NULL, &fault);
        return;
    }
    if (peer->own == NULL)
        peer->own = stream_new(0, strcmp(peer->version, MCP_LEGACY_VERSION) >= 0);
    link->ops->event(link, NULL, NULL, 0);
    stream_resume(peer->own, link, UINT64_MAX); /* what was said before is for whoever has its id */
}

void mcp_delete(struct mcp *mcp, struct mcp_link *link, const struct mcp_headers *h)
{
    struct mcp_peer *peer = post_peer(mcp, link, h, NULL);
    if (peer == NULL)
        return;
    peer_free(peer);
    link->ops->answer(link, 200, NULL, 0);
}

/* ---- a line for each message ----------------------------------------------------------------- */

struct mcp_peer *mcp_open(struct mcp *mcp, struct mcp_link *link, const char *agent,
                          const char *client, const char *tools, struct rpc_fault *fault)
{
    if (tools != NULL && tools_check_sets(tools, fault) < 0)
        return NULL;
    struct mcp_peer *peer = peer_new(mcp, agent, tools != NULL ? tools : tools_default(mcp), fault);
    if (peer == NULL)
        return NULL;
    peer->line = link;
    snprintf(peer->name, sizeof(peer->name), "%s", client != NULL ? client : peer->id);
    return peer;
}

static void line_request(struct mcp_peer *peer, struct rpc_message *m)
{
    struct rpc_fault fault;
    const json_t *meta = json_object_get(m->params, "_meta");
    bool is_modern =
        json_object_get(meta, META_VERSION) != NULL || strcmp(m->method, "server/discover") == 0;
    bool is_early = !is_modern && !peer->is_initialized && strcmp(m->method, "initialize") != 0 &&
                    strcmp(m->method, "ping") != 0;
    int status = 0;
    if (peer->n_requests >= MCP_REQUESTS_MAX)
        status = rpc_fault_set(&fault, RPC_BUSY, "%d requests are under way: wait for one",
                               MCP_REQUESTS_MAX);
    else if (is_early)
        status = rpc_fault_set(&fault, RPC_INVALID_REQUEST,
                               "initialize first, or speak %s with _meta in each request",
                               MCP_MODERN_VERSION);
    else if (is_modern)
        status = server_check_meta(m, &fault);
    if (status < 0) {
        server_answer_fault(peer->line, 200, m->id, &fault);
        return;
    }
    struct mcp_request *rq =
        is_modern ? server_modern(peer->mcp, peer, peer->line, m) : server_legacy(peer, m);
    rq->link = peer->line;
    server_speak_for(rq, peer);
    server_run(rq);
}

void mcp_take_line(struct mcp_peer *peer, const char *text, size_t len)
{
    struct rpc_fault fault;
    struct rpc_message m;
    peer->used_ms = clock_mono_ms();
    if (rpc_read(text, len, &m, &fault) < 0)
        server_answer_fault(peer->line, 200, m.id, &fault);
    else if (m.kind == RPC_REQUEST)
        line_request(peer, &m);
    else if (m.kind == RPC_NOTIFICATION)
        server_on_notification(peer, &m);
    else
        ask_on_response(peer, &m);
    json_decref(m.root);
}

bool mcp_is_busy(const struct mcp_peer *peer)
{
    for (const struct list *node = peer->requests.next; node != &peer->requests;
         node = node->next) {
        const struct mcp_request *rq = CONTAINER_OF(node, struct mcp_request, in_peer);
        if (list_is_empty(&rq->in_listeners))
            return true;
    }
    return false;
}

void mcp_close(struct mcp_peer *peer)
{
    peer_free(peer);
}
