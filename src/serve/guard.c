/* Who may ask: the peer's user on the UNIX socket, key or token and Host on TCP. Daemon; on the
 * loop. */
#include "serve/guard.h"

#include "base/clock.h"
#include "policy/keys.h"
#include "policy/policy.h"

#include <arpa/inet.h>
#include <strings.h>

bool guard_is_loopback_host(const char *host)
{
    char name[64];
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (len >= sizeof(name) || len > strlen(host))
        return false;
    const char *port = host + len;
    size_t digits = *port == ':' ? strspn(port + 1, "0123456789") : 0;
    if (*port != '\0' && (digits < 1 || digits > 5 || port[1 + digits] != '\0'))
        return false;
    memcpy(name, host, len);
    name[len] = '\0';
    struct in_addr v4;
    if (inet_pton(AF_INET, name, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0;
}

/* Of an authority, "" if it names none. */
static const char *port_of(const char *authority)
{
    const char *colon = strrchr(authority, ':');
    return colon != NULL && strchr(colon, ']') == NULL ? colon + 1 : "";
}

/* On loopback the names may differ (localhost, 127.0.0.1) but not the port: what listens on another
 * one is another program, perhaps another user's. */
static bool is_own_origin(const char *origin, const char *host, bool is_loopback)
{
    const char *authority = strstr(origin, "://");
    if (authority == NULL)
        return false;
    authority += 3;
    if (host == NULL)
        return false;
    return is_loopback
               ? guard_is_loopback_host(authority) && strcmp(port_of(authority), port_of(host)) == 0
               : strcasecmp(authority, host) == 0;
}

static const char *guard_listed_origin(const struct policy *policy, const char *origin)
{
    const struct config_origins *listed = policy != NULL ? &policy->config->origins : NULL;
    for (size_t i = 0; listed != NULL && i < listed->n; i++)
        if (strcmp(listed->names[i], origin) == 0)
            return origin;
    return NULL;
}

bool guard_is_preflight(const struct http1_parser *request)
{
    return strcmp(http1_method(request), "OPTIONS") == 0 &&
           http1_header(request, "access-control-request-method", NULL) != NULL;
}

/* The key is sent by the script, so that nothing is allowed that a browser would send by itself. */
const char guard_preflight_headers[] =
    "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"
    "Access-Control-Allow-Headers: Accept, Authorization, Cella-Agent, Content-Type, "
    "If-None-Match, If-Range, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
    "Mcp-Session-Id, Prefer, Range\r\n"
    "Access-Control-Allow-Private-Network: true\r\n"
    "Access-Control-Max-Age: 600\r\n";

int guard_check_browser(const struct http1_parser *request, bool is_loopback,
                        const struct policy *policy, const char **ret_origin, struct err *e)
{
    const char *host = http1_header(request, "host", NULL);
    if (is_loopback && host != NULL && !guard_is_loopback_host(host)) {
        err_set(e, ERR_FORBIDDEN, "the Host header names another machine than this one");
        return err_advise(e, "Use http://127.0.0.1:PORT or http://localhost:PORT.");
    }
    const char *origin = http1_header(request, "origin", NULL);
    *ret_origin = NULL;
    if (origin == NULL || is_own_origin(origin, host, is_loopback))
        return 0;
    *ret_origin = guard_listed_origin(policy, origin);
    if (*ret_origin != NULL)
        return 0;
    err_set(e, ERR_FORBIDDEN, "requests from pages of another origin are not taken");
    return err_advise(e, "Call from a program, or list the page's origin in the configuration: "
                         "allowed_origins.");
}

/* ---- key and tokens -------------------------------------------------------------------------- */

void guard_take_caller(const struct http1_parser *request, struct guard_caller *ret_caller)
{
    *ret_caller = (struct guard_caller){.agent = http1_header(request, "cella-agent", NULL)};
}

static int guard_refuse_key(const char *given, bool takes_tokens, struct err *e)
{
    const char *what = takes_tokens ? "API key or token" : "API key";
    if (given == NULL)
        err_set(e, ERR_UNAUTHORIZED, "no %s was given", what);
    else
        err_set(e, ERR_UNAUTHORIZED, "the %s is wrong", what);
    return err_advise(e,
                      "Send \"Authorization: Bearer KEY\"; the key is in the file \"%s\" of the "
                      "data directory.",
                      KEYS_FILE);
}

/* RFC 6750, section 3, and RFC 9728, section 5.1. The metadata's own path has the resource's at its
 * end. */
static const char *guard_challenge(const struct http1_parser *request, const struct policy *policy,
                                   const char *error, const char *const *scopes,
                                   struct arena *arena)
{
    _buf_ struct buf words = BUF_INIT(4 * KIB);
    const char *target = http1_target(request);
    size_t path_len = strcspn(target, "?");
    bool is_mcp = path_len == 4 && memcmp(target, "/mcp", 4) == 0;
    for (size_t i = 0; scopes[i] != NULL; i++)
        buf_printf(&words, "%s%s", i > 0 ? " " : "", scopes[i]);
    return arena_printf(
        arena, "Bearer %s%s%sresource_metadata=\"%s" OAUTH_METADATA_PATH "%s\"%s%s%s",
        error != NULL ? "error=\"" : "", error != NULL ? error : "", error != NULL ? "\", " : "",
        oauth_resource(policy->config, http1_header(request, "host", NULL), arena),
        is_mcp ? "/mcp" : "", words.len > 0 ? ", scope=\"" : "", buf_str(&words),
        words.len > 0 ? "\"" : "");
}

int guard_check_caller(const struct http1_parser *request, const char *key,
                       const struct policy *policy, struct arena *arena,
                       struct guard_caller *ret_caller, struct err *e)
{
    size_t len = 0;
    const char *given = http1_header(request, "authorization", &len);
    const struct oauth *oauth = policy != NULL ? policy->oauth : NULL;
    guard_take_caller(request, ret_caller);
    if (given != NULL && keys_match(key, given, len))
        return 0;
    if (oauth == NULL)
        return guard_refuse_key(given, false, e);
    const char *const *scopes = oauth_usual_scopes(oauth);
    static const char scheme[] = "bearer ";
    const size_t scheme_len = sizeof(scheme) - 1;
    const char *error = NULL;
    struct oauth_caller by_token;
    if (given == NULL || len <= scheme_len || strncasecmp(given, scheme, scheme_len) != 0) {
        guard_refuse_key(given, true, e);
    } else if (oauth_check(oauth, given + scheme_len, len - scheme_len, clock_wall_ms() / 1000,
                           arena, &by_token, &scopes, e) == 0) {
        /* The header may repeat the agent of the token, not name another. */
        if (ret_caller->agent != NULL && strcmp(ret_caller->agent, by_token.agent) != 0) {
            err_set(e, ERR_FORBIDDEN, "the token speaks for the agent \"%s\"", by_token.agent);
            return err_advise(e, "Leave the Cella-Agent header out.");
        }
        ret_caller->agent = by_token.agent;
        return 0;
    } else {
        error = e->code == ERR_FORBIDDEN ? "insufficient_scope" : "invalid_token";
    }
    ret_caller->challenge = guard_challenge(request, policy, error, scopes, arena);
    return -1;
}
