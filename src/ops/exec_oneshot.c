#include "ops/exec_call.h"
#include "policy/policy.h"
#include "session/oneshot.h"
#include "wire/json.h"

enum {
    CODE_MAX = 1024 * 1024,
    TIMEOUT_DEFAULT_MS = 30 * 1000,
    TIMEOUT_MAX_MS = 86400 * 1000,
    PICTURES_DEFAULT = 4 * 1024 * 1024,
};

static const struct op_param params[] = {
    {.name = "code",
     .type = OP_TEXT,
     .is_required = true,
     .max = CODE_MAX,
     .doc = "What to run: source code, at most 1 MiB."},
    {.name = "runtime", .type = OP_CHOICE, .choices = runtime_names, .doc = "The interpreter."},
    {.name = "profile",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = 64,
     .doc = "What is already imported, by the name of a profile of the configuration."},
    {.name = "timeout_ms",
     .type = OP_INT,
     .min = 1,
     .max = TIMEOUT_MAX_MS,
     .doc = "How long the code may run before it is stopped; default 30000."},
    EXEC_PARAM_BUDGET,
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
    {0},
};

static void put_answer(struct json_out *json, const struct oneshot_answer *answer)
{
    const struct buf *out = &answer->streams[OUTPUT_STDOUT];
    const struct buf *err = &answer->streams[OUTPUT_STDERR];
    json_put_object(json);
    json_put_member_text(json, "stdout", buf_str(out), out->len);
    json_put_member_text(json, "stderr", buf_str(err), err->len);
    json_put_member_int(json, "exit_code", answer->exit_code);
    json_put_member_null(json, "state");
    json_put_key(json, "files");
    json_put_array(json);
    json_put_array_end(json);
    if (answer->error.len > 0)
        json_put_member_text(json, "error", buf_str(&answer->error), answer->error.len);
    else
        json_put_member_null(json, "error");
    json_put_member_real(json, "execution_time_ms", answer->duration_ms, 3);
    if (answer->outputs != NULL) {
        json_put_key(json, "outputs");
        json_put_value(json, answer->outputs);
    }
    if (answer->is_truncated)
        json_put_member_bool(json, "truncated", true);
    json_put_object_end(json);
}

static void on_done(void *context, const struct oneshot_answer *answer)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    put_answer(&json, answer);
    call_reply(context, 200, &out);
}

static void on_failed(void *context, const struct err *e)
{
    call_fail(context, e);
}

static const struct oneshot_listener listener = {.on_done = on_done, .on_failed = on_failed};

static void on_gone(struct call *call)
{
    oneshot_abandon(call->op_state);
}

/* Whether the agent may; what runs counts among its sessions. */
static int admit(struct call *call, struct session_request *request, struct err *e)
{
    struct agents_grant grant;
    struct agents_claim claim = {.agent = request->agent, .binding = request->binding};
    if (policy_admit(call->policy, call->engine, &claim, request->runtime->name, &grant, e) < 0)
        return -1;
    request->max_output_bytes = grant.repl.max_output_bytes;
    return 0;
}

static void run(struct call *call)
{
    struct err e;
    struct oneshot *oneshot;
    struct oneshot_request request = {
        .session = {.runtime = runtime_by_name(call_text(call, "runtime", "python")),
                    .checkpoints = HISTORY_OFF,
                    .profile = call_text(call, "profile", NULL),
                    .agent = call_text(call, "agent", NULL),
                    .binding = call_text(call, "binding", NULL)},
        .code = call_text(call, "code", ""),
        .code_len = call_text_len(call, "code"),
        .timeout_ms = (uint32_t)call_int(call, "timeout_ms", TIMEOUT_DEFAULT_MS),
        .budget = (size_t)call_int(call, "budget", EXEC_BUDGET_DEFAULT),
        .pictures = json_object_get(call->args, "budget") == NULL ? PICTURES_DEFAULT : 0,
        .listener = &listener,
        .context = call,
    };
    if (admit(call, &request.session, &e) < 0 ||
        oneshot_start(call->engine, &request, &oneshot, &e) < 0) {
        call_fail(call, &e);
    } else if (oneshot != NULL) {
        call->op_state = oneshot;
        call->on_gone = on_gone;
    }
}

const struct op op_exec_oneshot = {
    .name = "exec",
    .method = "POST",
    .path = "/v1/exec",
    .flags = OP_MUTATING | OP_LARGE,
    .params = params,
    .doc = "Runs code once, in a sandbox of its own that ends with it.",
    .run = run,
};
