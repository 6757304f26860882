#include "policy/agents.h"
#include "unit.h"

static const char text[] = "agents:\n"
                           "- {id: ana, repl: {enabled: true, allowed_runtimes: [python, node],\n"
                           "   max_sessions: 2, timeout_secs: 7, max_output_bytes: 2048}}\n"
                           "- id: bob\n"
                           "- {id: eve, repl: {enabled: true}}\n"
                           "inbound_bindings:\n"
                           "- {plugin: mail, repl: {enabled: true, allowed_runtimes: [bash]}}\n"
                           "- {plugin: mail, agent: eve, repl: {allowed_runtimes: [bash]}}\n"
                           "- {plugin: chat, repl: {enabled: true, allowed_runtimes: []}}\n"
                           "- {plugin: none}\n";

static struct config config;

static int load(void **state)
{
    (void)state;
    struct err e = {0};
    return config_parse(text, strlen(text), "test.yaml", &config, &e);
}

static int unload(void **state)
{
    (void)state;
    config_free(&config);
    return 0;
}

static struct agents_grant resolve(const char *agent, const char *binding)
{
    struct err e = {0};
    struct agents_grant grant;
    struct agents_claim claim = {.agent = agent, .binding = binding};
    if (agents_resolve(&config, &claim, &grant, &e) < 0)
        fail_msg("%s", e.message);
    return grant;
}

