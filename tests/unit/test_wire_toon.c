#include "unit.h"
#include "wire/json.h"
#include "wire/toon.h"

static json_t *from_json(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    assert_non_null(value);
    return value;
}

/* The value is written as this text, and the text read as the value. */
static void assert_toon(const char *json, const char *toon)
{
    struct err e = {0};
    _json_ json_t *value = from_json(json);
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    assert_true(toon_encode(value, &text));
    assert_string_equal(buf_str(&text), toon);
    _json_ json_t *again = toon_decode(toon, strlen(toon), &e);
    assert_non_null(again);
    _buf_ struct buf second = BUF_INIT(64 * KIB);
    assert_true(toon_encode(again, &second));
    assert_string_equal(buf_str(&second), toon);
}

static void writes_objects_and_lists(void **state)
{
    (void)state;
    assert_toon("{}", "");
    assert_toon("[]", "[]");
    assert_toon("{\"id\":1,\"name\":\"Ada\",\"ok\":true,\"none\":null}",
                "id: 1\nname: Ada\nok: true\nnone: null");
    assert_toon("{\"a\":{\"b\":{\"c\":1},\"e\":{}},\"l\":[]}", "a:\n  b:\n    c: 1\n  e:\nl: []");
    assert_toon("{\"tags\":[\"x\",1,null,\"\"]}", "tags[4]: x,1,null,\"\"");
    assert_toon("[1,[2,[]],{},{\"a\":1,\"b\":[3]}]",
                "[4]:\n  - 1\n  - [2]:\n    - 2\n    - [0]:\n  -\n  - a: 1\n    b[1]: 3");
    assert_toon("[[{\"a\":1},{\"a\":2}]]", "[1]:\n  - [2]:\n    - a: 1\n    - a: 2");
}

static void writes_tables(void **state)
{
    (void)state;
    assert_toon("{\"files\":[{\"name\":\"a,b\",\"size\":1},{\"size\":2,\"name\":\"c\"}]}",
                "files[2]{name,size}:\n  \"a,b\",1\n  c,2");
    assert_toon("[{\"p\":{\"x\":1,\"y\":2},\"n\":\"a\"},{\"p\":{\"x\":3,\"y\":4},\"n\":null}]",
                "[2]{p{x,y},n}:\n  1,2,a\n  3,4,null");
    assert_toon("{\"a\":{\"x\":1},\"b\":{\"x\":2}}", "[2:]{x}:\n  a: 1\n  b: 2");
    assert_toon("{\"s\":{\"a b\":{\"x\":1},\"c\":{\"x\":2}}}", "s[2:]{x}:\n  \"a b\": 1\n  c: 2");
    /* One row is a table, one member is none. */
    assert_toon("{\"r\":[{\"x\":1}],\"m\":{\"a\":{\"x\":1}}}", "r[1]{x}:\n  1\nm:\n  a:\n    x: 1");
    assert_toon("[{\"t\":[{\"x\":1},{\"x\":2}],\"after\":3}]",
                "[1]:\n  - t[2]{x}:\n      1\n      2\n    after: 3");
    assert_toon("[{\"x\":1},{\"y\":1}]", "[2]:\n  - x: 1\n  - y: 1");
    assert_toon("[{\"x\":{\"y\":1}},{\"x\":{}}]", "[2]:\n  - x:\n      y: 1\n  - x:");
}

static void quotes_what_would_be_read_otherwise(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\"\"", "\"\""},
        {"\"a b\"", "a b"},
        {"\" a\"", "\" a\""},
        {"\"a \"", "\"a \""},
        {"\"true\"", "\"true\""},
        {"\"True\"", "True"},
        {"\"null\"", "\"null\""},
        {"\"05\"", "\"05\""},
        {"\"+5\"", "\"+5\""},
        {"\"1e5\"", "\"1e5\""},
        {"\"1.\"", "1."},
        {"\"-x\"", "\"-x\""},
        {"\"#\"", "\"#\""},
        {"\"a#-\"", "a#-"},
        {"\"a:b\"", "\"a:b\""},
        {"\"a,b\"", "\"a,b\""},
        {"\"a|b\"", "a|b"},
        {"\"[x]\"", "\"[x]\""},
        {"\"q\\\"\\\\\"", "\"q\\\"\\\\\""},
        {"\"\\n\\r\\t\\u0000\\u001f\"", "\"\\n\\r\\t\\u0000\\u001f\""},
        {"\"\\u007f\"", "\x7f"},
        {"\"\xc3\xa4\xf0\x9f\x98\x80\"", "\xc3\xa4\xf0\x9f\x98\x80"},
        {"\"\xef\xbb\xbfx\"", "\"\xef\xbb\xbfx\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_toon(cases[i][0], cases[i][1]);
    assert_toon("{\"a.b\":1,\"_\":2,\"\":3,\"1\":4,\"a b\":5,\"\xc3\xa4\":6}",
                "a.b: 1\n_: 2\n\"\": 3\n\"1\": 4\n\"a b\": 5\n\"\xc3\xa4\": 6");
    assert_toon("{\"a:b\":[1,2],\"c]\":[{\"{\":1}]}", "\"a:b\"[2]: 1,2\n\"c]\"[1]{\"{\"}:\n  1");
}

