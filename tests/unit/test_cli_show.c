#include "cli/show.h"
#include "cli/terminal.h"
#include "unit.h"

static void expect_safe(const char *text, size_t len, bool keep_lines, const char *expected)
{
    _buf_ struct buf out = BUF_INIT(1 * KIB);
    cli_append_safe(&out, text, len, keep_lines);
    assert_string_equal(buf_str(&out), expected);
}

static void a_stranger_cannot_drive_the_terminal(void **state)
{
    (void)state;
    expect_safe("\033[2Jx\a\b\177", 8, true, "\\x1b[2Jx\\x07\\x08\\x7f");
    expect_safe("a\0b", 3, true, "a\\x00b");
    expect_safe("\xc2\x9b"
                "31m",
                5, true, "\\x9b31m"); /* the 8-bit CSI */
    expect_safe("\xe2\x80\xae"
                "evil",
                7, true, "\\u202eevil");
    expect_safe("\xff\xc3", 2, true, "\xef\xbf\xbd\xef\xbf\xbd");
    expect_safe("a\n\tb\r", 5, true, "a\n\tb\\x0d");
    expect_safe("a\n\tb", 4, false, "a\\x0a\\x09b");
}

static void ordinary_text_stays_as_it_is(void **state)
{
    (void)state;
    const char *text = "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x8d";
    expect_safe(text, strlen(text), false, text);
    expect_safe("", 0, false, "");
}

static void expect_described(const char *json, const char *expected)
{
    _json_ json_t *output = json_loads(json, JSON_DECODE_ANY, NULL);
    _buf_ struct buf out = BUF_INIT(1 * KIB);
    cli_describe_output(&out, output);
    assert_string_equal(buf_str(&out), expected);
}

static void outputs_are_described_whatever_they_hold(void **state)
{
    (void)state;
    expect_described("{\"type\":\"text\",\"text\":\"2\"}", "2");
    expect_described("{\"type\":\"dataframe\",\"text\":\"a b\",\"html\":\"<t>\"}", "a b");
    expect_described("{\"type\":\"image\",\"format\":\"png\",\"width\":640,\"height\":480,"
                     "\"data\":\"YWJj\"}",
                     "[image png 640x480, 3 B]");
    expect_described("{\"type\":\"image\",\"format\":\"../../x\",\"width\":\"a\",\"data\":5}",
                     "[image bin]");
    expect_described("{\"type\":\"image\",\"format\":\"png\",\"data\":\"not base64!\"}",
                     "[image png]");
    expect_described("{\"type\":\"svg\",\"svg\":\"<svg/>\"}", "[image svg, 6 B]");
    expect_described("{\"type\":\"html\",\"html\":\"<b>x</b>\"}",
                     "[html, 8 B; see it with --json]");
    expect_described("{\"type\":\"json\",\"json\":[1]}", "[\n  1\n]");
    expect_described("{}", "[an output that has no text; see it with --json]");
    expect_described("{\"type\":7,\"text\":7}", "[an output that has no text; see it with --json]");
    expect_described("[1]", "[an output that has no text; see it with --json]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_cannot_drive_the_terminal),
        cmocka_unit_test(ordinary_text_stays_as_it_is),
        cmocka_unit_test(outputs_are_described_whatever_they_hold),
    };
    return cmocka_run_group_tests_name("cli_show", tests, NULL, NULL);
}
