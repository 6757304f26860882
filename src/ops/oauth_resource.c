/* Where clients get tokens for this server (RFC 9728): for who was refused and has neither key nor
 * token. Daemon; on the loop. */
#include "ops/ops.h"
#include "policy/policy.h"
#include "wire/json.h"

static const struct op_param oauth_resource_params[] = {{0}};

static bool is_url(const char *s)
{
    return strncmp(s, "https://", 8) == 0 || strncmp(s, "http://", 7) == 0;
}

static bool is_scope_before(const struct config_oauth *oauth, size_t issuer, const char *scope)
{
    for (size_t i = 0; i < issuer; i++)
        for (const char *const *s = oauth->issuers[i].scopes; *s != NULL; s++)
            if (strcmp(*s, scope) == 0)
                return true;
    return false;
}

static void put_scopes(struct json_out *json, const struct config_oauth *oauth)
{
    json_put_key(json, "scopes_supported");
    json_put_array(json);
    for (size_t i = 0; i < oauth->n_issuers; i++)
        for (const char *const *s = oauth->issuers[i].scopes; *s != NULL; s++)
            if (!is_scope_before(oauth, i, *s))
                json_put_str(json, *s);
    json_put_array_end(json);
}

static void oauth_resource_answer(struct call *call, const char *path)
{
    struct err e;
    const struct config *config = call->policy->config;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX), resource = BUF_INIT(4 * KIB);
    struct json_out json = JSON_OUT(&out);
    if (call->policy->oauth == NULL) {
        err_set(&e, ERR_NOT_FOUND, "this server takes no tokens, only its key");
        err_advise(&e, "Send Authorization: Bearer KEY. `oauth` in the configuration names issuers "
                       "whose tokens are taken.");
        call_fail(call, &e);
        return;
    }
    buf_printf(&resource, "%s%s", oauth_resource(config, call->host, &call->arena), path);
    json_put_object(&json);
    json_put_member_str(&json, "resource", buf_str(&resource));
    json_put_member_str(&json, "resource_name", "Cella");
    /* Issuers that are no URL, such as another program of this machine, give no tokens. */
    const struct config_oauth *oauth = &config->oauth;
    json_put_key(&json, "authorization_servers");
    json_put_array(&json);
    for (size_t i = 0; i < oauth->n_issuers; i++)
        if (is_url(oauth->issuers[i].issuer))
            json_put_str(&json, oauth->issuers[i].issuer);
    json_put_array_end(&json);
    put_scopes(&json, oauth);
    json_put_key(&json, "bearer_methods_supported");
    json_put_array(&json);
    json_put_str(&json, "header");
    json_put_array_end(&json);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void run_server(struct call *call)
{
    oauth_resource_answer(call, "");
}

static void run_mcp(struct call *call)
{
    oauth_resource_answer(call, "/mcp");
}

static const struct op_member oauth_resource_members[] = {
    {"resource", OP_TEXT, .is_always = true, .doc = "What tokens must be made for."},
    {"resource_name", OP_TEXT, .is_always = true, .doc = "Cella."},
    {"authorization_servers", OP_TEXT_LIST, .is_always = true, .doc = "Who makes tokens."},
    {"scopes_supported", OP_TEXT_LIST, .is_always = true, .doc = "What tokens must have."},
    {"bearer_methods_supported", OP_TEXT_LIST, .is_always = true, .doc = "header."},
    {0},
};
static const struct op_shape shape_resource = {"oauth_resource", oauth_resource_members,
                                               "Where clients get tokens, as RFC 9728 has it."};

const struct op op_oauth_resource = {
    .name = "oauth.resource",
    .method = "GET",
    .path = OAUTH_METADATA_PATH,
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = oauth_resource_params,
    .doc = "Where clients get tokens for this server, if the configuration names issuers.",
    .run = run_server,
    .result = &shape_resource,
    .errors = OP_ERR(NOT_FOUND),
    .example = "{}",
};

const struct op op_oauth_resource_mcp = {
    .name = "oauth.resource_mcp",
    .method = "GET",
    .path = OAUTH_METADATA_PATH "/mcp",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = oauth_resource_params,
    .doc = "The same for the MCP endpoint.",
    .run = run_mcp,
    .result = &shape_resource,
    .errors = OP_ERR(NOT_FOUND),
    .example = "{}",
};
