/* What the headers of a modern request over HTTP repeat of its body, for proxies that route it. */
#pragma once

#include "mcp/mcp.h"

/* Whether version, method and name are there and say what the body says. */
int headers_check(const struct mcp_headers *headers, const struct rpc_message *message,
                  struct rpc_fault *fault);
/* Likewise the arguments that a tool's schema marks with "x-mcp-header". */
int headers_check_arguments(const struct mcp_headers *headers, const json_t *schema,
                            const json_t *arguments, struct rpc_fault *fault);
/* A header's value as text: =?base64?…?= is decoded. False: it is broken. */
bool headers_decode(const char *value, struct buf *out);
