/* Checks of headers against bodies. Daemon; owns nothing. */
#include "mcp/headers.h"

#include "wire/base64.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ENCODED_START "=?base64?"
#define ENCODED_END "?="

enum { HEADER_NAME_MAX = 128 };

static const struct {
    const char *method, *member;
} headers_names[] = {
    {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
    {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
};

/* The member of params that Mcp-Name repeats; NULL if the method has none. */
static const char *headers_name_member(const char *method)
{
    for (size_t i = 0; i < ARRAY_LEN(headers_names); i++)
        if (strcmp(headers_names[i].method, method) == 0)
            return headers_names[i].member;
    return NULL;
}

bool headers_decode(const char *value, struct buf *out)
{
    size_t len = strlen(value), start = strlen(ENCODED_START), end = strlen(ENCODED_END);
    bool is_encoded = len >= start + end && strncmp(value, ENCODED_START, start) == 0 &&
                      strcmp(value + len - end, ENCODED_END) == 0;
    if (!is_encoded)
        return buf_append_str(out, value);
    return strpbrk(value, "\r\n") == NULL && base64_decode(out, value + start, len - start - end);
}

static int headers_compare(const char *header, const char *value, const char *wanted,
                           struct rpc_fault *fault)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    if (value == NULL)
        return rpc_fault_set(fault, RPC_HEADER_MISMATCH, "the header %s is missing", header);
    if (!headers_decode(value, &text))
        return rpc_fault_set(fault, RPC_HEADER_MISMATCH, "the header %s is no valid base64",
                             header);
    if (strlen(wanted) != text.len || memcmp(wanted, buf_str(&text), text.len) != 0)
        return rpc_fault_set(fault, RPC_HEADER_MISMATCH,
                             "the header %s says another thing than the body", header);
    return 0;
}

int headers_check(const struct mcp_headers *headers, const struct rpc_message *message,
                  struct rpc_fault *fault)
{
    const json_t *meta = json_object_get(message->params, "_meta");
    const char *version = rpc_text(meta, "io.modelcontextprotocol/protocolVersion");
    const char *member = headers_name_member(message->method);
    const char *name = member != NULL ? rpc_text(message->params, member) : NULL;
    if (headers->version == NULL)
        return rpc_fault_set(fault, RPC_HEADER_MISMATCH,
                             "the header MCP-Protocol-Version is missing");
    if (version != NULL &&
        headers_compare("MCP-Protocol-Version", headers->version, version, fault) < 0)
        return -1;
    if (strcmp(headers->version, MCP_MODERN_VERSION) != 0)
        return 0; /* what else it should have is not known: the version is refused later */
    if (headers_compare("Mcp-Method", headers->method, message->method, fault) < 0)
        return -1;
    return name != NULL ? headers_compare("Mcp-Name", headers->name, name, fault) : 0;
}

/* How a value stands in a header. */
static const char *headers_value(const json_t *value, char text[32])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (!json_is_integer(value))
        return NULL;
    snprintf(text, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return text;
}

int headers_check_arguments(const struct mcp_headers *headers, const json_t *schema,
                            const json_t *arguments, struct rpc_fault *fault)
{
    const char *key;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), key, property) {
        const char *suffix = rpc_text(property, "x-mcp-header");
        char name[HEADER_NAME_MAX], number[32];
        const char *wanted = headers_value(json_object_get(arguments, key), number);
        if (suffix == NULL || wanted == NULL)
            continue;
        snprintf(name, sizeof(name), "mcp-param-%s", suffix);
        for (char *c = name; *c != '\0'; c++)
            *c = (char)tolower((unsigned char)*c);
        if (headers_compare(name, headers->find(headers->context, name), wanted, fault) < 0)
            return -1;
    }
    return 0;
}
