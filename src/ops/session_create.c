#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const char *const runtimes[] = {"python", NULL};

static const struct op_param limits[] = {
    {.name = "memory_mb", .type = OP_INT, .min = 16, .max = 1 << 22, .doc = "Memory, in MiB."},
    {.name = "cpu_percent",
     .type = OP_INT,
     .min = 1,
     .max = 100000,
     .doc = "Processor time; 100 is one core."},
    {.name = "pids", .type = OP_INT, .min = 4, .max = 1 << 16, .doc = "Processes and threads."},
    {.name = "disk_mb", .type = OP_INT, .min = 1, .max = 1 << 26, .doc = "/workspace, in MiB."},
    {0},
};

static const struct op_param params[] = {
    {.name = "runtime", .type = OP_CHOICE, .choices = runtimes, .doc = "The interpreter."},
    {.name = "profile",
     .type = OP_TEXT,
     .min = 1,
     .max = 64,
     .doc = "What is already imported, by the name of a profile of the configuration."},
    {.name = "limits",
     .type = OP_OBJECT,
     .members = limits,
     .doc = "Limits of this session; what is not given is as the configuration says."},
    {0},
};

static void on_started(void *context, struct session *session)
{
    struct call *call = context;
    if (session->state == SESSION_DEAD) {
        struct err e;
        err_set(&e, ERR_UNAVAILABLE, "%s", session->death.message);
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
    } members[] = {{"memory_mb", &limits_of.memory_mb},
                   {"cpu_percent", &limits_of.cpu_percent},
                   {"pids", &limits_of.pids},
                   {"disk_mb", &limits_of.disk_mb}};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(given, members[i].name);
        if (value != NULL)
            *members[i].value = (uint32_t)json_integer_value(value);
    }
    return limits_of;
}

static void run(struct call *call)
{
    struct err e;
    struct session *session;
    struct jail_limits limits_of = read_limits(call);
    struct session_request request = {
        .runtime = runtime_by_name(call_text(call, "runtime", "python")),
        .profile = call_text(call, "profile", NULL),
        .limits = &limits_of,
        .on_started = on_started,
        .context = call,
    };
    int rc = session_create(call->engine, &request, &session, &e);
    if (rc < 0)
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
