#include "base/ids.h"
#include "unit.h"
#include "wire/base64.h"

static void knows_the_examples(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf text = BUF_INIT(64);
        _buf_ struct buf bytes = BUF_INIT(64);
        assert_true(base64_encode(&text, cases[i][0], strlen(cases[i][0])));
        assert_string_equal(buf_str(&text), cases[i][1]);
        assert_int_equal(text.len, base64_encoded_len(strlen(cases[i][0])));
        assert_true(base64_decode(&bytes, cases[i][1], strlen(cases[i][1])));
        assert_string_equal(buf_str(&bytes), cases[i][0]);
    }
}

static void comes_back_as_it_was(void **state)
{
    (void)state;
    unsigned char data[257];
    for (size_t len = 0; len <= sizeof(data); len++) {
        _buf_ struct buf text = BUF_INIT(KIB);
        _buf_ struct buf bytes = BUF_INIT(KIB);
        ids_random(data, len);
        assert_true(base64_encode(&text, data, len));
        assert_true(base64_decode(&bytes, buf_str(&text), text.len));
        assert_int_equal(bytes.len, len);
        if (len > 0)
            assert_memory_equal(bytes.data, data, len);
    }
}

/* Where a whole group could be, and is not. */
static void takes_line_ends_anywhere_and_damage_nowhere(void **state)
{
    (void)state;
    static const char text[] = "Zm9vYmFyZm9vYmFyZm9vYmE=";
    for (size_t at = 0; at <= strlen(text); at++) {
        for (int is_damage = 0; is_damage <= 1; is_damage++) {
            _buf_ struct buf with = BUF_INIT(64);
            _buf_ struct buf bytes = BUF_INIT(17); /* no more than comes of it */
            buf_append(&with, text, at);
            buf_append_str(&with, is_damage ? "!" : "\r\n");
            buf_append_str(&with, text + at);
            assert_int_equal(base64_decode(&bytes, buf_str(&with), with.len), !is_damage);
            if (!is_damage)
                assert_string_equal(buf_str(&bytes), "foobarfoobarfooba");
            assert_false(bytes.overflowed);
        }
    }
}

static void refuses_what_is_not(void **state)
{
    (void)state;
    static const char *const cases[] = {"Z",    "Zg",       "Zg=",   "Zg===", "Zm8",
                                        "=",    "====",     "Zm9v=", "Zh==",  "Zm9=",
                                        "Z!==", "Zg==Zg==", "Zm 9v", "-_-_",  "Zg=v"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf bytes = BUF_INIT(64);
        if (base64_decode(&bytes, cases[i], strlen(cases[i])))
            fail_msg("took %s", cases[i]);
    }
    _buf_ struct buf small = BUF_INIT(2);
    assert_false(base64_decode(&small, "Zm9v", 4));
    assert_false(base64_encode(&small, "foo", 3));
    _buf_ struct buf lines = BUF_INIT(8);
    assert_true(base64_decode(&lines, "Zm\r\n9v\n", 7));
    assert_string_equal(buf_str(&lines), "foo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_examples),
        cmocka_unit_test(comes_back_as_it_was),
        cmocka_unit_test(takes_line_ends_anywhere_and_damage_nowhere),
        cmocka_unit_test(refuses_what_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
