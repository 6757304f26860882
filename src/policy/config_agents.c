/* `agents` and `inbound_bindings` of the configuration. As config.c. Daemon, and `cella config`. */
#include "policy/config_agents.h"

#include "base/buf.h"
#include "explore/fetch_url.h"
#include "policy/config_toolbox.h"
#include "session/spec.h"

enum {
    TIMEOUT_MAX_SECS = 86400,
    OUTPUT_MIN_BYTES = 1024,
    WEB_DOMAINS_MAX = 200,
    WEB_DOMAIN_MAX_BYTES = 270,
};

static const char *const config_runtimes[CONFIG_RUNTIMES] = {"python", "node", "bash"};
const char *const config_debug_names[] = {"never", "ask", "always", NULL};

/* Whoever is not mentioned may nothing: `enabled` has to be written. */
static struct config_repl repl_defaults(void)
{
    struct config_repl repl = {.is_enabled = false,
                               .n_runtimes = CONFIG_RUNTIMES,
                               .max_sessions = 3,
                               .timeout_secs = 30,
                               .max_output_bytes = 64 * KIB};
    memcpy(repl.runtimes, config_runtimes, sizeof(repl.runtimes));
    return repl;
}

/* ---- repl ------------------------------------------------------------------------------------ */

static int config_agents_read_runtime(struct reader *r, struct config_repl *repl)
{
    if (reader_expect_text(r, "an item of allowed_runtimes", READER_NAME_MAX) < 0)
        return -1;
    const char *known = NULL;
    for (size_t i = 0; i < CONFIG_RUNTIMES; i++)
        if (strcmp(config_runtimes[i], reader_scalar(r)) == 0)
            known = config_runtimes[i];
    if (known == NULL) {
        reader_fail(r, "allowed_runtimes: there is no runtime \"%.*s\"", reader_shown(r),
                    reader_scalar(r));
        return err_advise(r->e, "Possible here: python, node, bash.");
    }
    for (size_t i = 0; i < repl->n_runtimes; i++)
        if (repl->runtimes[i] == known)
            return reader_repeated(r, known);
    repl->runtimes[repl->n_runtimes++] = known;
    return 0;
}

static int read_runtimes(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_repl *repl = object;
    if (reader_expect_list(r, f->name, "[python, node, bash], or some of them") < 0)
        return -1;
    repl->n_runtimes = 0;
    int more;
    while ((more = reader_next_item(r)) > 0)
        if (config_agents_read_runtime(r, repl) < 0)
            return -1;
    return more;
}

static const struct reader_field ceiling_fields[] = {
#define FIELD(name, least, most, doc)                                                              \
    {#name, reader_u32, offsetof(struct jail_limits, name), MAX(least, 1), most},
    JAIL_CEILINGS_EACH(FIELD)
#undef FIELD
        {NULL, NULL, 0, 0, 0},
};

int config_read_ceiling(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, ceiling_fields, (char *)object + f->offset);
}

/* The index of the current word among the names, which end with NULL; -1: it is none of them. */
static int config_agents_read_choice(struct reader *r, const struct reader_field *f,
                                     const char *const names[])
{
    _buf_ struct buf list = BUF_INIT(KIB);
    if (reader_expect_text(r, f->name, READER_NAME_MAX) < 0)
        return -1;
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], reader_scalar(r)) == 0)
            return i;
        buf_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    reader_fail(r, "%s: \"%.*s\" is not one of its values", f->name, reader_shown(r),
                reader_scalar(r));
    return err_advise(r->e, "Possible here: %s.", buf_str(&list));
}

static int read_debug(struct reader *r, const struct reader_field *f, void *object)
{
    int index = config_agents_read_choice(r, f, config_debug_names);
    if (index >= 0)
        ((struct config_repl *)object)->debug = (enum config_debug)index;
    return MIN(index, 0);
}

static int read_images(struct reader *r, const struct reader_field *f, void *object)
{
    int index = config_agents_read_choice(r, f, spec_images);
    ((struct config_repl *)object)->images = (unsigned)(index + 1);
    return MIN(index, 0);
}

static int read_checkpoints(struct reader *r, const struct reader_field *f, void *object)
{
    int index = config_agents_read_choice(r, f, timeline_modes);
    ((struct config_repl *)object)->checkpoints = (unsigned)(index + 1);
    return MIN(index, 0);
}

