/* The configuration in force is replaced in one step, and plan mode outlives it. */
#include "policy/policy.h"
#include "unit.h"

static struct config parse(const char *text)
{
    struct config c;
    struct err e = {0};
    if (config_parse(text, strlen(text), "test.yaml", &c, &e) < 0)
        fail_msg("%s", e.message);
    return c;
}

static uint32_t max_sessions_of(const struct policy *policy, const char *agent)
{
    struct err e;
    struct agents_grant grant;
    struct agents_claim claim = {.agent = agent};
    if (agents_resolve(policy->config, &claim, &grant, &e) < 0)
        return 0;
    return grant.repl.max_sessions;
}

static void the_next_configuration_holds_at_once(void **state)
{
    (void)state;
    struct config first = parse("agents: [{id: ana, repl: {enabled: true, max_sessions: 1}}]");
    struct policy policy;
    policy_init(&policy, &first);
    assert_int_equal(max_sessions_of(&policy, "ana"), 1);
    for (int i = 0; i < 3; i++) {
        struct config next = parse("agents: [{id: ana, repl: {enabled: true, max_sessions: 2}}]");
        policy_replace(&policy, &next);
        assert_null(next.agents); /* it was taken over */
        assert_int_equal(max_sessions_of(&policy, "ana"), 2);
    }
    struct config last = parse("");
    policy_replace(&policy, &last);
    assert_int_equal(max_sessions_of(&policy, "ana"), 0);
    policy_free(&policy);
    assert_int_equal(first.agents[0].repl.max_sessions, 1); /* it was only borrowed */
    config_free(&first);
}

static void what_was_granted_needs_no_configuration(void **state)
{
    (void)state;
    struct err e;
    struct agents_grant grant;
    struct config c = parse("agents: [{id: ana, repl: {enabled: true, allowed_runtimes: [node]}}]");
    struct agents_claim claim = {.agent = "ana"};
    assert_int_equal(agents_resolve(&c, &claim, &grant, &e), 0);
    config_free(&c);
    assert_int_equal(agents_check_runtime(&grant, "node", &e), 0);
    assert_int_equal(agents_check_runtime(&grant, "bash", &e), -1);
    assert_non_null(strstr(e.message, "[\"node\"]"));
}

static void plans_of_agents(void **state)
{
    (void)state;
    struct err e;
    struct config first = parse("agents: [{id: ana}]"), next = parse("");
    struct policy policy;
    policy_init(&policy, &first);
    assert_null(policy_plan_of(&policy, "ana"));
    assert_int_equal(policy_enter_plan(&policy, "ana", "one", &e), 0);
    const struct plan *plan = policy_plan_of(&policy, "ana");
    uint64_t entered = plan->entered_at_ms;
    assert_true(plan_is_on(plan) && entered > 0);
    assert_int_equal(policy_enter_plan(&policy, "ana", NULL, &e), 0);
    assert_null(plan->reason);
    assert_int_equal(plan->entered_at_ms, entered);
    assert_int_equal(policy_enter_plan(&policy, "bob", "x", &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    policy_replace(&policy,
                   &next); /* ana is gone, and would still be in plan mode if she came back */
    assert_non_null(policy_plan_of(&policy, "ana"));
    policy_leave_plan(&policy, "ana");
    policy_leave_plan(&policy, "ana");
    assert_null(policy_plan_of(&policy, "ana"));
    assert_int_equal(policy_enter_plan(&policy, "default", "kept until the end", &e), 0);
    policy_free(&policy);
    config_free(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_configuration_holds_at_once),
        cmocka_unit_test(what_was_granted_needs_no_configuration),
        cmocka_unit_test(plans_of_agents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
