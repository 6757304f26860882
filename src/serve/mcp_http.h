/* The Model Context Protocol over HTTP at /mcp, and as lines at /mcp/stdio. */
#pragma once

#include "serve/conn.h"

extern const struct conn_endpoint *const mcp_endpoints[]; /* NULL-terminated */
extern const struct conn_endpoint mcp_line_endpoint;

/* Where a client says which sets of tools it wants, "tools" in the query; NULL if it does not. */
const char *mcp_http_tools(const struct conn *c);
