/* Who may use which interpreters, and how much of them. */
#pragma once

#include "policy/config.h"

/* Whom a request speaks for. The names are the request's own. */
struct agents_claim {
    const char *agent;   /* NULL: CONFIG_DEFAULT_AGENT */
    const char *binding; /* the plugin it came through; NULL: none */
};

/* What applies to one request: the binding's settings if there is one, else the agent's. Holds
 * nothing of the configuration, so that a call may keep it over a reload. */
struct agents_grant {
    struct config_repl repl; /* n_runtimes > 0 */
    bool is_of_binding;      /* the list of runtimes is the binding's own */
};

/* ERR_FORBIDDEN for an agent that is unknown or not enabled. */
int agents_resolve(const struct config *c, const struct agents_claim *claim,
                   struct agents_grant *ret_grant, struct err *e);

/* Whether one more session of this runtime may be made for somebody who has `n_sessions`. */
int agents_check_spawn(const struct agents_grant *grant, const char *runtime, size_t n_sessions,
                       struct err *e);
