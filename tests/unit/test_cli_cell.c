#include "cli/cell.h"
#include "unit.h"

static void expect_exit(const char *answer, int expected)
{
    json_error_t problem;
    _json_ json_t *object = json_loads(answer, 0, &problem);
    assert_non_null(object);
    if (cli_cell_exit_status(object) != expected)
        fail_msg("%s gives %d", answer, cli_cell_exit_status(object));
}

static void exit_statuses_follow_the_answer(void **state)
{
    (void)state;
    expect_exit("{\"status\":\"ok\",\"exit_code\":null}", 0);
    expect_exit("{\"status\":\"error\"}", 1);
    expect_exit("{\"status\":\"timeout\",\"exit_code\":137}", 124);
    expect_exit("{\"status\":\"interrupted\"}", 130);
    expect_exit("{\"status\":\"running\"}", 75);
    expect_exit("{\"status\":\"input_required\"}", 75);
    expect_exit("{\"status\":\"died\",\"exit_code\":null}", 1);
    expect_exit("{\"status\":\"new\"}", -1);
    expect_exit("{\"status\":0}", -1);
    expect_exit("{}", -1);
}

static void the_interpreter_has_its_say(void **state)
{
    (void)state;
    expect_exit("{\"status\":\"ok\",\"last_status\":0}", 0);
    expect_exit("{\"status\":\"ok\",\"last_status\":3}", 3);
    expect_exit("{\"status\":\"error\",\"last_status\":2}", 2);
    expect_exit("{\"status\":\"timeout\",\"last_status\":130}", 124);
    expect_exit("{\"status\":\"died\",\"exit_code\":0}", 0);
    expect_exit("{\"status\":\"died\",\"exit_code\":5}", 5);
    /* What no process can end with is not believed. */
    expect_exit("{\"status\":\"ok\",\"last_status\":-1}", 0);
    expect_exit("{\"status\":\"died\",\"exit_code\":256}", 1);
    expect_exit("{\"status\":\"ok\",\"last_status\":\"3\"}", 0);
}

#define LEFT(code, message)                                                                        \
    "{\"status\":\"error\",\"exit_code\":" code                                                    \
    ",\"error\":{\"name\":\"SystemExit\",\"message\":\"" message "\"}}"

static void code_that_leaves_says_with_what(void **state)
{
    (void)state;
    expect_exit(LEFT("null", "3"), 3);
    expect_exit(LEFT("null", "-1"), 255);
    expect_exit(LEFT("null", "256"), 1);
    expect_exit(LEFT("null", "no such column"), 1);
    expect_exit(LEFT("null", "3 of them"), 1);
    expect_exit(LEFT("null", ""), 1);
    expect_exit(LEFT("1", "3"), 1); /* sys.exit("3") */
    expect_exit("{\"status\":\"ok\",\"exit_code\":0,\"last_status\":0}", 0);
    expect_exit("{\"status\":\"ok\",\"exit_code\":3,\"last_status\":3}", 3);
    expect_exit("{\"status\":\"error\",\"exit_code\":9,\"error\":{\"name\":\"ErrExit\"}}", 9);
    expect_exit("{\"status\":\"error\",\"error\":{\"name\":\"KeyError\",\"message\":\"3\"}}", 1);
}

static void expect_left(const char *answer, int expected)
{
    json_error_t problem;
    _json_ json_t *object = json_loads(answer, 0, &problem);
    assert_non_null(object);
    if (cli_cell_left_with(object) != expected)
        fail_msg("%s left with %d", answer, cli_cell_left_with(object));
}

static void what_fails_has_not_left(void **state)
{
    (void)state;
    expect_left(LEFT("3", "3"), 3);
    expect_left(LEFT("null", "3"), 3);
    expect_left("{\"status\":\"ok\",\"exit_code\":0}", 0);
    expect_left("{\"status\":\"died\",\"exit_code\":4,\"error\":{\"name\":\"Exited\"}}", 4);
    expect_left("{\"status\":\"ok\",\"exit_code\":null}", -1);
    /* process.exitCode = 5, and set -e */
    expect_left("{\"status\":\"ok\",\"exit_code\":5}", -1);
    expect_left("{\"status\":\"error\",\"exit_code\":1,\"error\":{\"name\":\"ErrExit\"}}", -1);
    expect_left("{\"status\":\"died\",\"exit_code\":137,\"error\":{\"name\":\"Killed\"}}", -1);
}

static void code_is_checked_before_it_is_sent(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(cli_cell_check_code("1+1", 3, &e), 0);
    assert_int_equal(cli_cell_check_code("a\0b", 3, &e), -1);
    assert_int_equal(cli_cell_check_code("a\xff", 2, &e), -1);
    assert_non_null(strstr(e.message, "byte 1"));
    _free_ char *large = mem_alloc(CLI_CODE_MAX + 1);
    memset(large, ' ', CLI_CODE_MAX + 1);
    assert_int_equal(cli_cell_check_code(large, CLI_CODE_MAX, &e), 0);
    assert_int_equal(cli_cell_check_code(large, CLI_CODE_MAX + 1, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_statuses_follow_the_answer),
        cmocka_unit_test(the_interpreter_has_its_say),
        cmocka_unit_test(code_that_leaves_says_with_what),
        cmocka_unit_test(what_fails_has_not_left),
        cmocka_unit_test(code_is_checked_before_it_is_sent),
    };
    return cmocka_run_group_tests_name("cli_cell", tests, NULL, NULL);
}
