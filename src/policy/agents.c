#include "policy/agents.h"

#include "base/buf.h"

static int refuse(const struct config *c, const char *id, const char *why, struct err *e)
{
    err_set(e, ERR_FORBIDDEN, "%s \"%.*s\"", why, CONFIG_AGENT_BYTES, id);
    return err_advise(e,
                      "Interpreters are off unless the configuration says otherwise: write agents: "
                      "[{id: NAME, repl: {enabled: true}}] in %s and reload it (SIGHUP).",
                      c->file != NULL ? c->file : "cella.yaml");
}

/* One that names the agent comes before one for all. */
static const struct config_binding *find_binding(const struct config *c, const char *agent,
                                                 const char *plugin)
{
    const struct config_binding *of_all = NULL;
    for (size_t i = 0; plugin != NULL && i < c->n_bindings; i++) {
        const struct config_binding *b = &c->bindings[i];
        if (!b->has_repl || strcmp(b->plugin, plugin) != 0)
            continue;
        if (b->agent == NULL)
            of_all = b;
        else if (strcmp(b->agent, agent) == 0)
            return b;
    }
    return of_all;
}

int agents_resolve(const struct config *c, const struct agents_claim *claim,
                   struct agents_grant *ret_grant, struct err *e)
{
    const char *id = claim->agent != NULL ? claim->agent : CONFIG_DEFAULT_AGENT;
    const struct config_agent *agent = config_find_agent(c, id);
    if (agent == NULL)
        return refuse(c, id, "there is no agent", e);
    struct agents_grant grant = {.repl = agent->repl};
    const struct config_binding *binding = find_binding(c, id, claim->binding);
    if (binding != NULL) {
        grant.repl = binding->repl;
        grant.is_of_binding = binding->repl.n_runtimes > 0;
        if (!grant.is_of_binding) {
            memcpy(grant.repl.runtimes, agent->repl.runtimes, sizeof(grant.repl.runtimes));
            grant.repl.n_runtimes = agent->repl.n_runtimes;
        }
    }
    if (!grant.repl.is_enabled && binding != NULL)
        return refuse(c, claim->binding, "no interpreters through the binding", e);
    if (!grant.repl.is_enabled)
        return refuse(c, id, "no interpreters for the agent", e);
    *ret_grant = grant;
    return 0;
}

static int refuse_runtime(const struct agents_grant *grant, const char *runtime, struct err *e)
{
    const struct config_repl *repl = &grant->repl;
    _buf_ struct buf list = BUF_INIT(128);
    buf_append_char(&list, '[');
    for (size_t i = 0; i < repl->n_runtimes; i++)
        buf_printf(&list, "%s\"%s\"", i > 0 ? ", " : "", repl->runtimes[i]);
    buf_append_char(&list, ']');
    if (grant->is_of_binding)
        err_set(e, ERR_FORBIDDEN, "runtime '%.32s' not in this binding's allowed_runtimes (%s)",
                runtime, buf_str(&list));
    else
        err_set(e, ERR_FORBIDDEN, "runtime '%.32s' not in allowed list: %s", runtime,
                buf_str(&list));
    return err_advise(e, "Use one of these, or add it to allowed_runtimes in the configuration.");
}

int agents_check_spawn(const struct agents_grant *grant, const char *runtime, size_t n_sessions,
                       struct err *e)
{
    const struct config_repl *repl = &grant->repl;
    bool is_allowed = false;
    for (size_t i = 0; i < repl->n_runtimes; i++)
        is_allowed |= strcmp(repl->runtimes[i], runtime) == 0;
    if (!is_allowed)
        return refuse_runtime(grant, runtime, e);
    if (n_sessions < repl->max_sessions)
        return 0;
    err_set(e, ERR_LIMIT, "session limit reached (%u) — kill an existing session first",
            repl->max_sessions);
    return err_advise(e, "Kill one that is no longer needed, or raise max_sessions in the "
                         "configuration.");
}
