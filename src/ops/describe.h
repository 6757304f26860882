/* The table of operations, written for others. */
#pragma once

#include "ops/op.h"

/* The answer of GET /v1/operations. */
void describe_operations(const struct op *const *table, struct buf *out);
/* The same as OpenAPI 3.1. */
void describe_openapi(const struct op *const *table, struct buf *out);
