/* Who is told of changes: legacy sessions by their own stream, modern clients by a request that
 * stays open. Daemon, on the loop. */
#include "mcp/listen.h"

#include "mcp/peer.h"
#include "mcp/resources.h"
#include "mcp/watch.h"

#include <stdio.h>

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* False if the request was answered so: what is watched is kept. */
static bool listen_check_uri(struct mcp_request *rq, const char *uri)
{
    if (uri != NULL && strlen(uri) <= RESOURCES_URI_MAX)
        return true;
    request_fail(rq, RPC_INVALID_PARAMS, "a uri must be a text of at most %d bytes",
                 RESOURCES_URI_MAX);
    return false;
}

/* ---- legacy ---------------------------------------------------------------------------------- */

static void listen_refuse(struct mcp_request *rq, const char *uri, const char *why)
{
    request_fail_with(rq, rq->era == MCP_LEGACY ? RPC_RESOURCE_NOT_FOUND : RPC_INVALID_PARAMS,
                      json_pack("{s:s}", "uri", uri), "%s", why);
}

static void listen_on_peer_change(void *context, const char *uri)
{
    peer_notify(context, "notifications/resources/updated", json_pack("{s:s}", "uri", uri));
}

void listen_subscribe(struct mcp_request *rq)
{
    struct mcp_peer *peer = rq->peer;
    const char *uri = rpc_text(rq->params, "uri");
    if (!listen_check_uri(rq, uri))
        return;
    if (map_get(&peer->watched, uri) == NULL) {
        if (peer->n_watched >= MCP_WATCHED_MAX) {
            request_fail(rq, RPC_BUSY, "%d resources are watched, which is the limit: unsubscribe",
                         MCP_WATCHED_MAX);
            return;
        }
        const char *why;
        struct mcp_watch *watch =
            watch_new(rq->mcp, rq->agent, uri, listen_on_peer_change, peer, &why);
        if (watch == NULL) {
            listen_refuse(rq, uri, why);
            return;
        }
        map_set(&peer->watched, uri, watch);
        peer->n_watched++;
    }
    request_reply_json(rq, json_object());
}

void listen_unsubscribe(struct mcp_request *rq)
{
    struct mcp_peer *peer = rq->peer;
    const char *uri = rpc_text(rq->params, "uri");
    struct mcp_watch *watch = uri != NULL ? map_remove(&peer->watched, uri) : NULL;
    if (watch != NULL && --peer->n_watched == 0)
        map_free(&peer->watched); /* most clients watch nothing */
    watch_end(watch);
    request_reply_json(rq, json_object());
}

/* ---- modern ---------------------------------------------------------------------------------- */

/* One resource of a listening request. */
struct listen_watched {
    struct list in_request;
    struct mcp_watch *watch;
    char *uri;
};

static void listen_send(struct mcp_request *rq, const char *method, json_t *params)
{
    json_object_set_new(params, "_meta", json_pack("{s:O}", META_SUBSCRIPTION, rq->id));
    request_notify(rq, method, params);
}

static void listen_on_change(void *context, const char *uri)
{
    listen_send(context, "notifications/resources/updated", json_pack("{s:s}", "uri", uri));
}

static void listen_on_end(struct mcp_request *rq)
{
    LIST_EACH(&rq->watches, node) {
        struct listen_watched *w = CONTAINER_OF(node, struct listen_watched, in_request);
        watch_end(w->watch);
        list_remove(&w->in_request);
        free(w->uri);
        free(w);
    }
}

/* What of the wishes is honoured: lists that can change, and resources. */
static json_t *listen_agree(const struct mcp_request *rq, const json_t *wishes)
{
    json_t *agreed = json_object();
    const json_t *uris = json_object_get(wishes, "resourceSubscriptions");
    if (rq->mcp->more != NULL && json_is_true(json_object_get(wishes, "toolsListChanged")))
        json_object_set_new(agreed, "toolsListChanged", json_true());
    if (rq->mcp->more != NULL && json_is_true(json_object_get(wishes, "promptsListChanged")))
        json_object_set_new(agreed, "promptsListChanged", json_true());
    if (json_is_array(uris))
        json_object_set(agreed, "resourceSubscriptions", (json_t *)(uintptr_t)uris);
    return agreed;
}

/* News of it come later, from the loop. False if the request was answered so. */
static bool listen_watch(struct mcp_request *rq, const char *uri)
{
    const char *why;
    struct mcp_watch *watch = watch_new(rq->mcp, rq->agent, uri, listen_on_change, rq, &why);
    if (watch == NULL) {
        listen_refuse(rq, uri, why);
        return false;
    }
    struct listen_watched *w = mem_alloc(sizeof(*w));
    w->uri = mem_strdup(uri);
    w->watch = watch;
    list_append(&rq->watches, &w->in_request);
    return true;
}

void listen_begin(struct mcp_request *rq)
{
    struct mcp *mcp = rq->mcp;
    const json_t *wishes = json_object_get(rq->params, "notifications");
    const json_t *uris = json_object_get(wishes, "resourceSubscriptions");
    json_t *uri;
    size_t i;
    if (!json_is_object(wishes)) {
        request_fail(rq, RPC_INVALID_PARAMS, "notifications must say what to listen for");
        return;
    }
    if (mcp->has.listeners >= MCP_LISTENERS_MAX || json_array_size(uris) > MCP_WATCHED_MAX) {
        request_fail(rq, RPC_BUSY,
                     "at most %d subscriptions are open at once, each with at most %d resources",
                     MCP_LISTENERS_MAX, MCP_WATCHED_MAX);
        return;
    }
    if (!rq->link->takes_events) {
        request_fail(rq, RPC_INVALID_REQUEST, "Accept: text/event-stream is needed to listen");
        return;
    }
    json_array_foreach(uris, i, uri) {
        if (!listen_check_uri(rq, json_string_value(uri)))
            return;
    }
    rq->on_end = listen_on_end;
    json_array_foreach(uris, i, uri) {
        if (!listen_watch(rq, json_string_value(uri)))
            return;
    }
    mcp->has.listeners++;
    list_append(&mcp->listeners, &rq->in_listeners);
    rq->filter = listen_agree(rq, wishes);
    request_shed(rq);
    listen_send(rq, "notifications/subscriptions/acknowledged",
                json_pack("{s:O}", "notifications", rq->filter));
}

void listen_end_all(struct mcp *mcp)
{
    LIST_EACH(&mcp->listeners, node) {
        struct mcp_request *rq = CONTAINER_OF(node, struct mcp_request, in_listeners);
        request_reply_json(rq, json_pack("{s:{s:O}}", "_meta", META_SUBSCRIPTION, rq->id));
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

void listen_tell_list(struct mcp *mcp, const char *what)
{
    char wish[64], method[64];
    snprintf(wish, sizeof(wish), "%sListChanged", what);
    snprintf(method, sizeof(method), "notifications/%s/list_changed", what);
    LIST_EACH(&mcp->listeners, node) {
        struct mcp_request *rq = CONTAINER_OF(node, struct mcp_request, in_listeners);
        if (json_object_get(rq->filter, wish) != NULL)
            listen_send(rq, method, json_object());
    }
    LIST_EACH(&mcp->peers, node) {
        struct mcp_peer *peer = CONTAINER_OF(node, struct mcp_peer, in_all);
        if (peer->is_initialized)
            peer_notify(peer, method, json_object());
    }
}
