#include "ops/ops.h"
#include "policy/policy.h"
#include "session/setup.h"
#include "wire/json.h"

enum { SECONDS_MAX = 365 * 86400 };

static const struct op_param limits[] = {
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

static const struct op_param params[] = {
    {.name = "runtime", .type = OP_CHOICE, .choices = runtime_names, .doc = "The interpreter."},
    {.name = "profile",
     .type = OP_TEXT,
     .min = 1,
     .max = 64,
     .doc = "What is already imported, by the name of a profile of the configuration."},
    {.name = "limits",
     .type = OP_OBJECT,
     .members = limits,
     .doc = "Limits of this session; what is not given is as the configuration says."},
    {.name = "cwd",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = SESSION_CWD_SIZE - 1,
     .doc = "Where it works: a directory inside /workspace (also relative to it) or /tmp, made if "
            "it does not exist."},
    {.name = "env",
     .type = OP_TEXTS,
     .is_nullable = true,
     .max = SETUP_ENV_MAX,
     .doc = "Environment variables besides the usual ones, by name; up to 64 KiB in all."},
    {.name = "join",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = 64,
     .doc = "A session whose sandbox it shares: files, processes and limits."},
    {.name = "agent",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .doc = "On whose behalf, by a name of the configuration; without it the agent \"default\"."},
    {.name = "binding",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .doc = "The inbound binding through which the agent was asked."},
    {.name = "idle_timeout_secs",
     .type = OP_INT,
     .is_nullable = true,
     .max = SECONDS_MAX,
     .doc = "It ends when nobody used it for this long; 0 is never. Default as configured."},
    {.name = "max_age_secs",
     .type = OP_INT,
     .is_nullable = true,
     .max = SECONDS_MAX,
     .doc = "It ends at this age; 0 is never. Default as configured."},
    {.name = "checkpoints",
     .type = OP_CHOICE,
     .choices = timeline_modes,
     .doc = "When its state is kept to come back to: after a moment of rest (auto, the default), "
            "after every cell, or never."},
    {.name = "durable",
     .type = OP_CHOICE,
     .choices = saving_modes,
     .doc = "Whether its state is kept on disk, to outlive the daemon: auto (the default) or off."},
    {.name = "isolation",
     .type = OP_CHOICE,
     .choices = saving_isolations,
     .doc = "shared (the default): its cells run in one process; per_cell: each has a fresh one, "
            "with the state that could be saved after the one before."},
    {0},
};

static void on_started(void *context, struct session *session)
{
    struct call *call = context;
    if (session->state == SESSION_DEAD) {
        struct err e;
        bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
        err_set(&e, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
        err_advise(&e, "%s", session->death.advice);
        session_delete(session); /* its id was never told to anybody */
        call_fail(call, &e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    put_session(&json, session);
    call_reply(call, 201, &out);
}

static void on_gone(struct call *call)
{
    struct session *session = call->op_state;
    session_forget_starter(session);
    session_delete(session);
}

static struct jail_limits read_limits(const struct call *call)
{
    const json_t *given = json_object_get(call->args, "limits");
    struct jail_limits limits_of = engine_config(call->engine)->limits;
    const struct {
        const char *name;
        uint32_t *value;
    } members[] = {
        {"memory_mb", &limits_of.memory_mb}, {"cpu_percent", &limits_of.cpu_percent},
        {"pids", &limits_of.pids},           {"cpu_seconds", &limits_of.cpu_seconds},
        {"disk_mb", &limits_of.disk_mb},     {"checkpoint_mb", &limits_of.checkpoint_mb}};
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

static void run(struct call *call)
{
    struct err e;
    struct session *session;
    struct jail_limits limits_of = read_limits(call);
    const json_t *env = json_object_get(call->args, "env");
    struct session_request request = {
        .runtime = runtime_by_name(call_text(call, "runtime", "python")),
        .profile = call_text(call, "profile", NULL),
        .limits = &limits_of,
        .cwd = call_text(call, "cwd", NULL),
        .env = json_object_size(env) > 0 ? env : NULL,
        .agent = call_text(call, "agent", NULL),
        .binding = call_text(call, "binding", NULL),
        .checkpoints = read_checkpoints(call),
        .isolation = strcmp(call_text(call, "isolation", "shared"), "per_cell") == 0
                         ? ISOLATION_PER_CELL
                         : ISOLATION_SHARED,
        .durable =
            strcmp(call_text(call, "durable", "auto"), "off") == 0 ? SAVING_OFF : SAVING_AUTO,
        .idle_timeout_secs = read_seconds(call, "idle_timeout_secs"),
        .max_age_secs = read_seconds(call, "max_age_secs"),
        .on_started = on_started,
        .context = call,
    };
    if (admit(call, &request, &e) < 0 || read_join(call, &request, &e) < 0 ||
        check_isolation(&request, &e) < 0 ||
        session_create(call->engine, &request, &session, &e) < 0)
        call_fail(call, &e);
    else if (session->on_started != NULL) {
        call->op_state = session; /* else it was answered already */
        call->on_gone = on_gone;
    }
}

const struct op op_session_create = {
    .name = "session.create",
    .method = "POST",
    .path = "/v1/sessions",
    .flags = OP_MUTATING,
    .params = params,
    .doc = "Starts a session: an interpreter of its own in a sandbox of its own.",
    .run = run,
};
