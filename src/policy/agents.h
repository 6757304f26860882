/* Who may use which interpreters, and how much of them. */
#pragma once

#include "policy/config.h"

/* Whom a request speaks for. The names are the request's own. */
struct agents_claim {
    const char *agent;   /* NULL for CONFIG_DEFAULT_AGENT */
    const char *binding; /* the plugin it came through; NULL if none */
};

/* What applies to one request: the binding's settings if there is one, else the agent's; of what
 * they leave open the configuration's. Holds nothing of the configuration, so that a call may keep
 * it over a reload. */
struct agents_grant {
    struct config_repl repl;   /* n_runtimes > 0; max_timeout_secs is 0 if it was not given */
    bool is_of_binding;        /* the list of runtimes is the binding's own */
    struct jail_limits limits; /* of a session that asks for none: below the ceiling */
};

/* ERR_FORBIDDEN for an agent that is unknown or not enabled. */
int agents_resolve(const struct config *c, const struct agents_claim *claim,
                   struct agents_grant *ret_grant, struct err *e);

/* What the configuration says of the agent, whether it may use interpreters or not. False if it
 * says nothing. */
bool agents_look_up(const struct config *c, const struct agents_claim *claim,
                    struct agents_grant *ret_grant);

/* What is asked for beyond a limit is refused with its name, not cut: a caller that asks for ten
 * minutes plans for them, and would lose the work to a shorter limit that was not mentioned. What
 * is not asked for is within the limits. (Only the output in an answer is cut: a budget is no more
 * than a bound itself, and the answer says what it left out.) */
int agents_check_runtime(const struct agents_grant *grant, const char *runtime, struct err *e);
/* `n_more` sessions for an agent that has `n_sessions`. */
int agents_check_number(const struct agents_grant *grant, size_t n_sessions, size_t n_more,
                        struct err *e);
int agents_check_timeout(const struct agents_grant *grant, uint64_t timeout_ms, struct err *e);
int agents_check_limits(const struct agents_grant *grant, const struct jail_limits *asked,
                        struct err *e);
