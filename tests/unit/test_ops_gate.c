/* Plan mode, as far as it concerns agents: what is refused and what is not, by the flags alone. */
#include "ops/ops.h"
#include "policy/policy.h"
#include "unit.h"
#include "wire/json.h"

static int n_runs, last_status;
static char last_reply[2048];

static void run(struct call *call)
{
    (void)call;
    n_runs++;
}

static void on_reply(struct call *call, int http_status, const struct buf *json)
{
    (void)call;
    last_status = http_status;
    snprintf(last_reply, sizeof(last_reply), "%s", buf_str(json));
}

static void on_fail(struct call *call, const struct err *e)
{
    (void)call;
    fail_msg("%s", e->message);
}

static const struct call_sink sink = {.reply = on_reply, .fail = on_fail};

static const struct op_param with_agent[] = {
    {.name = "agent", .type = OP_TEXT, .max = 64, .means = OP_MEANS_SPEAKER, .doc = "."},
    {.name = "quiet", .type = OP_BOOL, .doc = "."},
    {0},
};

static struct config config;
static struct policy policy;

static int set_up(void **state)
{
    (void)state;
    static const char text[] = "agents: [{id: ana, repl: {enabled: true}}, {id: bob}]";
    struct err e = {0};
    if (config_parse(text, strlen(text), "test", &config, &e) < 0)
        return -1;
    policy_init(&policy, &config);
    return policy_enter_plan(&policy, "ana", "not \"now\"", &e);
}

static int tear_down(void **state)
{
    (void)state;
    policy_free(&policy);
    config_free(&config);
    return 0;
}

static bool runs(const struct op *op, const char *args)
{
    struct err e;
    struct call call = {.op = op, .policy = &policy, .wants_stream = true, .sink = &sink};
    assert_int_equal(json_read_object(args, strlen(args), &call.args, &e), 0);
    n_runs = last_status = 0;
    op_run(&call);
    json_decref(call.args);
    arena_free(&call.arena);
    assert_true((n_runs == 1) != (last_status == 409));
    if (last_status == 409)
        assert_false(call.wants_stream);
    return n_runs == 1;
}

static void only_what_mutates_is_refused(void **state)
{
    (void)state;
    struct op op = {.name = "x.y", .params = with_agent, .run = run};
    op.flags = OP_READ_ONLY;
    assert_true(runs(&op, "{\"agent\":\"ana\"}"));
    op.flags = OP_MUTATING | OP_PLANS;
    assert_true(runs(&op, "{\"agent\":\"ana\"}"));
    op.flags = OP_MUTATING;
    assert_false(runs(&op, "{\"agent\":\"ana\"}"));
    assert_true(runs(&op, "{\"agent\":\"bob\"}"));
    assert_true(runs(&op, "{}"));
}

static bool is_quiet(const struct call *call)
{
    return call_bool(call, "quiet", false);
}

static void some_calls_of_an_operation_only_read(void **state)
{
    (void)state;
    struct op op = {.name = "x.y",
                    .params = with_agent,
                    .flags = OP_MUTATING,
                    .only_reads = is_quiet,
                    .run = run};
    assert_false(runs(&op, "{\"agent\":\"ana\"}"));
    assert_true(runs(&op, "{\"agent\":\"ana\",\"quiet\":true}"));
}

static void who_names_nobody_is_the_default_agent(void **state)
{
    (void)state;
    static const struct op_param nothing[] = {{0}};
    struct op op = {.name = "x.y", .params = nothing, .flags = OP_MUTATING, .run = run};
    struct err e;
    assert_true(runs(&op, "{}"));
    assert_int_equal(policy_enter_plan(&policy, "default", NULL, &e), 0);
    assert_false(runs(&op, "{}"));
    policy_leave_plan(&policy, "default");
    assert_true(runs(&op, "{}"));
}

static void the_refusal_tells_the_whole_story(void **state)
{
    (void)state;
    struct op op = {
        .name = "x.y", .tool = "Repl", .params = with_agent, .flags = OP_MUTATING, .run = run};
    assert_false(runs(&op, "{\"agent\":\"ana\"}"));
    struct err e;
    _json_ json_t *reply = NULL;
    assert_int_equal(json_read_object(last_reply, strlen(last_reply), &reply, &e), 0);
    const json_t *told = json_object_get(reply, "refusal");
    const char *entered_at, *tool, *kind, *hint, *reason;
    assert_int_equal(json_unpack_ex((json_t *)(uintptr_t)told, NULL, JSON_STRICT,
                                    "{ss ss ss ss ss}", "tool_name", &tool, "tool_kind", &kind,
                                    "hint", &hint, "entered_at", &entered_at, "entered_reason",
                                    &reason),
                     0);
    assert_string_equal(tool, "Repl");
    assert_string_equal(kind, "bash");
    assert_string_equal(hint, "Call ExitPlanMode { final_plan } when the plan is ready.");
    assert_string_equal(reason, "not \"now\"");
    assert_int_equal(strlen(entered_at), strlen("2026-01-31T12:00:00.123Z"));
}

/* The operations that lead out of plan mode must be possible in it, and no others. */
static void only_plans_are_exempt(void **state)
{
    (void)state;
    for (const struct op *const *op = op_table; *op != NULL; op++) {
        size_t len = strlen((*op)->path);
        bool is_plan = len > 5 && strcmp((*op)->path + len - 5, "/plan") == 0;
        assert_int_equal(((*op)->flags & OP_PLANS) != 0, is_plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_mutates_is_refused),
        cmocka_unit_test(some_calls_of_an_operation_only_read),
        cmocka_unit_test(who_names_nobody_is_the_default_agent),
        cmocka_unit_test(the_refusal_tells_the_whole_story),
        cmocka_unit_test(only_plans_are_exempt),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
