/* agent.list, and the rules of agents as other answers show them. Daemon; on the loop. */
#include "ops/ops.h"
#include "policy/policy.h"
#include "session/spec.h"
#include "wire/json.h"

static const struct op_param agent_list_params[] = {{0}};

void put_ceiling(struct json_out *json, const struct jail_limits *ceiling)
{
    json_put_key(json, "max_limits");
    json_put_object(json);
#define PUT(name, least, most, doc)                                                                \
    if (ceiling->name > 0)                                                                         \
        json_put_member_int(json, #name, ceiling->name);
    JAIL_CEILINGS_EACH(PUT)
#undef PUT
    json_put_object_end(json);
}

void put_repl(struct json_out *json, const struct config_repl *repl)
{
    json_put_key(json, "repl");
    json_put_object(json);
    json_put_member_bool(json, "enabled", repl->is_enabled);
    json_put_key(json, "allowed_runtimes");
    json_put_array(json);
    for (size_t i = 0; i < repl->n_runtimes; i++)
        json_put_str(json, repl->runtimes[i]);
    json_put_array_end(json);
    json_put_member_int(json, "max_sessions", repl->max_sessions);
    json_put_member_int(json, "timeout_secs", repl->timeout_secs);
    json_put_member_int(json, "max_timeout_secs",
                        repl->max_timeout_secs > 0 ? repl->max_timeout_secs : repl->timeout_secs);
    json_put_member_int(json, "max_output_bytes", (int64_t)repl->max_output_bytes);
    put_ceiling(json, &repl->ceiling);
    json_put_member_str(json, "debug", config_debug_names[repl->debug]);
    json_put_member_some(json, "budget", (int64_t)repl->budget);
    if (repl->images > 0)
        json_put_member_str(json, "images", spec_images[repl->images - 1]);
    if (repl->checkpoints > 0)
        json_put_member_str(json, "checkpoints", timeline_modes[repl->checkpoints - 1]);
    json_put_object_end(json);
}

static void put_agent(struct json_out *json, const struct call *call, const struct map *counts,
                      const struct config_agent *agent)
{
    json_put_object(json);
    json_put_member_str(json, "agent", agent->id);
    put_repl(json, &agent->repl);
    json_put_member_int(json, "sessions", (int64_t)(uintptr_t)map_get(counts, agent->id));
    put_plan(json, policy_plan_of(call->policy, agent->id));
    json_put_object_end(json);
}

static void put_bindings(struct json_out *json, const struct call *call, const struct config *c)
{
    json_put_key(json, "inbound_bindings");
    json_put_array(json);
    for (size_t i = 0; i < c->n_bindings; i++) {
        if (c->bindings[i].agent != NULL && !call_sees(call, c->bindings[i].agent))
            continue;
        json_put_object(json);
        json_put_member_str(json, "plugin", c->bindings[i].plugin);
        json_put_member_str(json, "agent", c->bindings[i].agent);
        if (c->bindings[i].has_repl)
            put_repl(json, &c->bindings[i].repl);
        json_put_object_end(json);
    }
    json_put_array_end(json);
}

static void agent_list_run(struct call *call)
{
    const struct config *c = call->policy->config;
    struct map counts = {0};
    /* All in one pass: there may be thousands of sessions, and as many agents. */
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s)) {
        if (s->state == SESSION_DEAD)
            continue;
        const char *agent = policy_agent_of(s);
        uintptr_t n = (uintptr_t)map_get(&counts, agent);
        map_set(&counts, agent, (void *)(n + 1));
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "agents");
    json_put_array(&json);
    int64_t count = 0;
    for (size_t i = 0; i < c->n_agents; i++) {
        if (!call_sees(call, c->agents[i].id))
            continue;
        put_agent(&json, call, &counts, &c->agents[i]);
        count++;
    }
    json_put_array_end(&json);
    put_bindings(&json, call, c);
    json_put_member_int(&json, "count", count);
    put_ceiling(&json, &c->ceiling);
    json_put_object_end(&json);
    map_free(&counts);
    call_reply(call, 200, &out);
}

static const struct op_member agent_members[] = {
    {"agent", OP_TEXT, .is_always = true, .column = "AGENT", .doc = "Its name."},
    {"repl", OP_OBJECT, .is_always = true, .shape = &shape_repl_rules, .doc = "What it may do."},
    {"sessions", OP_INT, .is_always = true, .column = "SESSIONS", .doc = "How many it has."},
    {"plan", OP_OBJECT, .shape = &shape_plan, .doc = "If it is in plan mode."},
    {0},
};
static const struct op_shape shape_agent = {"agent", agent_members, "An agent."};

static const struct op_member binding_members[] = {
    {"plugin", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"agent", OP_TEXT, .doc = "Whom it asks."},
    {"repl", OP_OBJECT, .shape = &shape_repl_rules, .doc = "What holds there."},
    {0},
};
static const struct op_shape shape_binding = {"binding", binding_members, "An inbound binding."};

static const struct op_member agent_list_members[] = {
    {"agents", OP_LIST, .is_always = true, .shape = &shape_agent, .doc = "The agents."},
    {"inbound_bindings", OP_LIST, .is_always = true, .shape = &shape_binding,
     .doc = "Through what they are asked."},
    {"count", OP_INT, .is_always = true, .doc = "How many agents there are."},
    {"max_limits", OP_OBJECT, .shape = &shape_max_limits,
     .doc = "What anybody may ask for at most."},
    {0},
};
static const struct op_shape shape_agent_list = {"agent_list", agent_list_members,
                                                 "The agents of the configuration."};

static const struct op_verb agent_list_verb = {
    .words = "agents",
    .summary = "list the agents of the configuration",
    .examples = "cella agents",
};

const struct op op_agent_list = {
    .name = "agent.list",
    .method = "GET",
    .path = "/v1/agents",
    .subject = OP_ON_AGENT,
    .flags = OP_READ_ONLY,
    .params = agent_list_params,
    .doc = "Lists the agents of the configuration, what they may do and who is in plan mode.",
    .run = agent_list_run,
    .result = &shape_agent_list,
    .example = "{}",
    .verb = &agent_list_verb,
};
