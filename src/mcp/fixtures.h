/* What the conformance suite of the protocol expects a server to offer. Off unless the daemon is
 * started with --mcp-fixtures. */
#pragma once

#include "mcp/request.h"

extern const struct mcp_more fixtures;
