#include "unit.h"
#include "wire/json.h"

#include <math.h>

static void assert_escaped(const char *bytes, size_t len, const char *expected)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out o = JSON_OUT(&out);
    json_put_text(&o, bytes, len);
    assert_string_equal(buf_str(&out), expected);
}

#define ESCAPED(bytes, expected) assert_escaped(bytes, sizeof(bytes) - 1, expected)

static void escapes_text(void **state)
{
    (void)state;
    ESCAPED("", "\"\"");
    ESCAPED("plain", "\"plain\"");
    ESCAPED("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    ESCAPED("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    ESCAPED("\0\x01\x0b\x1f\x7f", "\"\\u0000\\u0001\\u000b\\u001f\x7f\"");
    ESCAPED("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n",
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\\n\"");
}

static void replaces_what_is_not_utf8(void **state)
{
    (void)state;
    ESCAPED("a\xff"
            "b",
            "\"a\xef\xbf\xbd"
            "b\"");
    ESCAPED("\xc3", "\"\xef\xbf\xbd\"");
    ESCAPED("\xc3\"", "\"\xef\xbf\xbd\\\"\"");
    ESCAPED("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    ESCAPED("\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    ESCAPED("\xe2\x82\n", "\"\xef\xbf\xbd\xef\xbf\xbd\\n\"");
}

static void writes_nested_values(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out o = JSON_OUT(&out);
    json_put_object(&o);
    json_put_member_int(&o, "min", INT64_MIN);
    json_put_member_int(&o, "zero", 0);
    json_put_member_real(&o, "ms", 0.1234, 3);
    json_put_member_real(&o, "nan", NAN, 3);
    json_put_member_bool(&o, "yes", true);
    json_put_member_null(&o, "nothing");
    json_put_member_str(&o, "none", NULL);
    json_put_member_some(&o, "none", 0);
    json_put_member_true(&o, "none", false);
    json_put_key(&o, "list");
    json_put_array(&o);
    json_put_array(&o);
    json_put_array_end(&o);
    json_put_raw(&o, "{}", 2);
    json_put_str(&o, "x");
    json_put_array_end(&o);
    json_put_key(&o, "empty");
    json_put_object(&o);
    json_put_object_end(&o);
    json_put_object_end(&o);
    assert_string_equal(buf_str(&out),
                        "{\"min\":-9223372036854775808,\"zero\":0,\"ms\":0.123,\"nan\":null,"
                        "\"yes\":true,\"nothing\":null,\"list\":[[],{},\"x\"],"
                        "\"empty\":{}}");
}

static void remembers_what_did_not_fit(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(8);
    struct json_out o = JSON_OUT(&out);
    json_put_object(&o);
    json_put_member_str(&o, "a", "a long text");
    json_put_object_end(&o);
    assert_true(out.overflowed && out.len <= 8);
}

static void writes_what_it_read(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":[1,-2,0.1,0.30000000000000004,1e+300,1.0,true,false,null],\"\\u00e4\\n\":{\"b\":"
        "\"\\\"\\u0001\\ud83d\\ude00\"}}";
    struct err e;
    _json_ json_t *value = NULL;
    assert_int_equal(json_read_object(text, sizeof(text) - 1, &value, &e), 0);
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out o = JSON_OUT(&out);
    json_put_value(&o, value);
    _json_ json_t *again = NULL;
    assert_int_equal(json_read_object(out.data, out.len, &again, &e), 0);
    assert_true(json_equal(value, again));
    assert_non_null(strstr(buf_str(&out), "0.1,0.30000000000000004,1e+300,1.0,true"));
}

static void assert_refused(const char *text, size_t len, enum err_code code, const char *expected)
{
    struct err e;
    json_t *value = NULL;
    assert_int_equal(json_read_object(text, len, &value, &e), -1);
    assert_null(value);
    assert_int_equal(e.code, code);
    if (strstr(e.message, expected) == NULL)
        fail_msg("\"%s\" does not hold \"%s\"", e.message, expected);
    assert_true(e.advice[0] != '\0');
}

#define REFUSED(text, expected) assert_refused(text, sizeof(text) - 1, ERR_INVALID, expected)

static void refuses_bad_json(void **state)
{
    (void)state;
    REFUSED("", "line 1, column 0");
    REFUSED("{\"a\":\n  oops}", "line 2, column 6");
    REFUSED("{\"a\":1", "expected near end of file");
    REFUSED("{\"a\":\"", "premature end of input");
    REFUSED("{} x", "end of file expected");
    REFUSED("{\"a\":1,\"a\":2}", "duplicate");
    REFUSED("{\"a\":\"\xff\"}", "line 1, column");
    REFUSED("{\"a\":\"\\ud800\"}", "line 1");
    REFUSED("{\"a\":\"\\u0000\"}", "\\u0000 cannot be part of a text");
    REFUSED("{\"a\":\"x\0y\"}", "NUL byte");
    REFUSED("{\"a\":99999999999999999999}", "number of \"a\" is too big");
    REFUSED("99999999999999999999", "number of \"\" is too big");
    REFUSED("{\"a\":1e999}", "\"a\" is too big");
    REFUSED("{'a':1}", "line 1");
    REFUSED("{\"a\":NaN}", "line 1");
    REFUSED("{\"a\":\"\n\"}", "line 1");
    REFUSED("[1]", "not an object");
    REFUSED("\"text\"", "not an object");
    REFUSED("\xef\xbb\xbf{}", "line 1");
}

static void limits_depth_and_values(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(4 * MIB);
    buf_append_str(&text, "{\"a\":");
    for (int i = 1; i < JSON_DEPTH_MAX; i++)
        buf_append_char(&text, '[');
    buf_append_str(&text, "\"[[[\\\"[[[\"");
    for (int i = 1; i < JSON_DEPTH_MAX; i++)
        buf_append_char(&text, ']');
    buf_append_char(&text, '}');
    struct err e;
    _json_ json_t *value = NULL;
    assert_int_equal(json_read_object(text.data, text.len, &value, &e), 0);

    buf_clear(&text);
    for (int i = 0; i < 100000; i++)
        buf_append_char(&text, '[');
    assert_refused(text.data, text.len, ERR_INVALID, "nested deeper");

    buf_clear(&text);
    buf_append_str(&text, "{\"a\":[");
    for (int i = 0; i < JSON_VALUES_MAX; i++)
        buf_append_str(&text, "0,");
    buf_append_str(&text, "0]}");
    assert_refused(text.data, text.len, ERR_TOO_LARGE, "more than 200000 values");
}

static void writes_errors(void **state)
{
    (void)state;
    struct err e;
    err_set(&e, ERR_NOT_FOUND, "no \"such\" thing");
    err_advise(&e, "Look.");
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out o = JSON_OUT(&out);
    json_put_error(&o, &e);
    assert_string_equal(buf_str(&out), "{\"error\":{\"code\":\"not_found\",\"message\":"
                                       "\"no \\\"such\\\" thing\",\"advice\":\"Look.\"}}");
}

static void files_have_limits_of_their_own(void **state)
{
    (void)state;
    static const struct json_limits limits = {.depth = 3, .values = 12};
    static const char with_nul[] = "{\"a\":\"x\\u0000y\"}";
    struct err e = {0};
    _json_ json_t *value = NULL;
    assert_int_equal(json_read_file_object(with_nul, strlen(with_nul), &limits, &value, &e), 0);
    assert_int_equal(json_string_length(json_object_get(value, "a")), 3);
    static const struct {
        const char *text;
        enum err_code code;
    } cases[] = {{"{\"a\":[[[1]]]}", ERR_INVALID},
                 {"{\"a\":[1,1,1,1,1,1,1,1,1,1,1,1]}", ERR_TOO_LARGE},
                 {"[]", ERR_INVALID},
                 {"{\"a\\u0000\":1}", ERR_INVALID}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *refused = NULL;
        e = (struct err){0};
        assert_int_equal(
            json_read_file_object(cases[i].text, strlen(cases[i].text), &limits, &refused, &e), -1);
        assert_int_equal(e.code, cases[i].code);
        assert_null(refused);
    }
}

/* "@" becomes `n` times `filling`. */
static void append_filled(struct buf *out, const char *pattern, const char *filling, size_t n)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '@')
            buf_append_char(out, *pattern);
        for (size_t i = 0; *pattern == '@' && i < n; i++)
            buf_append_str(out, filling);
    }
}

