/* The table of operations, written for others. */
#pragma once

#include "ops/op.h"

/* The answer of GET /v1/operations. */
void describe_operations(const struct op *const *table, struct buf *out);
/* An operation that has a tool, as MCP has tools: name, description, inputSchema, annotations. */
struct json_out;
void describe_tool(const struct op *op, struct json_out *json);
/* Whether it belongs to one of these sets: "core,notebook". */
bool op_is_in_sets(const struct op *op, const char *sets);
/* The same as OpenAPI 3.1. */
void describe_openapi(const struct op *const *table, struct buf *out);
