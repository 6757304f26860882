/* Tokens beside the key: JSON Web Tokens that an issuer of the configuration made for this server
 * (RFC 7519, RFC 6750, RFC 9068). Promises: a token is taken only if its issuer's own key signed
 * it, by an algorithm that this issuer uses, for this server, for now; nothing that a token says
 * chooses a key that is not the issuer's, and nothing is fetched. */
#pragma once

#include "policy/config.h"

#include <jansson.h>

enum {
    OAUTH_TOKEN_MAX = 8 * 1024, /* bytes */
    OAUTH_NAMES_MAX = 64,       /* audiences or scopes of a token */
};

struct oauth;

/* Who a token speaks for; in the arena of the check. */
struct oauth_caller {
    const char *agent;   /* never NULL */
    const char *issuer;  /* never NULL */
    const char *subject; /* "sub"; NULL if it has none */
};

/* `ret_oauth` is NULL if the configuration names no issuer. Keeps pointers into the configuration.
 */
int oauth_load(const struct config *config, struct oauth **ret_oauth, struct err *e);
void oauth_free(struct oauth *o);

/* ERR_UNAUTHORIZED: it is not taken. ERR_FORBIDDEN: it is genuine and lacks a scope. In both cases
 * `ret_scopes` is what it needs: NULL-terminated, perhaps empty. */
int oauth_check(const struct oauth *o, const char *token, size_t len, uint64_t now_secs,
                struct arena *arena, struct oauth_caller *ret_caller,
                const char *const **ret_scopes, struct err *e);

/* The first that a token would need, for those who have none. */
const char *const *oauth_usual_scopes(const struct oauth *o);

/* How clients call this server: the configuration's word, else "http://" and the request's Host. */
const char *oauth_resource(const struct config *config, const char *host, struct arena *arena);
#define OAUTH_METADATA_PATH "/.well-known/oauth-protected-resource" /* RFC 9728 */
