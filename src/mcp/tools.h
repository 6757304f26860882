/* tools/list and tools/call: operations of the table that belong to the client's sets of tools. */
#pragma once

#include "mcp/request.h"

/* The sets for a client that names none, as the configuration says now. */
const char *tools_default(const struct mcp *mcp);
/* Every name in the list is a set of tools. */
int tools_check_sets(const char *sets, struct rpc_fault *fault);
void tools_list(struct mcp_request *rq);
void tools_call(struct mcp_request *rq);