/* Long strings go another way; what comes of them is what the parser alone makes of it. */
static void expect_as_parser(const char *text, size_t len)
{
    json_error_t error = {0};
    struct err e;
    _json_ json_t *wanted = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    _json_ json_t *got = NULL;
    bool is_read = json_read_object(text, len, &got, &e) == 0;
    assert_int_equal(is_read, json_is_object(wanted));
    if (is_read) {
        assert_true(json_equal(wanted, got));
    } else if (wanted == NULL) {
        char place[64];
        snprintf(place, sizeof(place), "line %d, column %d", error.line, error.column);
        assert_non_null(strstr(e.message, place));
    }
}

static void long_strings_are_read_like_others(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "{\"a\":\"@\"}",
        "{\"a\":\"@\",\"b\":[\"@\",1,[\"@\"]],\"c\":{\"d\":\"@\"},\"e\":\"short\"}",
        "{\"@\":1}",
        "{\"@\":\"@\", \"b\" : \"@\" \n , \"c\":\"x\"}",
        "{\"a\":\"@\",\"a\":\"@\"}",
        "{\"a\":\"@",
        "{\"a\":\"@\"",
        "{\"a\":\"@\"}}",
        "{\"a\":\"@\" 1}",
        "{\"a\":\"@\",\"b\":nonsense}",
        "{\"a\":\"\\\"@\"}",
        "{\"a\":\"@\\\"\"}",
        "{\"a\":\"@\\\\\",\"b\":\"@\"}",
        "{\"a\":\"@\\u00e4\",\"b\":\"@\"}",
        "[\"@\"]",
        "\"@\"",
        "{\"a\":\"b\\\"c\",\"d\":\"@\"}",
    };
    static const char *const fillings[] = {"x",    "iVBORw0KGgo+/=", "\xc3\xa4", "a\x7f",  "a\nb",
                                           "\xff", "\x1f",           "{\\\"[",   "a,b:c]}"};
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        for (size_t j = 0; j < ARRAY_LEN(fillings); j++) {
            for (size_t n = 1; n <= 20000; n += 19999) {
                _buf_ struct buf text = BUF_INIT(8 * MIB);
                append_filled(&text, patterns[i], fillings[j], n);
                expect_as_parser(buf_str(&text), text.len);
            }
        }
    }
}

