/* Who may use which interpreters, and how much of them. Daemon; on the loop. */
#include "policy/agents.h"

#include "base/buf.h"

static int agents_refuse(const struct config *c, const char *id, const char *why, struct err *e)
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

/* Of what a session gets unasked and of what it may ask for. */
static void settle_limits(const struct config *c, struct agents_grant *grant)
{
    struct jail_limits *top = &grant->repl.ceiling;
    grant->limits = c->limits;
#define SETTLE(name, least, most, doc)                                                             \
    top->name = top->name > 0 ? MIN(top->name, c->ceiling.name) : c->ceiling.name;                 \
    grant->limits.name = MIN(grant->limits.name, top->name);
    JAIL_CEILINGS_EACH(SETTLE)
#undef SETTLE
    grant->limits.debug = grant->repl.debug == CONFIG_DEBUG_ALWAYS;
    if (grant->repl.max_answer_bytes == 0)
        grant->repl.max_answer_bytes = (int64_t)grant->repl.max_output_bytes;
}

static bool look_up(const struct config *c, const struct agents_claim *claim,
                    struct agents_grant *ret_grant, const struct config_binding **ret_binding)
{
    const char *id = claim->agent != NULL ? claim->agent : CONFIG_DEFAULT_AGENT;
    const struct config_agent *agent = config_find_agent(c, id);
    if (agent == NULL)
        return false;
    struct agents_grant grant = {.repl = agent->repl};
    const struct config_binding *binding = find_binding(c, id, claim->binding);
    if (binding != NULL) {
        grant.repl = binding->repl;
        grant.is_of_binding = binding->repl.n_runtimes > 0;
        if (!grant.is_of_binding) {
            memcpy(grant.repl.runtimes, agent->repl.runtimes, sizeof(grant.repl.runtimes));
            grant.repl.n_runtimes = agent->repl.n_runtimes;
        }
        if (grant.repl.budget == 0)
            grant.repl.budget = agent->repl.budget;
        if (grant.repl.images == 0)
            grant.repl.images = agent->repl.images;
        if (grant.repl.checkpoints == 0)
            grant.repl.checkpoints = agent->repl.checkpoints;
    }
    settle_limits(c, &grant);
    *ret_grant = grant;
    *ret_binding = binding;
    return true;
}

bool agents_look_up(const struct config *c, const struct agents_claim *claim,
                    struct agents_grant *ret_grant)
{
    const struct config_binding *binding;
    return look_up(c, claim, ret_grant, &binding);
}

int agents_resolve(const struct config *c, const struct agents_claim *claim,
                   struct agents_grant *ret_grant, struct err *e)
{
    const char *id = claim->agent != NULL ? claim->agent : CONFIG_DEFAULT_AGENT;
    const struct config_binding *binding;
    struct agents_grant grant;
    if (!look_up(c, claim, &grant, &binding))
        return agents_refuse(c, id, "there is no agent", e);
    if (!grant.repl.is_enabled && binding != NULL)
        return agents_refuse(c, claim->binding, "no interpreters through the binding", e);
    if (!grant.repl.is_enabled)
        return agents_refuse(c, id, "no interpreters for the agent", e);
    *ret_grant = grant;
    return 0;
}

int agents_check_runtime(const struct agents_grant *grant, const char *runtime, struct err *e)
{
    const struct config_repl *repl = &grant->repl;
    for (size_t i = 0; i < repl->n_runtimes; i++)
        if (strcmp(repl->runtimes[i], runtime) == 0)
            return 0;
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

int agents_check_number(const struct agents_grant *grant, size_t n_sessions, size_t n_more,
                        struct err *e)
{
    uint32_t most = grant->repl.max_sessions;
    if (n_sessions + n_more <= most)
        return 0;
    if (n_sessions < most)
        err_set(e, ERR_LIMIT, "%zu more sessions would be more than the limit (%u): there are %zu",
                n_more, most, n_sessions);
    else
        err_set(e, ERR_LIMIT, "session limit reached (%u) — kill an existing session first", most);
    return err_advise(e, "Kill one that is no longer needed, or raise max_sessions in the "
                         "configuration.");
}

static int refuse_amount(const char *member, uint64_t asked, uint64_t most, const char *setting,
                         struct err *e)
{
    err_set(e, ERR_FORBIDDEN, "\"%s\" is %llu, and at most %llu is allowed here", member,
            (unsigned long long)asked, (unsigned long long)most);
    return err_advise(e, "Ask for less or leave it out, or raise %s in the configuration.",
                      setting);
}

int agents_check_timeout(const struct agents_grant *grant, uint64_t timeout_ms, struct err *e)
{
    const struct config_repl *repl = &grant->repl;
    bool has_max = repl->max_timeout_secs > 0;
    uint64_t most = (uint64_t)(has_max ? repl->max_timeout_secs : repl->timeout_secs) * 1000;
    if (timeout_ms <= most)
        return 0;
    return refuse_amount("timeout_ms", timeout_ms, most,
                         has_max ? "max_timeout_secs" : "timeout_secs", e);
}

int agents_check_limits(const struct agents_grant *grant, const struct jail_limits *asked,
                        struct err *e)
{
    const struct jail_limits *top = &grant->repl.ceiling;
#define CHECK(name, least, most, doc)                                                              \
    if (asked->name > top->name)                                                                   \
        return refuse_amount("limits." #name, asked->name, top->name, "max_limits." #name, e);
    JAIL_CEILINGS_EACH(CHECK)
#undef CHECK
    if (asked->debug == 0 || grant->repl.debug != CONFIG_DEBUG_NEVER)
        return 0;
    err_set(e, ERR_FORBIDDEN, "sessions that can be debugged are not allowed here");
    return err_advise(e,
                      "Leave debug out, or write debug: ask for this agent in the configuration.");
}
