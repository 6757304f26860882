/* Clients that are known beyond one request. */
#pragma once

#include "mcp/request.h"

/* NULL with the fault if there are too many. */
struct mcp_peer *peer_new(struct mcp *mcp, const char *agent, const char *tools,
                          struct rpc_fault *fault);
void peer_free(struct mcp_peer *peer);                       /* takes back all that it asked for */
struct mcp_peer *peer_find(struct mcp *mcp, const char *id); /* NULL if there is none */
/* Its request with this id; NULL if there is none. */
struct mcp_request *peer_request(struct mcp_peer *peer, const json_t *id);
/* A stream for a request of a session over HTTP, shown to the link. */
struct mcp_stream *peer_stream(struct mcp_peer *peer, struct mcp_link *link);
struct mcp_stream *peer_find_stream(struct mcp_peer *peer, uint64_t number);
/* Says something that no request asked for. The reference is taken. */
void peer_notify(struct mcp_peer *peer, const char *method, json_t *params);
/* Ends sessions that are not used. */
void peer_sweep(struct mcp *mcp);
