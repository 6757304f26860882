/* Messages of MCP clients, their headers, the state that they bring back and the URIs that they
 * name: whatever comes is told apart or refused with a reason, and no forged state is opened. */
#include "base/utf8.h"
#include "mcp/headers.h"
#include "mcp/resources.h"
#include "mcp/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_message(const struct rpc_message *m)
{
    require(m->root != NULL);
    if (m->kind == RPC_RESPONSE) {
        require((m->result == NULL) != (m->error == NULL));
        return;
    }
    require(m->method != NULL && strlen(m->method) <= RPC_METHOD_MAX);
    require((m->id != NULL) == (m->kind == RPC_REQUEST));
    require(m->params == NULL || json_is_object(m->params));
}

/* What is no URI of ours is refused with a reason; the parts of others are text without slashes at
 * the wrong place. */
static void check_uri(const char *text)
{
    struct resources_uri uri;
    const char *why = NULL;
    if (!resources_parse(text, &uri, &why)) {
        require(why != NULL && why[0] != '\0');
        return;
    }
    require(uri.session[0] != '\0' && utf8_is_valid(uri.session, strlen(uri.session)));
    require(uri.file == NULL || utf8_is_valid(uri.file, strlen(uri.file)));
    require(uri.rest[0] == '\0' || uri.rest[0] == '/' || uri.file != NULL);
}

static const char *no_header(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seal seal;
    struct rpc_message m;
    struct rpc_fault fault;
    const char *why;
    _buf_ struct buf text = BUF_INIT(16 * MIB), decoded = BUF_INIT(16 * MIB);
    buf_append(&text, data, size);
    struct mcp_headers headers = {.version = MCP_MODERN_VERSION,
                                  .method = buf_str(&text),
                                  .name = buf_str(&text),
                                  .find = no_header};
    if (rpc_read(buf_str(&text), text.len, &m, &fault) == 0) {
        check_message(&m);
        if (m.kind == RPC_REQUEST)
            headers_check(&headers, &m, &fault);
    } else {
        require(fault.code != 0 && fault.message[0] != '\0');
        _buf_ struct buf out = BUF_INIT(64 * KIB);
        rpc_put_error(&out, m.id, &fault);
        json_t *back = json_loads(buf_str(&out), 0, NULL);
        require(back != NULL);
        json_decref(back);
    }
    json_decref(m.root);
    headers_decode(buf_str(&text), &decoded);
    if (seal.key[0] == 0 && seal.key[1] == 0)
        seal_init(&seal);
    require(seal_open(&seal, &(struct seal_bond){.method = "m"}, buf_str(&text), 1, &why) == NULL);
    check_uri(buf_str(&text));
    return 0;
}