static const struct reader_field repl_fields[] = {
    {"enabled", reader_bool, offsetof(struct config_repl, is_enabled), 0, 0},
    {"allowed_runtimes", read_runtimes, 0, 0, 0},
    {"max_sessions", reader_u32, offsetof(struct config_repl, max_sessions), 1, 1000000},
    {"timeout_secs", reader_u32, offsetof(struct config_repl, timeout_secs), 1, TIMEOUT_MAX_SECS},
    {"max_timeout_secs", reader_u32, offsetof(struct config_repl, max_timeout_secs), 1,
     TIMEOUT_MAX_SECS},
    {"max_output_bytes", reader_u64, offsetof(struct config_repl, max_output_bytes),
     OUTPUT_MIN_BYTES, (uint64_t)1 << 30},
    {"max_limits", config_read_ceiling, offsetof(struct config_repl, ceiling), 0, 0},
    {"debug", read_debug, 0, 0, 0},
    {"budget", reader_u64, offsetof(struct config_repl, budget), 1, CONFIG_BUDGET_MAX},
    {"images", read_images, 0, 0, 0},
    {"checkpoints", read_checkpoints, 0, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

/* One more item of a list that may have `max`. `what` is what it is a list of. */
static int config_agents_check_room(struct reader *r, size_t n, size_t max, const char *what)
{
    if (n < max)
        return 0;
    reader_fail(r, "more than %zu %s", max, what);
    return err_advise(r->e, "Remove those that are not used.");
}

/* ---- the web --------------------------------------------------------------------------------- */

int config_read_domains(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_domains *domains = (void *)((char *)object + f->offset);
    const char *items[WEB_DOMAINS_MAX];
    size_t n = 0;
    int more;
    if (reader_expect_list(r, f->name, "[example.org, \"*.example.net\"]") < 0)
        return -1;
    while ((more = reader_next_item(r)) > 0) {
        if (reader_expect_text(r, f->name, WEB_DOMAIN_MAX_BYTES) < 0)
            return -1;
        if (n == WEB_DOMAINS_MAX || !fetch_entry_is_valid(reader_scalar(r))) {
            reader_fail(r, "web_domains: \"%.*s\" is no domain, or there are more than %d",
                        reader_shown(r), reader_scalar(r), WEB_DOMAINS_MAX);
            return err_advise(r->e,
                              "Write example.org, \"*.example.org\" for names below it, or an "
                              "address; with :port, or for 80 and 443.");
        }
        items[n++] = reader_keep(r);
    }
    domains->names = arena_copy(&r->config->arena, items, n * sizeof(*items));
    domains->n = n;
    return more;
}

static const struct reader_field agent_explore_fields[] = {
    {"web_domains", config_read_domains, offsetof(struct config_agent, domains), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int read_agent_explore(struct reader *r, const struct reader_field *f, void *object)
{
    ((struct config_agent *)object)->has_domains = true;
    return reader_mapping(r, f->name, agent_explore_fields, object);
}

/* ---- agents ---------------------------------------------------------------------------------- */

static int read_agent_repl(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_agent *agent = object;
    int line = reader_line(r);
    if (reader_mapping(r, f->name, repl_fields, &agent->repl) < 0)
        return -1;
    if (agent->repl.n_runtimes > 0)
        return 0;
    reader_fail_at(r, line, "an agent's allowed_runtimes is empty");
    return err_advise(r->e, "Name python, node or bash, or write enabled: false.");
}

static const struct reader_field agent_fields[] = {
    {"id", reader_id, offsetof(struct config_agent, id), 0, 0},
    {"repl", read_agent_repl, 0, 0, 0},
    {"explore", read_agent_explore, 0, 0, 0},
    {"toolbox", config_read_toolbox_rules, offsetof(struct config_agent, toolbox), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int read_agent(struct reader *r)
{
    struct config *c = r->config;
    int line = reader_line(r);
    struct config_agent agent = {.repl = repl_defaults()};
    if (config_agents_check_room(r, c->n_agents, CONFIG_AGENTS_MAX, "agents") < 0 ||
        reader_mapping(r, "an item of agents", agent_fields, &agent) < 0)
        return -1;
    if (agent.id == NULL) {
        reader_fail_at(r, line, "an agent has no id");
        return err_advise(r->e, "Write - id: NAME.");
    }
    if (config_find_agent(c, agent.id) != NULL) {
        reader_fail_at(r, line, "the agent \"%s\" is given twice", agent.id);
        return err_advise(r->e, "Keep one of the two.");
    }
    c->agents[c->n_agents++] = agent;
    return 0;
}

int config_read_agents(struct reader *r, const struct reader_field *f, void *object)
{
    (void)object;
    if (reader_expect_list(r, f->name, "[{id: NAME, repl: {enabled: true}}]") < 0)
        return -1;
    /* One more, for the default agent. */
    r->config->agents =
        arena_alloc(&r->config->arena, (CONFIG_AGENTS_MAX + 1) * sizeof(*r->config->agents));
    int more;
    while ((more = reader_next_item(r)) > 0)
        if (read_agent(r) < 0)
            return -1;
    return more;
}

/* ---- bindings -------------------------------------------------------------------------------- */

static int read_binding_repl(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_binding *binding = object;
    binding->has_repl = true;
    return reader_mapping(r, f->name, repl_fields, &binding->repl);
}

static const struct reader_field binding_fields[] = {
    {"plugin", reader_id, offsetof(struct config_binding, plugin), 0, 0},
    {"agent", reader_id, offsetof(struct config_binding, agent), 0, 0},
    {"repl", read_binding_repl, 0, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static bool is_same_binding(const struct config_binding *a, const struct config_binding *b)
{
    if (strcmp(a->plugin, b->plugin) != 0 || (a->agent == NULL) != (b->agent == NULL))
        return false;
    return a->agent == NULL || strcmp(a->agent, b->agent) == 0;
}

static int check_binding(struct reader *r, const struct config_binding *binding, int line)
{
    const struct config *c = r->config;
    if (binding->plugin == NULL) {
        reader_fail_at(r, line, "a binding has no plugin");
        return err_advise(r->e, "Write - plugin: NAME.");
    }
    for (size_t i = 0; i < c->n_bindings; i++) {
        if (!is_same_binding(&c->bindings[i], binding))
            continue;
        reader_fail_at(r, line, "the binding of \"%s\"%s%s is given twice", binding->plugin,
                       binding->agent != NULL ? " for " : "",
                       binding->agent != NULL ? binding->agent : "");
        return err_advise(r->e, "Keep one of the two, or name an agent in one of them.");
    }
    return 0;
}

int config_read_bindings(struct reader *r, const struct reader_field *f, void *object)
{
    (void)object;
    struct config *c = r->config;
    if (reader_expect_list(r, f->name, "[{plugin: NAME, repl: {enabled: true}}]") < 0)
        return -1;
    c->bindings = arena_alloc(&c->arena, CONFIG_BINDINGS_MAX * sizeof(*c->bindings));
    r->binding_lines = arena_alloc(&c->arena, CONFIG_BINDINGS_MAX * sizeof(*r->binding_lines));
    int more;
    while ((more = reader_next_item(r)) > 0) {
        int line = reader_line(r);
        struct config_binding binding = {.repl = repl_defaults()};
        if (config_agents_check_room(r, c->n_bindings, CONFIG_BINDINGS_MAX, "inbound_bindings") <
                0 ||
            reader_mapping(r, "an item of inbound_bindings", binding_fields, &binding) < 0 ||
            check_binding(r, &binding, line) < 0)
            return -1;
        r->binding_lines[c->n_bindings] = line;
        c->bindings[c->n_bindings++] = binding;
    }
    return more;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int config_finish_agents(struct reader *r)
{
    struct config *c = r->config;
    /* For the one who started the daemon and uses it directly: as much as the daemon has. */
    if (config_find_agent(c, CONFIG_DEFAULT_AGENT) == NULL) {
        if (c->agents == NULL)
            c->agents = arena_alloc(&c->arena, sizeof(*c->agents));
        struct config_agent *agent = &c->agents[c->n_agents++];
        *agent = (struct config_agent){.id = CONFIG_DEFAULT_AGENT, .repl = repl_defaults()};
        agent->repl.is_enabled = true;
        agent->repl.max_sessions = c->max_sessions;
        agent->repl.max_timeout_secs = TIMEOUT_MAX_SECS;
        agent->repl.max_output_bytes = c->max_output_bytes;
        agent->repl.max_answer_bytes = INT64_MAX;
        agent->repl.debug = CONFIG_DEBUG_ASK;
    }
    for (size_t i = 0; i < c->n_agents; i++)
        if (strcmp(c->agents[i].id, CONFIG_DEFAULT_AGENT) == 0 && !c->agents[i].has_domains)
            c->agents[i].domains = c->explore.domains;
    for (size_t i = 0; i < c->n_bindings; i++) {
        const char *agent = c->bindings[i].agent;
        if (agent == NULL || config_find_agent(c, agent) != NULL)
            continue;
        reader_fail_at(r, r->binding_lines[i], "inbound_bindings: there is no agent \"%s\"", agent);
        return err_advise(r->e, "Define it under agents, or leave `agent` out: then the binding is "
                                "every agent's.");
    }
    for (size_t i = 0; i < c->oauth.n_issuers; i++) {
        const char *agent = c->oauth.issuers[i].agent;
        if (agent == NULL || config_find_agent(c, agent) != NULL)
            continue;
        err_set(r->e, ERR_INVALID, "%s: oauth: there is no agent \"%s\"", r->file, agent);
        return err_advise(r->e, "Define it under agents, or leave `agent` out: then tokens of the "
                                "issuer speak for the agent \"" CONFIG_DEFAULT_AGENT "\".");
    }
    return 0;
}
