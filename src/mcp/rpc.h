/* JSON-RPC 2.0 as MCP uses it: one message at a time, checked, and the envelopes of answers. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "wire/json.h"

#include <jansson.h>

/* Bytes of one message, either way: what is larger belongs into files. */
#define RPC_MESSAGE_MAX (4 * MIB)
enum { RPC_ID_MAX = 256, RPC_METHOD_MAX = 128 };

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_BUSY = -32000, /* a limit of ours is reached */
    RPC_SESSION_NOT_FOUND = -32001,
    RPC_RESOURCE_NOT_FOUND = -32002, /* of clients before 2026-07-28 */
    RPC_HEADER_MISMATCH = -32020,
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

/* Borrowed from `root`, which the reader's caller owns. */
struct rpc_message {
    enum rpc_kind kind;
    json_t *root;
    json_t *id; /* a text or a whole number; NULL for a notification, or an answer to nothing */
    const char *method; /* of requests and notifications */
    json_t *params;     /* an object; NULL if none */
    json_t *result;     /* of responses: this or `error` */
    json_t *error;
};

/* Why a message is not taken. */
struct rpc_fault {
    enum rpc_code code;
    char message[640];
    json_t *data; /* owned; NULL if none */
};

/* 0, or -1 with the fault. `ret->root` is the caller's also then, so that the answer can have the
 * id; NULL if there was no JSON. */
int rpc_read(const char *text, size_t len, struct rpc_message *ret, struct rpc_fault *fault);

int rpc_fault_set(struct rpc_fault *fault, enum rpc_code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* {"jsonrpc":"2.0","id":…,"error":{…}}. Without an id it is null. */
void rpc_put_error(struct buf *out, const json_t *id, const struct rpc_fault *fault);
/* {"jsonrpc":"2.0","id":…,"result": — the caller writes the result and the closing brace. */
void rpc_put_result_head(struct buf *out, const json_t *id);
/* {"jsonrpc":"2.0","method":…,"params":…}; with an id it is a request of ours. */
void rpc_put_call(struct buf *out, const char *id, const char *method, const json_t *params);

/* A copy of the member `name` of an object, or NULL. */
const char *rpc_text(const json_t *object, const char *name);
