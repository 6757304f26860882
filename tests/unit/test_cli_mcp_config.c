#include "cli/mcp_config.h"
#include "unit.h"

static const struct mcp_config_client *client_of(const char *name)
{
    const struct mcp_config_client *c = mcp_config_clients;
    while (strcmp(c->name, name) != 0)
        c++;
    return c;
}

static void paths_with_odd_letters_are_quoted(void **state)
{
    (void)state;
    const char *const arguments[] = {"--tools", "core,repl", NULL};
    _buf_ struct buf json = BUF_INIT(KIB), shell = BUF_INIT(KIB);
    mcp_config_append(client_of("codex"), "/opt/my \"tools\"/cella", arguments, &json);
    assert_string_equal(buf_str(&json), "[mcp_servers.cella]\n"
                                        "command = \"/opt/my \\\"tools\\\"/cella\"\n"
                                        "args = [\"mcp\", \"--tools\", \"core,repl\"]\n"
                                        "tool_timeout_sec = 600\n");
    mcp_config_append(client_of("inspector"), "/opt/it's/cella", arguments, &shell);
    assert_string_equal(buf_str(&shell),
                        "npx @modelcontextprotocol/inspector '/opt/it'\\''s/cella' "
                        "mcp --tools core,repl\n");
}

static void every_client_has_an_entry_with_the_program(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    for (const struct mcp_config_client *c = mcp_config_clients; c->name != NULL; c++) {
        _buf_ struct buf out = BUF_INIT(4 * KIB);
        mcp_config_append(c, "/usr/bin/cella", none, &out);
        assert_non_null(strstr(buf_str(&out), "/usr/bin/cella"));
        assert_non_null(strstr(buf_str(&out), "mcp"));
        assert_null(strchr(buf_str(&out), '%'));
        assert_non_null(c->title);
        assert_non_null(c->where);
    }
}

static void an_unknown_client_is_told_the_known_ones(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    struct err e = {0};
    assert_int_equal(mcp_config_print("clippy", none, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.advice, "claude-code, claude-desktop"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_with_odd_letters_are_quoted),
        cmocka_unit_test(every_client_has_an_entry_with_the_program),
        cmocka_unit_test(an_unknown_client_is_told_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
