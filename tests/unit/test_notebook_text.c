#include "notebook/text.h"
#include "unit.h"

static void lines_join_to_what_they_were(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "\n", "a", "a\n", "a\nb", "\n\na\n\n"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *lines = text_lines(cases[i], strlen(cases[i]));
        json_t *joined = text_join(lines);
        assert_string_equal(json_string_value(joined), cases[i]);
        json_decref(joined);
        json_decref(lines);
    }
    json_t *wrong = json_pack("[s, i]", "a", 1);
    assert_null(text_join(wrong));
    assert_null(text_join(NULL));
    json_decref(wrong);
}

static void expect_settled(const char *text, const char *expected)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    text_append_settled(&out, text, strlen(text));
    assert_string_equal(buf_str(&out), expected);
}

static void terminals_settle(void **state)
{
    (void)state;
    expect_settled("plain\ntext", "plain\ntext");
    expect_settled("\x1b[0;31mred\x1b[0m", "red");
    expect_settled(" 10%\r 50%\r100%\n", "100%\n");
    expect_settled("dos\r\nlines\r\n", "dos\nlines\n");
    expect_settled("gone\r\r\n", "gone\n");
    expect_settled("\x1b]8;;http://x\x1b\\link\x1b]8;;\a", "link");
    expect_settled("\x1b", "");
    expect_settled("\x1b[", "");
    expect_settled("\x1b[31", "");
    expect_settled("a\x1b(Bb", "aBb");
    expect_settled("\x1b\nb", "\nb");
    expect_settled("\x1b\xc3\xa9", "\xc3\xa9");
    expect_settled("\x1b[1\xc3\xa9", "\xc3\xa9");
}

static void html_is_escaped(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(KIB);
    static const char text[] = "<a href=\"x\">&'\0\x1b\t\n\xc3\xa9</a>";
    text_append_html(&out, text, sizeof(text) - 1);
    assert_string_equal(buf_str(&out), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\xef\xbf\xbd"
                                       "\xef\xbf\xbd\t\n\xc3\xa9&lt;/a&gt;");
}

static void comments_come_off_again(void **state)
{
    (void)state;
    static const char *const cases[] = {"a", "a\n\nb", "  x\n# y", ""};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf commented = BUF_INIT(KIB), plain = BUF_INIT(KIB);
        text_append_prefixed(&commented, "# ", cases[i], strlen(cases[i]));
        assert_true(text_append_unprefixed(&plain, "# ", buf_str(&commented), commented.len));
        size_t len = strlen(cases[i]);
        assert_int_equal(plain.len, len + (len > 0));
        assert_memory_equal(buf_str(&plain), cases[i], len);
    }
    _buf_ struct buf out = BUF_INIT(KIB);
    assert_false(text_append_unprefixed(&out, "# ", "# a\nb", 5));
}

static void base64_is_looked_at(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(KIB);
    assert_true(text_append_base64(&out, "Zg=\n=\n", 6));
    assert_string_equal(buf_str(&out), "Zg==");
    assert_false(text_append_base64(&out, "Zg\"onload", 9));
    assert_false(text_append_base64(&out, "Z\0", 2));
    assert_int_equal(out.len, 4);
    assert_int_equal(text_longest_run("a``b```c`", 9, '`'), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_join_to_what_they_were),
        cmocka_unit_test(terminals_settle),
        cmocka_unit_test(html_is_escaped),
        cmocka_unit_test(comments_come_off_again),
        cmocka_unit_test(base64_is_looked_at),
    };
    return cmocka_run_group_tests_name("notebook_text", tests, NULL, NULL);
}
