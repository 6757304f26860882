#include "base/err.h"
#include "unit.h"

#include <errno.h>

static void set_returns_minus_one_and_forgets_old_advice(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_set(&e, ERR_NOT_FOUND, "no session %s", "x"), -1);
    assert_int_equal(err_advise(&e, "List them with %s.", "ps"), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.message, "no session x");
    assert_string_equal(e.advice, "List them with ps.");
    err_set(&e, ERR_LIMIT, "full");
    assert_string_equal(e.advice, "");
}

static void errno_of_either_sign(void **state)
{
    (void)state;
    struct err e = {0};
    err_errno(&e, ERR_INTERNAL, ENOENT, "opening %s", "f");
    assert_string_equal(e.message, "opening f: No such file or directory");
    err_errno(&e, ERR_INTERNAL, -EPERM, "opening");
    assert_string_equal(e.message, "opening: Operation not permitted");
}

static void context_goes_in_front(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, ERR_INVALID, "bad");
    err_advise(&e, "Mend it.");
    assert_int_equal(err_context(&e, "reading %d", 3), -1);
    err_context(&e, "starting");
    assert_string_equal(e.message, "starting: reading 3: bad");
    assert_string_equal(e.advice, "Mend it.");
    assert_int_equal(e.code, ERR_INVALID);
}

static void long_texts_are_cut_not_overrun(void **state)
{
    (void)state;
    struct err e = {0};
    char text[2000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    err_set(&e, ERR_INVALID, "%s", text);
    err_advise(&e, "%s", text);
    assert_int_equal(strlen(e.message), sizeof(e.message) - 1);
    assert_int_equal(strlen(e.advice), sizeof(e.advice) - 1);
    for (size_t i = 9; i < sizeof(text) - 1; i += 10)
        text[i] = ' ';
    err_advise(&e, "%s", text);
    assert_string_equal(e.advice + strlen(e.advice) - strlen("xxxx …"), "xxxx …");
    for (int i = 0; i < 20; i++)
        err_context(&e, "%s", text);
    assert_true(strlen(e.message) < sizeof(e.message));
    err_errno(&e, ERR_INVALID, EIO, "%s", text);
    assert_true(strlen(e.message) < sizeof(e.message));
}

static void every_code_has_all_its_numbers(void **state)
{
    (void)state;
    for (int code = ERR_NONE; code <= ERR_INTERNAL; code++) {
        assert_non_null(err_code_name((enum err_code)code));
        assert_in_range(err_http_status((enum err_code)code), 200, 599);
        assert_in_range(err_exit_status((enum err_code)code), 0, 125);
        if (code != ERR_NONE) {
            assert_in_range(err_http_status((enum err_code)code), 400, 599);
            assert_int_not_equal(err_exit_status((enum err_code)code), 0);
            assert_int_not_equal(err_exit_status((enum err_code)code), 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_returns_minus_one_and_forgets_old_advice),
        cmocka_unit_test(errno_of_either_sign),
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
        cmocka_unit_test(every_code_has_all_its_numbers),
    };
    return cmocka_run_group_tests_name("base_err", tests, NULL, NULL);
}
