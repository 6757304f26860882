/* What operations ask: the configuration in force, what an agent may do, and which agents are in
 * plan mode. Made by serve, lives as long as the engine. */
#pragma once

#include "base/map.h"
#include "policy/agents.h"
#include "policy/oauth.h"
#include "session/plan.h"

struct engine;
struct session;

struct policy {
    const struct config *config; /* in force: the one it began with, or `reloaded` */
    struct config reloaded;
    struct oauth *oauth;    /* tokens that are taken beside the key; NULL if none are */
    struct map agent_plans; /* struct plan, by the agent's id; those in plan mode */
};

/* `config` is borrowed. */
void policy_init(struct policy *p, const struct config *config);
void policy_free(struct policy *p);
/* Takes over `next`. What was resolved before stays as it was; no tokens are taken any more. */
void policy_replace(struct policy *p, struct config *next);
/* Takes over what oauth_load made of the configuration in force. */
void policy_take_tokens(struct policy *p, struct oauth *oauth);

/* The agent that a session belongs to; never NULL. */
const char *policy_agent_of(const struct session *session);
/* Whether the agent may have `n_more` sessions now, beside those that are not dead. */
int policy_check_number(const struct policy *p, struct engine *engine, const char *agent,
                        const struct agents_grant *grant, size_t n_more, struct err *e);
/* The engine's own question, for every session that is to live, whichever way it came about. */
struct engine_candidate;
int policy_admit(void *policy, struct engine *engine, const struct engine_candidate *candidate,
                 struct err *e);

/* Plan mode of agents. */
int policy_enter_plan(struct policy *p, const char *agent, const char *reason, struct err *e);
/* As the store remembers it; see store_each_plan. */
void policy_resume_plan(void *policy, const char *agent, const char *reason,
                        uint64_t entered_at_ms);
void policy_leave_plan(struct policy *p, const char *agent);
const struct plan *policy_plan_of(const struct policy *p, const char *agent); /* NULL if none */