static void writes_numbers_as_javascript_does(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"0", "0"},
        {"-0.0", "0"},
        {"1.0", "1"},
        {"-1.50", "-1.5"},
        {"1e6", "1000000"},
        {"1e-6", "0.000001"},
        {"1e-7", "1e-7"},
        {"1.5e-7", "1.5e-7"},
        {"1e20", "100000000000000000000"},
        {"1e21", "1e+21"},
        {"-1.25e300", "-1.25e+300"},
        {"123456789012345680000.0", "123456789012345680000"},
        {"0.1", "0.1"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"5.6843418860808015e-14", "5.684341886080802e-14"}, /* 2 to the -44 */
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9007199254740993", "9007199254740993"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_toon(cases[i][0], cases[i][1]);
}

static void assert_read(const char *toon, const char *json)
{
    struct err e = {0};
    _json_ json_t *value = toon_decode(toon, strlen(toon), &e);
    _json_ json_t *wanted = from_json(json);
    if (value == NULL)
        fail_msg("%s: %s", toon, e.message);
    assert_true(json_equal(value, wanted));
}

static void reads_what_others_write(void **state)
{
    (void)state;
    assert_read("\xef\xbb\xbf# comment\r\na:  1 \r\n\r\n  # more\nb: x\n", "{\"a\":1,\"b\":\"x\"}");
    assert_read("# only\n\n", "{}");
    assert_read("a[2|]: x,y|z", "{\"a\":[\"x,y\",\"z\"]}");
    assert_read("a[2\t]{b\tc}:\n  1\t2\n  \"\"\t,",
                "{\"a\":[{\"b\":1,\"c\":2},{\"b\":\"\",\"c\":\",\"}]}");
    assert_read("[1:|]{a|b{c|d}}:\n  \"k:\": 1|2|3", "{\"k:\":{\"a\":1,\"b\":{\"c\":2,\"d\":3}}}");
    assert_read("a[0]:\nb: []", "{\"a\":[],\"b\":[]}");
    assert_read("a[3]: 1, ,\"\"", "{\"a\":[1,\"\",\"\"]}");
    assert_read("\"a\" : \"\\u00e4\\u20AC\\u0041\"", "{\"a\":\"\xc3\xa4\xe2\x82\xac"
                                                     "A\"}");
    assert_read("a b: 1", "{\"a b\":1}");
    assert_read("x: a[1]: y", "{\"x\":\"a[1]: y\"}");
    assert_read("[1]:\n  -   a:   1\n    b: 2", "[{\"a\":1,\"b\":2}]");
    assert_read("[3]: 1E+2,-0,1e999", "[100.0,0,\"1e999\"]");
    assert_read("[3]: 12345678901234567890,01,0.50", "[12345678901234567890.0,\"01\",0.5]");
}

/* Refused, at this line. */
static void assert_refused(const char *toon, size_t len, unsigned line)
{
    struct err e = {0};
    char place[40];
    snprintf(place, sizeof(place), "invalid TOON at line %u:", line);
    _json_ json_t *value = toon_decode(toon, len, &e);
    if (value != NULL)
        fail_msg("%s: was read", toon);
    if (e.code != ERR_INVALID || strncmp(e.message, place, strlen(place)) != 0)
        fail_msg("%s: %s", toon, e.message);
    assert_true(e.advice[0] != '\0');
}

#define REFUSED(toon, line) assert_refused(toon, sizeof(toon) - 1, line)

static void refuses_what_is_wrong(void **state)
{
    (void)state;
    REFUSED("a: 1\n\xff", 2);
    REFUSED("  a: 1", 1);
    REFUSED("a:\n   b: 1", 2);
    REFUSED("a:\n\tb: 1", 2);
    REFUSED("a:\n    b: 1", 2);
    REFUSED("a: 1\n  b: 1", 2);
    REFUSED("hello\nworld", 1);
    REFUSED("a: 1\nhello", 2);
    REFUSED("a: 1\na: 2", 2);
    REFUSED("a: \"\\u0000\"\n\"c\\u0000\": 1", 2);
    REFUSED("a: \"x", 1);
    REFUSED("a: \"x\" y", 1);
    REFUSED("a: \"\\x\"", 1);
    REFUSED("a: \"\\u12\"", 1);
    REFUSED("a: \"\\ud83d\\ude00\"", 1);
    REFUSED("a[2]: 1", 1);
    REFUSED("a[1]: 1,2", 1);
    REFUSED("a[02]: 1,2", 1);
    REFUSED("a[-1]: 1", 1);
    REFUSED("a[99999999999999999999999]: 1", 1);
    REFUSED("a[2] : 1,2", 1);
    REFUSED("a [2]: 1,2", 1);
    REFUSED("a[2:]: 1,2", 1);
    REFUSED("a[1]{x}: 1\n  1", 1);
    REFUSED("a[1]{x,x}:\n  1,2", 1);
    REFUSED("a[1]{x|y}:\n  1", 1);
    REFUSED("a[1]{}:\n  1", 1);
    REFUSED("a[1]{x{y}z}:\n  1", 1);
    REFUSED("a[1]{x,y}:\n  1", 2);
    REFUSED("a[1]{x}:\n  1,2", 2);
    REFUSED("a[1]{x}:\n  1\n  2", 3);
    REFUSED("a[2]{x}:\n  1", 2);
    REFUSED("a[2]{x}:\n  1\n\n  2", 3);
    REFUSED("a[2]:\n  - 1\n\n  - 2", 3);
    REFUSED("a[1]:\n  - 1\n  - 2", 3);
    REFUSED("a[1]:\n  - 1\n  -", 3);
    REFUSED("[2:]{x}:\n  a: 1\n  a: 2", 3);
    REFUSED("[1:]{x}:\n  a:", 2);
    REFUSED("[1]: 1\nb: 2", 2);
    REFUSED("[]\n[]", 2);
    REFUSED("a:\n  [1]: 1", 2);
    REFUSED("[1]:\n  - [1]{x}:\n    1", 2);
}

