#include "ops/create_call.h"

#include "policy/policy.h"

const struct op_param session_limits[] = {
    {.name = "memory_mb", .type = OP_INT, .min = 16, .max = 1 << 22, .doc = "Memory, in MiB."},
    {.name = "cpu_percent",
     .type = OP_INT,
     .min = 1,
     .max = 100000,
     .doc = "Processor time; 100 is one core."},
    {.name = "pids", .type = OP_INT, .min = 4, .max = 1 << 16, .doc = "Processes and threads."},
    {.name = "cpu_seconds",
     .type = OP_INT,
     .min = 0,
     .max = 1 << 30,
     .doc = "Processor time of each process, in seconds; 0 is no limit."},
    {.name = "disk_mb", .type = OP_INT, .min = 1, .max = 1 << 26, .doc = "/workspace, in MiB."},
    {.name = "checkpoint_mb",
     .type = OP_INT,
     .min = 0,
     .max = 1 << 22,
     .doc = "Memory for checkpoints besides, in MiB; the oldest are given up first."},
    {0},
};

static struct jail_limits *read_limits(struct call *call)
{
    const json_t *given = json_object_get(call->args, "limits");
    struct jail_limits *limits_of = arena_alloc(&call->arena, sizeof(*limits_of));
    *limits_of = engine_config(call->engine)->limits;
    const struct {
        const char *name;
        uint32_t *value;
    } members[] = {
        {"memory_mb", &limits_of->memory_mb}, {"cpu_percent", &limits_of->cpu_percent},
        {"pids", &limits_of->pids},           {"cpu_seconds", &limits_of->cpu_seconds},
        {"disk_mb", &limits_of->disk_mb},     {"checkpoint_mb", &limits_of->checkpoint_mb}};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(given, members[i].name);
        if (value != NULL)
            *members[i].value = (uint32_t)json_integer_value(value);
    }
    return limits_of;
}

/* NULL if it was not given. */
static const uint32_t *read_seconds(struct call *call, const char *name)
{
    const json_t *value = json_object_get(call->args, name);
    if (!json_is_integer(value))
        return NULL;
    uint32_t *seconds = arena_alloc(&call->arena, sizeof(*seconds));
    *seconds = (uint32_t)json_integer_value(value);
    return seconds;
}

/* Whoever shares a sandbox sees its files: only an agent's own is joined. */
static int read_join(struct call *call, struct session_request *request, struct err *e)
{
    const char *id = call_text(call, "join", NULL);
    if (id == NULL)
        return 0;
    const char *agent = call_text(call, "agent", CONFIG_DEFAULT_AGENT);
    request->join = session_find(call->engine, id, e);
    if (request->join != NULL && strcmp(policy_agent_of(request->join), agent) != 0) {
        err_set(e, ERR_FORBIDDEN, "the session %s belongs to another agent", request->join->id);
        return err_advise(e, "Join a session of the agent \"%s\".", agent);
    }
    if (json_object_get(call->args, "limits") == NULL)
        request->limits = NULL;
    return request->join != NULL ? 0 : -1;
}

static int check_isolation(const struct session_request *request, struct err *e)
{
    if (request->isolation == ISOLATION_SHARED ||
        (request->durable == SAVING_AUTO && request->join == NULL))
        return 0;
    err_set(e, ERR_INVALID, "\"isolation\": \"per_cell\" needs a state that is saved");
    return err_advise(e, "Leave out \"durable\" and \"join\".");
}

/* Whether the agent may, and what is kept of the session's output. */
static int admit(struct call *call, struct session_request *request, struct err *e)
{
    struct agents_grant grant;
    struct agents_claim claim = {.agent = request->agent, .binding = request->binding};
    if (policy_admit(call->policy, call->engine, &claim, request->runtime->name, &grant, e) < 0)
        return -1;
    request->max_output_bytes = grant.repl.max_output_bytes;
    return 0;
}

static enum timeline_mode read_checkpoints(const struct call *call)
{
    const char *wanted = call_text(call, "checkpoints", timeline_modes[TIMELINE_AUTO]);
    enum timeline_mode mode = TIMELINE_AUTO;
    while (mode < TIMELINE_OFF && strcmp(timeline_modes[mode], wanted) != 0)
        mode++;
    return mode;
}

int create_call_read(struct call *call, struct session_request *ret_request, struct err *e)
{
    const json_t *env = json_object_get(call->args, "env");
    bool is_per_cell = strcmp(call_text(call, "isolation", "shared"), "per_cell") == 0;
    bool is_off = strcmp(call_text(call, "durable", "auto"), "off") == 0;
    *ret_request = (struct session_request){
        .runtime = runtime_by_name(call_text(call, "runtime", "python")),
        .profile = call_text(call, "profile", NULL),
        .limits = read_limits(call),
        .cwd = call_text(call, "cwd", NULL),
        .env = json_object_size(env) > 0 ? env : NULL,
        .agent = call_text(call, "agent", NULL),
        .binding = call_text(call, "binding", NULL),
        .checkpoints = read_checkpoints(call),
        .isolation = is_per_cell ? ISOLATION_PER_CELL : ISOLATION_SHARED,
        .durable = is_off ? SAVING_OFF : SAVING_AUTO,
        .idle_timeout_secs = read_seconds(call, "idle_timeout_secs"),
        .max_age_secs = read_seconds(call, "max_age_secs"),
    };
    if (admit(call, ret_request, e) < 0 || read_join(call, ret_request, e) < 0)
        return -1;
    return check_isolation(ret_request, e);
}

void create_call_explain(struct session *session, struct err *ret)
{
    bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
    err_set(ret, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
    err_advise(ret, "%s", session->death.advice);
    session_delete(session);
}
