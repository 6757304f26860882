#include "cell/outputs.h"
#include "unit.h"

static struct output_view first_of(const char *outputs)
{
    struct output_scan scan = OUTPUT_SCAN(outputs, strlen(outputs));
    struct output_view view;
    assert_true(output_next(&scan, &view));
    return view;
}

static void expect_public(const char *stored, const char *text)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    struct json_out json = JSON_OUT(&out);
    output_put_public(&json, stored, strlen(stored));
    assert_string_equal(buf_str(&out), text);
}

static void test_callers_do_not_see_the_names_of_blobs(void **state)
{
    (void)state;
    expect_public("[]", "[]");
    expect_public("[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"ref\":\"r\","
                  "\"hash\":\"abc\",\"updates\":1},{\"json\":{\"a\":1,\"hash\":\"mine\"}}]",
                  "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"ref\":\"r\","
                  "\"updates\":1},{\"json\":{\"a\":1,\"hash\":\"mine\"}}]");
    /* What we did not write is left as it is. */
    expect_public("[{\"hash\":\"abc\"},{\"a\":1,\"hash\":12},{\"a\":\",\\\"hash\\\":\\\"x\"}]",
                  "[{\"hash\":\"abc\"},{\"a\":1,\"hash\":12},{\"a\":\",\\\"hash\\\":\\\"x\"}]");
}

static void test_an_update_is_the_last_member_and_has_an_id(void **state)
{
    (void)state;
    struct output_view view = first_of("[{\"display_id\":\"x\",\"text\":\"a\",\"updates\":1}]");
    assert_true(output_is_update(&view));
    struct output_text text = output_unmarked(&view);
    assert_int_equal(text.len, strlen("{\"display_id\":\"x\",\"text\":\"a\""));
    view = first_of("[{\"updates\":1}]");
    assert_false(output_is_update(&view));
    view = first_of("[{\"display_id\":\"x\",\"updates\":1,\"text\":\"a\"}]");
    assert_false(output_is_update(&view));
    view = first_of("[{\"display_id\":\"x\",\"updates\":\"1\"}]");
    assert_false(output_is_update(&view));
}

static void test_what_is_the_same(void **state)
{
    (void)state;
    struct output_view update = first_of("[{\"display_id\":\"x\",\"text\":\"a\",\"updates\":1}]");
    struct output_view same = first_of("[{\"display_id\":\"x\",\"text\":\"a\"}]");
    struct output_view other = first_of("[{\"display_id\":\"x\",\"text\":\"b\"}]");
    assert_true(output_is_same(&same, &update));
    assert_false(output_is_same(&other, &update));
    update = first_of("[{\"display_id\":\"x\",\"ref\":\"r\",\"hash\":\"abc\",\"updates\":1}]");
    same = first_of("[{\"display_id\":\"x\",\"ref\":\"s\",\"hash\":\"abc\"}]");
    assert_true(output_is_same(&same, &update));
    assert_false(output_is_same(&other, &update));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers_do_not_see_the_names_of_blobs),
        cmocka_unit_test(test_an_update_is_the_last_member_and_has_an_id),
        cmocka_unit_test(test_what_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
