/* Clients: legacy sessions over HTTP, and those on standard input. Daemon, on the loop; owns them
 * and their streams. */
#include "mcp/peer.h"

#include "base/clock.h"
#include "base/ids.h"
#include "mcp/watch.h"

#include <stdio.h>

struct mcp_peer *peer_new(struct mcp *mcp, const char *agent, const char *tools,
                          struct rpc_fault *fault)
{
    if (mcp->has.sessions >= MCP_PEERS_MAX)
        peer_sweep(mcp);
    if (mcp->has.sessions >= MCP_PEERS_MAX) {
        rpc_fault_set(fault, RPC_BUSY,
                      "%d clients are connected, which is the limit: end a session (DELETE /mcp) "
                      "or try again later",
                      MCP_PEERS_MAX);
        return NULL;
    }
    struct mcp_peer *peer = mem_alloc(sizeof(*peer));
    peer->mcp = mcp;
    peer->agent = agent != NULL ? mem_strdup(agent) : NULL;
    peer->tools = mem_strdup(tools);
    peer->version = MCP_LEGACY_VERSION;
    peer->level = MCP_LEVEL_NONE;
    peer->used_ms = clock_mono_ms();
    ids_token(peer->id);
    snprintf(peer->name, sizeof(peer->name), "%s", peer->id);
    list_init(&peer->requests);
    list_init(&peer->streams);
    list_append(&mcp->peers, &peer->in_all);
    map_set(&mcp->peers_by_id, peer->id, peer);
    mcp->has.sessions++;
    return peer;
}

void peer_free(struct mcp_peer *peer)
{
    struct list *node;
    map_remove(&peer->mcp->peers_by_id, peer->id);
    list_remove(&peer->in_all);
    peer->mcp->has.sessions--;
    while ((node = list_first(&peer->requests)) != NULL)
        request_drop(CONTAINER_OF(node, struct mcp_request, in_peer));
    watch_end_all(&peer->watched);
    stream_free(peer->own);
    while ((node = list_first(&peer->streams)) != NULL)
        stream_free(CONTAINER_OF(node, struct mcp_stream, in_peer));
    free(peer->agent);
    free(peer->tools);
    free(peer);
}

struct mcp_peer *peer_find(struct mcp *mcp, const char *id)
{
    struct mcp_peer *peer = map_get(&mcp->peers_by_id, id);
    return peer != NULL && peer->line == NULL ? peer : NULL;
}

struct mcp_request *peer_request(struct mcp_peer *peer, const json_t *id)
{
    LIST_EACH(&peer->requests, node) {
        struct mcp_request *rq = CONTAINER_OF(node, struct mcp_request, in_peer);
        if (json_equal(rq->id, id))
            return rq;
    }
    return NULL;
}

struct mcp_stream *peer_stream(struct mcp_peer *peer, struct mcp_link *link)
{
    bool primes = strcmp(peer->version, MCP_LEGACY_VERSION) >= 0;
    struct mcp_stream *s = stream_new(++peer->n_streams_made, primes);
    /* When there are too many: a stream that has nothing to show goes, else the oldest that is over
     * and that nobody reads. */
    struct mcp_stream *oldest = NULL;
    size_t n_streams = 0;
    LIST_EACH(&peer->streams, node) {
        struct mcp_stream *other = CONTAINER_OF(node, struct mcp_stream, in_peer);
        bool is_idle = other->over_ms != 0 && other->link == NULL;
        n_streams++;
        if (is_idle && (oldest == NULL || (other->n_events == 0 && oldest->n_events > 0)))
            oldest = other;
    }
    if (n_streams >= MCP_STREAMS_MAX && oldest != NULL)
        stream_free(oldest);
    list_append(&peer->streams, &s->in_peer);
    stream_attach(s, link);
    return s;
}

struct mcp_stream *peer_find_stream(struct mcp_peer *peer, uint64_t number)
{
    if (peer->own != NULL && number == 0)
        return peer->own;
    LIST_EACH(&peer->streams, node) {
        struct mcp_stream *s = CONTAINER_OF(node, struct mcp_stream, in_peer);
        if (s->number == number)
            return s;
    }
    return NULL;
}

void peer_notify(struct mcp_peer *peer, const char *method, json_t *params)
{
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    rpc_put_call(&out, NULL, method, params);
    json_decref(params);
    if (peer->line != NULL)
        peer->line->ops->event(peer->line, NULL, buf_str(&out), out.len);
    else if (peer->own != NULL)
        stream_put(peer->own, buf_str(&out), out.len);
}

/* Streams whose client had time enough to take them up again. */
static void peer_sweep_streams(struct mcp_peer *peer, uint64_t now_ms)
{
    LIST_EACH(&peer->streams, node) {
        struct mcp_stream *s = CONTAINER_OF(node, struct mcp_stream, in_peer);
        if (s->over_ms != 0 && s->link == NULL &&
            now_ms - s->over_ms >= clock_scaled_ms(MCP_STREAM_KEPT_MS))
            stream_free(s);
    }
}

void peer_sweep(struct mcp *mcp)
{
    uint64_t now_ms = clock_mono_ms();
    LIST_EACH(&mcp->peers, node) {
        struct mcp_peer *peer = CONTAINER_OF(node, struct mcp_peer, in_all);
        bool is_read = peer->own != NULL && peer->own->link != NULL;
        if (peer->line == NULL && peer->n_requests == 0 && !is_read &&
            now_ms - peer->used_ms >= clock_scaled_ms(MCP_PEER_IDLE_MS))
            peer_free(peer);
        else
            peer_sweep_streams(peer, now_ms);
    }
}
