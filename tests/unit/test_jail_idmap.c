/* What /etc/subuid gives to a user, whatever else is in it. */
#include "jail/warden/idmap.h"
#include "unit.h"

#include <errno.h>

static unsigned first_of(const char *text)
{
    unsigned first = 0;
    assert_int_equal(idmap_parse(text, "ada", 1001, &first), 0);
    return first;
}

static int refusal_of(const char *text)
{
    unsigned first = 7;
    int r = idmap_parse(text, "ada", 1001, &first);
    assert_int_equal(first, 7); /* untouched */
    return r;
}

static void the_last_ids_of_a_range_are_taken(void **state)
{
    (void)state;
    assert_int_equal(first_of("ada:100000:60000\n"), 100000);
    assert_int_equal(first_of("ada:100000:65536\n"), 105536);
    assert_int_equal(first_of("ada:100000:65536"), 105536); /* no end of line */
    assert_int_equal(first_of("ada:4294907295:60000\n"), 4294907295U);
}

static void a_user_is_found_by_name_and_by_number(void **state)
{
    unsigned first = 0;
    (void)state;
    assert_int_equal(first_of("bob:100000:65536\n1001:300000:60000\nada:400000:60000\n"), 300000);
    assert_int_equal(idmap_parse("1001:300000:60000\n", NULL, 1001, &first), 0);
    assert_int_equal(idmap_parse(":300000:60000\n", NULL, 1001, &first), -ENOENT);
    assert_int_equal(idmap_parse(":300000:60000\n", "", 1001, &first), -ENOENT);
}

static void a_range_that_is_too_small_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(first_of("ada:100000:59999\nada:300000:60000\n"), 300000);
    assert_int_equal(refusal_of("ada:100000:59999\nada:159999:59999\n"), -ERANGE);
}

static void ranges_of_somebody_else_are_not_found(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "bob:100000:65536\n",
        "adam:100000:65536\nad:100000:65536\n ada:100000:65536\nADA:100000:65536\n",
        "11001:100000:65536\n01001:100000:65536\n1001 :100000:65536\n",
        "#ada:100000:65536\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(refusal_of(texts[i]), -ENOENT);
}

/* Accounts, the user itself, and what is no id. */
static void ranges_of_accounts_are_refused(void **state)
{
    unsigned first = 7;
    (void)state;
    assert_int_equal(refusal_of("ada:0:4294967295\n"), -ERANGE);
    assert_int_equal(refusal_of("ada:1000:65536\n"), -ERANGE);
    assert_int_equal(refusal_of("ada:65535:65536\n"), -ERANGE);
    assert_int_equal(refusal_of("ada:4294907296:60000\n"), -ERANGE);
    assert_int_equal(refusal_of("ada:9999999999:9999999999\n"), -ERANGE);
    assert_int_equal(idmap_parse("ada:100000:65536\n", "ada", 120000, &first), -ERANGE);
    assert_int_equal(first, 7);
}

static void lines_that_are_none_are_passed_over(void **state)
{
    static const char *const lines[] = {
        "ada",
        "ada:",
        "ada::",
        "ada:100000",
        "ada:100000:",
        "ada::65536",
        "ada:100000:65536:",
        "ada:100000:65536 ",
        "ada:100000:65536\r",
        "ada:-100000:65536",
        "ada:+100000:65536",
        "ada:0x186a0:65536",
        "ada: 100000:65536",
        "ada:100000:18446744073709617152", /* 65536 with 64 bits */
        "ada:00000100000:65536",
        ":::",
        "ada:1e5:65536",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char text[128];
        assert_int_equal(refusal_of(lines[i]), -ENOENT);
        snprintf(text, sizeof(text), "%s\nada:200000:60000\n", lines[i]);
        assert_int_equal(first_of(text), 200000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_ids_of_a_range_are_taken),
        cmocka_unit_test(a_user_is_found_by_name_and_by_number),
        cmocka_unit_test(a_range_that_is_too_small_is_passed_over),
        cmocka_unit_test(ranges_of_somebody_else_are_not_found),
        cmocka_unit_test(ranges_of_accounts_are_refused),
        cmocka_unit_test(lines_that_are_none_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
