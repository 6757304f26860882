/* Tools for a surface that has nothing but tools: whatever happens is an answer. */
#include "ops/tool_call.h"
#include "policy/policy.h"
#include "unit.h"
#include "wire/json.h"

static char last_reply[2048];
static int n_replies;

static void on_reply(struct call *call, int http_status, const struct buf *json)
{
    (void)call;
    assert_int_equal(http_status, 200);
    n_replies++;
    snprintf(last_reply, sizeof(last_reply), "%s", buf_str(json));
}

static void on_fail(struct call *call, const struct err *e)
{
    (void)call;
    fail_msg("%s", e->message);
}

static const struct call_sink sink = {.reply = on_reply, .fail = on_fail};
static const struct op_param nothing[] = {{0}};

static const char *told(const struct op *op, struct policy *policy)
{
    struct call call = {.op = op, .policy = policy, .sink = &sink, .args = json_object()};
    n_replies = 0;
    tool_run(&call);
    json_decref(call.args);
    arena_free(&call.arena);
    assert_int_equal(n_replies, 1);
    return last_reply;
}

static void fails(struct call *call)
{
    struct err e;
    err_set(&e, ERR_CONFLICT, "try 12 is not decided yet");
    err_advise(&e, "Keep it with POST …/tries/12/commit or take it back with …/discard.");
    call_fail(call, &e);
}

static void answers(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    buf_append_str(&out, "{\"message\":\"a \\\"b\\\"\"}");
    call_reply(call, 200, &out);
}

static const struct op plain = {.name = "x.y", .params = nothing, .run = answers};

static void say_message(struct call *call, const json_t *answer)
{
    _buf_ struct buf text = BUF_INIT(KIB);
    buf_append_str(&text, json_string_value(json_object_get(answer, "message")));
    tool_reply_text(call, &text);
}

static void becomes(struct call *call)
{
    tool_become(call, &plain, json_object(), say_message);
}

static void a_failure_is_an_answer_that_speaks_of_tools(void **state)
{
    (void)state;
    static const struct op op = {
        .name = "x", .tool = "x", .toolset = "core", .params = nothing, .run = fails};
    assert_string_equal(
        told(&op, NULL),
        "{\"content\":[{\"type\":\"text\",\"text\":\"try 12 is not decided yet\\n"
        "back(action=\\\"keep\\\") keeps it, back(action=\\\"drop\\\") takes it back.\"}],"
        "\"isError\":true}");
}

static void an_answer_that_is_no_tool_s_is_its_text(void **state)
{
    (void)state;
    static const struct op op = {
        .name = "x", .tool = "x", .toolset = "repl", .params = nothing, .run = answers};
    assert_string_equal(told(&op, NULL),
                        "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"message\\\":\\\"a "
                        "\\\\\\\"b\\\\\\\"\\\"}\"}]}");
}

static void a_tool_says_what_another_operation_answered(void **state)
{
    (void)state;
    static const struct op op = {.name = "x",
                                 .tool = "x",
                                 .toolset = "core",
                                 .params = nothing,
                                 .prepare = tool_prepare_plain,
                                 .run = becomes};
    assert_string_equal(told(&op, NULL),
                        "{\"content\":[{\"type\":\"text\",\"text\":\"a \\\"b\\\"\"}]}");
}

static void a_refusal_has_the_five_members_that_agents_know(void **state)
{
    (void)state;
    static const char text[] = "agents: [{id: default, repl: {enabled: true}}]";
    static const struct op op = {.name = "x",
                                 .tool = "x",
                                 .toolset = "core",
                                 .flags = OP_MUTATING,
                                 .params = nothing,
                                 .run = answers};
    struct config config;
    struct policy policy;
    struct err e;
    assert_int_equal(config_parse(text, strlen(text), "test", &config, &e), 0);
    policy_init(&policy, &config);
    assert_int_equal(policy_enter_plan(&policy, "default", "think", &e), 0);
    told(&op, &policy);
    assert_non_null(strstr(last_reply, "{\\\"tool_name\\\":\\\"x\\\",\\\"tool_kind\\\":"));
    assert_non_null(
        strstr(last_reply, "\\\"entered_reason\\\":\\\"think\\\"}\"}],\"isError\":true}"));
    policy_free(&policy);
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_an_answer_that_speaks_of_tools),
        cmocka_unit_test(an_answer_that_is_no_tool_s_is_its_text),
        cmocka_unit_test(a_tool_says_what_another_operation_answered),
        cmocka_unit_test(a_refusal_has_the_five_members_that_agents_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
