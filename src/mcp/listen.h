/* Subscriptions: what clients are told without having asked for it just now. */
#pragma once

#include "mcp/request.h"

void listen_subscribe(struct mcp_request *rq);   /* legacy: resources/subscribe */
void listen_unsubscribe(struct mcp_request *rq); /* and its opposite */
void listen_begin(struct mcp_request *rq);       /* modern: subscriptions/listen */
void listen_end_all(struct mcp *mcp);            /* the daemon stops */

/* A list has changed: "tools", "prompts" or "resources". */
void listen_tell_list(struct mcp *mcp, const char *what);
