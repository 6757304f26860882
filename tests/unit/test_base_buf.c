#include "base/buf.h"
#include "unit.h"

static void starts_as_empty_text(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(10);
    assert_string_equal(buf_str(&b), "");
    buf_clear(&b);
    buf_consume(&b, 5);
    assert_true(buf_append(&b, NULL, 0));
    assert_string_equal(buf_str(&b), "");
}

static void grows_to_its_maximum_and_not_a_byte_further(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(1000);
    for (int i = 0; i < 1000; i++)
        assert_true(buf_append_char(&b, 'x'));
    assert_false(b.overflowed);
    assert_false(buf_append_char(&b, 'y'));
    assert_true(b.overflowed);
    assert_int_equal(b.len, 1000);
    assert_int_equal(strlen(b.data), 1000);
}

static void refuses_sizes_that_would_wrap(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(100);
    assert_true(buf_append_str(&b, "abc"));
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_false(buf_reserve(&b, SIZE_MAX - 2));
    assert_false(buf_append(&b, "z", 98));
    assert_string_equal(buf_str(&b), "abc");
}

static void what_does_not_fit_leaves_the_rest_alone(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(8);
    assert_true(buf_append_str(&b, "12345"));
    assert_false(buf_printf(&b, "%s", "too long"));
    assert_string_equal(buf_str(&b), "12345");
    assert_true(buf_printf(&b, "%03d", 7));
    assert_string_equal(buf_str(&b), "12345007");
    buf_clear(&b);
    assert_false(b.overflowed);
    assert_true(buf_append_str(&b, "again"));
}

static void consume_from_the_front(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(100);
    buf_append(&b, "a\0bcd", 5);
    buf_consume(&b, 2);
    assert_int_equal(b.len, 3);
    assert_string_equal(buf_str(&b), "bcd");
    buf_consume(&b, 0);
    assert_string_equal(buf_str(&b), "bcd");
    buf_consume(&b, 1000);
    assert_int_equal(b.len, 0);
    assert_string_equal(buf_str(&b), "");
}

static void keeps_its_maximum_after_free(void **state)
{
    (void)state;
    _buf_ struct buf b = BUF_INIT(3);
    buf_append_str(&b, "abc");
    buf_free(&b);
    assert_false(buf_append_str(&b, "abcd"));
    assert_true(buf_append_str(&b, "abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_as_empty_text),
        cmocka_unit_test(grows_to_its_maximum_and_not_a_byte_further),
        cmocka_unit_test(refuses_sizes_that_would_wrap),
        cmocka_unit_test(what_does_not_fit_leaves_the_rest_alone),
        cmocka_unit_test(consume_from_the_front),
        cmocka_unit_test(keeps_its_maximum_after_free),
    };
    return cmocka_run_group_tests_name("base_buf", tests, NULL, NULL);
}
