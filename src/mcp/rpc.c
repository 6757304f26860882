/* Messages of JSON-RPC in and out. Daemon, on the loop; owns nothing. */
#include "mcp/rpc.h"

#include <stdarg.h>
#include <stdio.h>

int rpc_fault_set(struct rpc_fault *fault, enum rpc_code code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fault->code = code;
    fault->data = NULL;
    vsnprintf(fault->message, sizeof(fault->message), fmt, args);
    va_end(args);
    return -1;
}

const char *rpc_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes the reference. */
static int rpc_take(json_t *root, struct rpc_message *ret, struct rpc_fault *fault)
{
    *ret = (struct rpc_message){.root = root};
    const char *version = rpc_text(root, "jsonrpc");
    json_t *id = json_object_get(root, "id");
    if (json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= RPC_ID_MAX))
        ret->id = id;
    if (version == NULL || strcmp(version, "2.0") != 0)
        return rpc_fault_set(fault, RPC_INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\"");
    if (id != NULL && ret->id == NULL && !(json_is_null(id) && json_object_get(root, "error")))
        return rpc_fault_set(fault, RPC_INVALID_REQUEST,
                             "\"id\" must be a whole number or a text of at most %d bytes",
                             RPC_ID_MAX);
    json_t *method = json_object_get(root, "method");
    if (method == NULL) {
        ret->kind = RPC_RESPONSE;
        ret->result = json_object_get(root, "result");
        ret->error = json_object_get(root, "error");
        if ((ret->result == NULL) == (ret->error == NULL))
            return rpc_fault_set(fault, RPC_INVALID_REQUEST,
                                 "a message has a method, or else a result or an error");
        if (ret->id == NULL && ret->error == NULL)
            return rpc_fault_set(fault, RPC_INVALID_REQUEST,
                                 "a response has the id of its request");
        return 0;
    }
    if (!json_is_string(method) || json_string_length(method) > RPC_METHOD_MAX)
        return rpc_fault_set(fault, RPC_INVALID_REQUEST,
                             "\"method\" must be a text of at most %d bytes", RPC_METHOD_MAX);
    ret->kind = ret->id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    ret->method = json_string_value(method);
    ret->params = json_object_get(root, "params");
    if (ret->params != NULL && !json_is_object(ret->params))
        return rpc_fault_set(fault, RPC_INVALID_REQUEST, "\"params\" must be an object");
    return 0;
}

int rpc_read(const char *text, size_t len, struct rpc_message *ret, struct rpc_fault *fault)
{
    *ret = (struct rpc_message){0};
    size_t blank = strspn(text, " \t\r\n");
    if (len > RPC_MESSAGE_MAX)
        return rpc_fault_set(fault, RPC_INVALID_REQUEST,
                             "the message has %zu bytes, more than %zu: put large data into files",
                             len, RPC_MESSAGE_MAX);
    if (blank < len && text[blank] == '[')
        return rpc_fault_set(fault, RPC_INVALID_REQUEST,
                             "batches are not taken: send one message at a time");
    json_t *root;
    struct err e;
    if (json_read_object(text, len, &root, &e) < 0)
        return rpc_fault_set(fault, RPC_PARSE_ERROR, "this is no JSON object: %.400s", e.message);
    return rpc_take(root, ret, fault);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void rpc_put_head(struct buf *out, const json_t *id)
{
    struct json_out json = JSON_OUT(out);
    buf_append_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id == NULL)
        json_put_null(&json);
    else
        json_put_value(&json, id);
}

void rpc_put_result_head(struct buf *out, const json_t *id)
{
    rpc_put_head(out, id);
    buf_append_str(out, ",\"result\":");
}

void rpc_put_error(struct buf *out, const json_t *id, const struct rpc_fault *fault)
{
    rpc_put_head(out, id);
    buf_append_str(out, ",\"error\":");
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_member_int(&json, "code", fault->code);
    json_put_member_str(&json, "message", fault->message);
    if (fault->data != NULL) {
        json_put_key(&json, "data");
        json_put_value(&json, fault->data);
    }
    json_put_object_end(&json);
    buf_append_char(out, '}');
}

void rpc_put_call(struct buf *out, const char *id, const char *method, const json_t *params)
{
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_member_str(&json, "jsonrpc", "2.0");
    if (id != NULL)
        json_put_member_str(&json, "id", id);
    json_put_member_str(&json, "method", method);
    if (params != NULL) {
        json_put_key(&json, "params");
        json_put_value(&json, params);
    }
    json_put_object_end(&json);
}