/* `depth` objects in each other, or groups of a table's header. */
static void nest(struct buf *out, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        buf_printf(out, "%*sa:\n", (int)(2 * i), "");
}

static void refuses_depth_and_size(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(16 * MIB);
    struct err e = {0};
    nest(&text, TOON_DEPTH_MAX + 1);
    _json_ json_t *deep = toon_decode(text.data, text.len, &e);
    assert_non_null(deep);
    buf_printf(&text, "%*sa:\n", 2 * (TOON_DEPTH_MAX + 1), "");
    assert_refused(text.data, text.len, TOON_DEPTH_MAX + 2);

    /* As deep as can be read can be written; one more is refused, and leaves what was there. */
    buf_clear(&text);
    buf_append_str(&text, "before");
    _json_ json_t *deeper = json_pack("{s:O}", "a", deep);
    assert_false(toon_encode(deeper, &text));
    assert_string_equal(buf_str(&text), "before");
    assert_true(toon_encode(deep, &text));

    buf_clear(&text);
    buf_append_str(&text, "a[1]");
    for (size_t i = 0; i < 1000; i++)
        buf_append_str(&text, "{a");
    for (size_t i = 0; i < 1000; i++)
        buf_append_char(&text, '}');
    buf_append_str(&text, ":\n  1");
    assert_refused(text.data, text.len, 1);

    /* A long name in many rows. */
    buf_clear(&text);
    buf_append_str(&text, "a[100000]{");
    for (size_t i = 0; i < 100000; i++)
        buf_append_char(&text, 'x');
    buf_append_str(&text, "}:");
    for (size_t i = 0; i < 100000; i++)
        buf_append_str(&text, "\n  1");
    assert_null(toon_decode(text.data, text.len, &e));
    assert_int_equal(e.code, ERR_TOO_LARGE);

    buf_clear(&text);
    buf_printf(&text, "a[%d]: 1", TOON_VALUES_MAX + 1);
    for (size_t i = 0; i < TOON_VALUES_MAX; i++)
        buf_append_str(&text, ",1");
    assert_null(toon_decode(text.data, text.len, &e));
    assert_int_equal(e.code, ERR_TOO_LARGE);
}

static void says_when_it_does_not_fit(void **state)
{
    (void)state;
    _json_ json_t *value = from_json("{\"text\":\"a long text\"}");
    _buf_ struct buf out = BUF_INIT(8);
    buf_append_str(&out, "ab");
    assert_false(toon_encode(value, &out));
    assert_true(out.overflowed);
    assert_string_equal(buf_str(&out), "ab");
}

static void is_used_when_shorter(void **state)
{
    (void)state;
    _json_ json_t *table = from_json("[{\"name\":\"a\",\"n\":1},{\"name\":\"b\",\"n\":2}]");
    _json_ json_t *deep = from_json("[[[[[{\"a\":1,\"b\":2}]]]]]");
    _json_ json_t *empty = json_object();
    _json_ json_t *equal = from_json("7");
    _buf_ struct buf out = BUF_INIT(KIB);
    buf_append_str(&out, ">");
    assert_true(toon_encode_if_shorter(table, &out));
    assert_string_equal(buf_str(&out), ">[2]{name,n}:\n  a,1\n  b,2");
    assert_false(toon_encode_if_shorter(deep, &out));
    assert_false(toon_encode_if_shorter(empty, &out));
    assert_false(toon_encode_if_shorter(equal, &out));
    assert_string_equal(buf_str(&out), ">[2]{name,n}:\n  a,1\n  b,2");
    _buf_ struct buf small = BUF_INIT(8);
    assert_false(toon_encode_if_shorter(table, &small));
    assert_false(small.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_objects_and_lists),
        cmocka_unit_test(writes_tables),
        cmocka_unit_test(quotes_what_would_be_read_otherwise),
        cmocka_unit_test(writes_numbers_as_javascript_does),
        cmocka_unit_test(reads_what_others_write),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(refuses_depth_and_size),
        cmocka_unit_test(says_when_it_does_not_fit),
        cmocka_unit_test(is_used_when_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
