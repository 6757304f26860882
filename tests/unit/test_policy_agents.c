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

static void spawn_refused(const struct agents_grant *grant, const char *runtime, size_t n,
                          enum err_code code, const char *message)
{
    struct err e = {0};
    assert_int_equal(agents_check_spawn(grant, runtime, n, &e), -1);
    assert_int_equal(e.code, code);
    assert_string_equal(e.message, message);
    assert_true(e.advice[0] != '\0');
}

static void runtimes_and_numbers_are_checked(void **state)
{
    (void)state;
    struct err e = {0};
    struct agents_grant ana = resolve("ana", NULL), mail = resolve("ana", "mail");
    assert_int_equal(agents_check_spawn(&ana, "node", 1, &e), 0);
    spawn_refused(&ana, "bash", 0, ERR_FORBIDDEN,
                  "runtime 'bash' not in allowed list: [\"python\", \"node\"]");
    spawn_refused(&ana, "cobol", 0, ERR_FORBIDDEN,
                  "runtime 'cobol' not in allowed list: [\"python\", \"node\"]");
    spawn_refused(&mail, "python", 0, ERR_FORBIDDEN,
                  "runtime 'python' not in this binding's allowed_runtimes ([\"bash\"])");
    spawn_refused(&ana, "node", 2, ERR_LIMIT,
                  "session limit reached (2) — kill an existing session first");
    spawn_refused(&ana, "node", 7, ERR_LIMIT,
                  "session limit reached (2) — kill an existing session first");
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
        cmocka_unit_test(runtimes_and_numbers_are_checked),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