static void refused(const char *agent, const char *binding, const char *message)
{
    struct err e = {0};
    struct agents_grant grant;
    struct agents_claim claim = {.agent = agent, .binding = binding};
    assert_int_equal(agents_resolve(&config, &claim, &grant, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_string_equal(e.message, message);
    assert_non_null(strstr(e.advice, "enabled: true"));
    assert_non_null(strstr(e.advice, "test.yaml"));
}

static void an_agent_has_its_own_settings(void **state)
{
    (void)state;
    struct agents_grant grant = resolve("ana", NULL);
    assert_int_equal(grant.repl.max_sessions, 2);
    assert_int_equal(grant.repl.timeout_secs, 7);
    assert_int_equal(grant.repl.n_runtimes, 2);
    assert_false(grant.is_of_binding);
    assert_int_equal(resolve(NULL, NULL).repl.n_runtimes, 3);
    assert_int_equal(resolve("default", NULL).repl.max_sessions, config.max_sessions);
}

/* Not a mixture: what the binding does not say is the default, not the agent's. */
static void a_binding_replaces_everything(void **state)
{
    (void)state;
    struct agents_grant grant = resolve("ana", "mail");
    assert_true(grant.is_of_binding);
    assert_int_equal(grant.repl.n_runtimes, 1);
    assert_string_equal(grant.repl.runtimes[0], "bash");
    assert_int_equal(grant.repl.max_sessions, 3);
    assert_int_equal(grant.repl.timeout_secs, 30);
    assert_int_equal(grant.repl.max_output_bytes, 65536);
}

static void a_binding_can_enable_an_agent_that_is_off(void **state)
{
    (void)state;
    assert_true(resolve("bob", "mail").repl.is_enabled);
}

static void an_empty_list_of_a_binding_inherits(void **state)
{
    (void)state;
    struct agents_grant grant = resolve("ana", "chat");
    assert_false(grant.is_of_binding);
    assert_int_equal(grant.repl.n_runtimes, 2);
    assert_string_equal(grant.repl.runtimes[0], "python");
    assert_int_equal(grant.repl.max_sessions, 3);
}

static void bindings_that_say_nothing_change_nothing(void **state)
{
    (void)state;
    assert_int_equal(resolve("ana", "none").repl.max_sessions, 2);
    assert_int_equal(resolve("ana", "unheard-of").repl.max_sessions, 2);
}

static void who_is_not_enabled_is_refused(void **state)
{
    (void)state;
    refused("bob", NULL, "no interpreters for the agent \"bob\"");
    refused("carl", NULL, "there is no agent \"carl\"");
    refused("carl", "mail", "there is no agent \"carl\"");
    refused("", NULL, "there is no agent \"\"");
    refused("eve", "mail", "no interpreters through the binding \"mail\"");
}

static void is_refusal(const struct err *e, enum err_code code, const char *message)
{
    assert_int_equal(e->code, code);
    assert_string_equal(e->message, message);
    assert_true(e->advice[0] != '\0');
}

static void runtime_refused(const struct agents_grant *grant, const char *runtime,
                            const char *message)
{
    struct err e = {0};
    assert_int_equal(agents_check_runtime(grant, runtime, &e), -1);
    is_refusal(&e, ERR_FORBIDDEN, message);
}

static void runtimes_are_checked(void **state)
{
    (void)state;
    struct err e = {0};
    struct agents_grant ana = resolve("ana", NULL), mail = resolve("ana", "mail");
    assert_int_equal(agents_check_runtime(&ana, "node", &e), 0);
    runtime_refused(&ana, "bash", "runtime 'bash' not in allowed list: [\"python\", \"node\"]");
    runtime_refused(&ana, "cobol", "runtime 'cobol' not in allowed list: [\"python\", \"node\"]");
    runtime_refused(&mail, "python",
                    "runtime 'python' not in this binding's allowed_runtimes ([\"bash\"])");
}

static void numbers_are_checked(void **state)
{
    (void)state;
    static const char full[] = "session limit reached (2) — kill an existing session first";
    struct err e = {0};
    struct agents_grant ana = resolve("ana", NULL);
    assert_int_equal(agents_check_number(&ana, 1, 1, &e), 0);
    assert_int_equal(agents_check_number(&ana, 0, 2, &e), 0);
    assert_int_equal(agents_check_number(&ana, 2, 1, &e), -1);
    is_refusal(&e, ERR_LIMIT, full);
    assert_int_equal(agents_check_number(&ana, 7, 1, &e), -1);
    is_refusal(&e, ERR_LIMIT, full);
    assert_int_equal(agents_check_number(&ana, 1, 2, &e), -1);
    is_refusal(&e, ERR_LIMIT, "2 more sessions would be more than the limit (2): there are 1");
}

static void amounts_are_checked(void **state)
{
    (void)state;
    struct err e = {0};
    struct agents_grant ana = resolve("ana", NULL), anybody = resolve(NULL, NULL);
    assert_int_equal(agents_check_timeout(&ana, 7000, &e), 0);
    assert_int_equal(agents_check_timeout(&ana, 7001, &e), -1);
    is_refusal(&e, ERR_FORBIDDEN, "\"timeout_ms\" is 7001, and at most 7000 is allowed here");
    assert_int_equal(agents_check_timeout(&anybody, 86400 * 1000, &e), 0);
    assert_int_equal(ana.repl.max_answer_bytes, 2048);
    assert_true(anybody.repl.max_answer_bytes > (int64_t)anybody.repl.max_output_bytes);
}

/* An agent's ceiling is never above the one for everybody; what neither says is the machine's. */
static void ceilings(void **state)
{
    (void)state;
    static const char yaml[] =
        "limits: {pids: 9999}\n"
        "max_limits: {memory_mb: 256, disk_mb: 2000}\n"
        "agents:\n"
        "- {id: ana, repl: {enabled: true, max_limits: {memory_mb: 999, disk_mb: 100}}}\n";
    struct err e = {0};
    struct config c;
    struct agents_grant ana, anybody;
    struct agents_claim claim = {.agent = "ana"}, none = {0};
    if (config_parse(yaml, strlen(yaml), "test.yaml", &c, &e) < 0)
        fail_msg("%s", e.message);
    assert_int_equal(agents_resolve(&c, &claim, &ana, &e), 0);
    assert_int_equal(agents_resolve(&c, &none, &anybody, &e), 0);
    assert_int_equal(ana.repl.ceiling.memory_mb, 256);
    assert_int_equal(ana.repl.ceiling.disk_mb, 100);
    assert_int_equal(ana.limits.memory_mb, 256);
    assert_int_equal(ana.limits.disk_mb, 100);
    assert_int_equal(anybody.limits.disk_mb, 1024);
    assert_int_equal(anybody.repl.ceiling.pids, 9999);
    assert_true(anybody.repl.ceiling.cpu_percent >= 100);
    struct jail_limits asked = ana.limits;
    assert_int_equal(agents_check_limits(&ana, &asked, &e), 0);
    asked.cpu_seconds = 7; /* has no ceiling */
    assert_int_equal(agents_check_limits(&ana, &asked, &e), 0);
    asked.disk_mb = 101;
    assert_int_equal(agents_check_limits(&ana, &asked, &e), -1);
    is_refusal(&e, ERR_FORBIDDEN, "\"limits.disk_mb\" is 101, and at most 100 is allowed here");
    assert_non_null(strstr(e.advice, "max_limits.disk_mb"));
    config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_has_its_own_settings),
        cmocka_unit_test(a_binding_replaces_everything),
        cmocka_unit_test(a_binding_can_enable_an_agent_that_is_off),
        cmocka_unit_test(an_empty_list_of_a_binding_inherits),
        cmocka_unit_test(bindings_that_say_nothing_change_nothing),
        cmocka_unit_test(who_is_not_enabled_is_refused),
        cmocka_unit_test(runtimes_are_checked),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(amounts_are_checked),
        cmocka_unit_test(ceilings),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
