/* Who may ask, decided from a request's head before its body is read. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "wire/http1.h"

struct policy;

/* On a loopback listener Host and Origin must name this machine (DNS rebinding); elsewhere an
 * Origin must be the Host itself, or one that the configuration lists (NULL if there is none): that
 * is *ret_origin, which may read the answer, else NULL. */
int guard_check_browser(const struct http1_parser *request, bool is_loopback,
                        const struct policy *policy, const char **ret_origin, struct err *e);
/* True if a browser asks by this request whether a script may make another. */
bool guard_is_preflight(const struct http1_parser *request);
/* What is said to a browser that asks so. */
extern const char guard_preflight_headers[];

/* Whom a request speaks for. */
struct guard_caller {
    const char *agent; /* as the header or the token says; NULL for a caller with the key alone */
    const char *challenge; /* what a refusal's WWW-Authenticate says; NULL if nothing of its own */
};

/* The key, or a token if the configuration has issuers. A token speaks for its own agent only.
 * `ret_caller` is set in any case. */
int guard_check_caller(const struct http1_parser *request, const char *key,
                       const struct policy *policy, struct arena *arena,
                       struct guard_caller *ret_caller, struct err *e);
/* Of a request that needs neither. */
void guard_take_caller(const struct http1_parser *request, struct guard_caller *ret_caller);

/* True for localhost, 127.x.y.z and [::1], with or without a port. */
bool guard_is_loopback_host(const char *host);