static void many_long_strings_are_all_there(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(8 * MIB);
    buf_append_str(&text, "{\"list\":[1");
    for (int i = 0; i < 100; i++)
        append_filled(&text, ",\"@\"", i % 2 ? "x" : "y", 17000);
    buf_append_str(&text, "]}");
    expect_as_parser(buf_str(&text), text.len);
}

/* In time that grows with their length, not with its square. */
static void strings_of_escapes_are_read(void **state)
{
    (void)state;
    static const char *const escapes[] = {"\\u0001", "\\\"", "\\\\"};
    enum { N = 1000 * 1000 };
    for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
        struct err e;
        json_t *object = NULL;
        _buf_ struct buf text = BUF_INIT(16 * MIB);
        buf_append_str(&text, "{\"a\":\"");
        for (int n = 0; n < N; n++)
            buf_append_str(&text, escapes[i]);
        buf_append_str(&text, "\"}");
        assert_int_equal(json_read_object(buf_str(&text), text.len, &object, &e), 0);
        assert_int_equal(json_string_length(json_object_get(object, "a")), N);
        json_decref(object);
        /* One that does not end. */
        assert_int_equal(json_read_object(buf_str(&text), text.len - 2, &object, &e), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_text),
        cmocka_unit_test(replaces_what_is_not_utf8),
        cmocka_unit_test(writes_nested_values),
        cmocka_unit_test(remembers_what_did_not_fit),
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(refuses_bad_json),
        cmocka_unit_test(limits_depth_and_values),
        cmocka_unit_test(writes_errors),
        cmocka_unit_test(files_have_limits_of_their_own),
        cmocka_unit_test(long_strings_are_read_like_others),
        cmocka_unit_test(many_long_strings_are_all_there),
        cmocka_unit_test(strings_of_escapes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
