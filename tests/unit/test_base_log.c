#include "base/log.h"
#include "unit.h"

#include <fcntl.h>
#include <jansson.h>

static char captured[64 * 1024];

/* Runs `statements` with stderr going to `captured`. */
#define CAPTURE(statements)                                                                        \
    do {                                                                                           \
        int ends[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);                             \
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);                                               \
        dup2(ends[1], STDERR_FILENO);                                                              \
        close(ends[1]);                                                                            \
        statements;                                                                                \
        dup2(saved, STDERR_FILENO);                                                                \
        close(saved);                                                                              \
        ssize_t got = read(ends[0], captured, sizeof(captured) - 1);                               \
        captured[got > 0 ? got : 0] = '\0';                                                        \
        close(ends[0]);                                                                            \
    } while (0)

static void text_lines_quote_what_needs_it(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    CAPTURE(log_info("started", LOG_TEXT("plain", "a/b"), LOG_TEXT("spaced", "a b"),
                     LOG_TEXT("empty", ""), LOG_NUM("n", -7)));
    assert_non_null(strstr(captured,
                           " level=info event=started plain=a/b spaced=\"a b\" empty=\"\" "
                           "n=-7\n"));
}

static void no_value_can_forge_a_line_or_a_field(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    CAPTURE(log_warn("x", LOG_TEXT("v", "a\nlevel=error event=\"forged\"\x7f\x1b[31m")));
    assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
    assert_null(strchr(captured, '\x1b'));
    assert_non_null(strstr(captured, "v=\"a\\u000alevel=error event=\\\"forged\\\"\\u007f"));
}

static void json_lines_are_json(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    CAPTURE(log_error("x", LOG_TEXT("v", "quote \" slash \\ line \n"), LOG_NUM("n", 1LL << 40)));
    json_t *line = json_loads(captured, 0, NULL);
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "level")), "error");
    assert_string_equal(json_string_value(json_object_get(line, "v")), "quote \" slash \\ line \n");
    assert_int_equal(json_integer_value(json_object_get(line, "n")), 1LL << 40);
    json_decref(line);
}

static void lower_levels_are_silent(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_WARN, LOG_FORMAT_TEXT);
    CAPTURE(log_debug("a"); log_info("b"); log_warn("c"));
    assert_null(strstr(captured, "event=a"));
    assert_null(strstr(captured, "event=b"));
    assert_non_null(strstr(captured, "event=c\n"));
}

static void a_line_is_bounded(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    _free_ char *big = mem_alloc(100000);
    memset(big, 'x', 99999);
    CAPTURE(log_info("big", LOG_TEXT("v", big)));
    assert_true(strlen(captured) <= 16 * KIB);
    assert_int_equal(captured[strlen(captured) - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_quote_what_needs_it),
        cmocka_unit_test(no_value_can_forge_a_line_or_a_field),
        cmocka_unit_test(json_lines_are_json),
        cmocka_unit_test(lower_levels_are_silent),
        cmocka_unit_test(a_line_is_bounded),
    };
    return cmocka_run_group_tests_name("base_log", tests, NULL, NULL);
}
