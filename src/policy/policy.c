/* What operations ask: the configuration in force, limits of agents, plan mode. Daemon; on the
 * loop; owns the configuration. */
#include "policy/policy.h"

#include "session/session.h"

void policy_init(struct policy *p, const struct config *config)
{
    *p = (struct policy){.config = config};
}

void policy_free(struct policy *p)
{
    size_t at = 0;
    const char *agent;
    void *plan;
    while (map_next(&p->agent_plans, &at, &agent, &plan)) {
        plan_leave(plan);
        free(plan);
    }
    map_free(&p->agent_plans);
    oauth_free(p->oauth);
    config_free(&p->reloaded);
    *p = (struct policy){0};
}

void policy_replace(struct policy *p, struct config *next)
{
    policy_take_tokens(p, NULL); /* they point into the configuration that goes */
    config_free(&p->reloaded);
    p->reloaded = *next;
    *next = (struct config){0};
    p->config = &p->reloaded;
}

void policy_take_tokens(struct policy *p, struct oauth *oauth)
{
    oauth_free(p->oauth);
    p->oauth = oauth;
}

/* ---- sessions -------------------------------------------------------------------------------- */

const char *policy_agent_of(const struct session *session)
{
    return session->agent != NULL ? session->agent : CONFIG_DEFAULT_AGENT;
}

static size_t policy_count_sessions(struct engine *engine, const char *agent, bool are_live)
{
    size_t n = 0;
    for (struct session *s = session_next(engine, NULL); s != NULL; s = session_next(engine, s)) {
        bool counts = s->state != SESSION_DEAD && !(are_live && s->state == SESSION_SUSPENDED);
        n += counts && strcmp(policy_agent_of(s), agent) == 0;
    }
    return n;
}

/* Who may have them all need not be counted: the engine does. */
static bool is_counted(const struct policy *p, const struct agents_grant *grant)
{
    return grant->repl.max_sessions < p->config->max_sessions;
}

int policy_check_number(const struct policy *p, struct engine *engine, const char *agent,
                        const struct agents_grant *grant, size_t n_more, struct err *e)
{
    if (!is_counted(p, grant))
        return 0;
    return agents_check_number(grant, policy_count_sessions(engine, agent, false), n_more, e);
}

int policy_admit(void *policy, struct engine *engine, const struct engine_candidate *candidate,
                 struct err *e)
{
    const struct policy *p = policy;
    const char *agent = candidate->agent != NULL ? candidate->agent : CONFIG_DEFAULT_AGENT;
    struct agents_claim claim = {.agent = agent, .binding = candidate->binding};
    struct agents_grant grant;
    if (agents_resolve(p->config, &claim, &grant, e) < 0 ||
        agents_check_runtime(&grant, candidate->runtime->name, e) < 0 ||
        (candidate->limits != NULL && agents_check_limits(&grant, candidate->limits, e) < 0))
        return -1;
    if (!is_counted(p, &grant))
        return 0;
    /* One that was suspended is among the agent's already; it must not be one too many of those
     * that run. */
    return agents_check_number(&grant, policy_count_sessions(engine, agent, candidate->is_known), 1,
                               e);
}

/* ---- plan mode ------------------------------------------------------------------------------- */

int policy_enter_plan(struct policy *p, const char *agent, const char *reason, struct err *e)
{
    /* Only those that exist: so no caller can fill the map. */
    if (config_find_agent(p->config, agent) == NULL) {
        err_set(e, ERR_NOT_FOUND, "there is no agent \"%.*s\"", CONFIG_AGENT_BYTES, agent);
        return err_advise(e, "GET /v1/agents lists those that the configuration names.");
    }
    struct plan *plan = map_get(&p->agent_plans, agent);
    if (plan == NULL) {
        plan = mem_alloc(sizeof(*plan));
        map_set(&p->agent_plans, agent, plan);
    }
    plan_enter(plan, reason);
    return 0;
}

void policy_resume_plan(void *policy, const char *agent, const char *reason, uint64_t entered_at_ms)
{
    struct policy *p = policy;
    struct err gone; /* an agent that the configuration does not name any more */
    if (policy_enter_plan(p, agent, reason, &gone) == 0)
        plan_resume(map_get(&p->agent_plans, agent), reason, entered_at_ms);
}

void policy_leave_plan(struct policy *p, const char *agent)
{
    struct plan *plan = map_remove(&p->agent_plans, agent);
    if (plan == NULL)
        return;
    plan_leave(plan);
    free(plan);
}

const struct plan *policy_plan_of(const struct policy *p, const char *agent)
{
    return map_get(&p->agent_plans, agent);
}
