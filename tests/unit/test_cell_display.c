#include "cell/display.h"
#include "unit.h"
#include "wire/json.h"

static json_t *parse(const char *text)
{
    struct err e;
    json_t *value;
    assert_int_equal(json_read_object(text, strlen(text), &value, &e), 0);
    return value;
}

static void test_good_ones(void **state)
{
    static const char *const good[] = {
        "{\"type\":\"text\",\"text\":\"\"}",
        "{\"type\":\"html\",\"html\":\"<b>\",\"text\":\"b\"}",
        "{\"type\":\"image\",\"format\":\"png\",\"width\":1,\"height\":2,\"data\":\"AA==\"}",
        "{\"type\":\"svg\",\"svg\":\"<svg/>\"}",
        "{\"type\":\"json\",\"json\":[1,{\"a\":null}],\"text\":\"x\"}",
        "{\"type\":\"dataframe\",\"text\":\"t\",\"html\":\"h\",\"rows\":3,\"columns\":2}",
        "{\"type\":\"dataframe\",\"text\":\"t\",\"dtypes\":[{\"name\":\"a\",\"dtype\":\"b\"}]}",
        "{\"type\":\"dataframe\",\"text\":\"t\",\"head\":[[\"1\"],[]]}",
        "{\"type\":\"text\",\"text\":\"\",\"display_id\":\"x\"}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct err e;
        _json_ json_t *output = parse(good[i]);
        assert_int_equal(display_check(output, &e), 0);
    }
}

static void test_bad_ones(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"type\":5}",
        "{\"type\":\"movie\"}",
        "{\"type\":\"text\"}",
        "{\"type\":\"text\",\"text\":5}",
        "{\"type\":\"html\",\"html\":\"x\",\"text\":[]}",
        "{\"type\":\"image\",\"format\":\"png\",\"width\":-1,\"data\":\"\"}",
        "{\"type\":\"image\",\"format\":\"png\",\"width\":1.5,\"data\":\"\"}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"rows\":\"3\"}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"dtypes\":{}}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"dtypes\":[5]}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"dtypes\":[{\"name\":\"a\",\"dtype\":5}]}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"dtypes\":[{\"name\":\"\",\"c\":\"\"}]}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"head\":[\"x\"]}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"head\":[[1]]}",
        "{\"type\":\"dataframe\",\"text\":\"\",\"head\":[[],[],[],[],[],[]]}",
        "{\"type\":\"text\",\"text\":\"\",\"display_id\":5}",
    };
    struct err e;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _json_ json_t *output = parse(bad[i]);
        assert_int_equal(display_check(output, &e), -1);
        assert_true(e.message[0] != '\0');
    }
    _json_ json_t *array = json_array();
    assert_int_equal(display_check(array, &e), -1);
    assert_int_equal(display_check(NULL, &e), -1);
}

static void test_unknown_members_are_removed(void **state)
{
    (void)state;
    struct err e;
    _json_ json_t *output = parse("{\"type\":\"text\",\"text\":\"x\",\"extra\":{\"a\":1},\"b\":2}");
    assert_int_equal(display_check(output, &e), 0);
    assert_int_equal(json_object_size(output), 2);
    _json_ json_t *late = parse("{\"type\":\"text\",\"text\":\"x\",\"late\":true}");
    assert_int_equal(display_check(late, &e), 0);
    assert_int_equal(json_object_size(late), 3);
    _json_ json_t *odd = parse("{\"type\":\"text\",\"text\":\"x\",\"late\":[\"yes\"]}");
    assert_int_equal(display_check(odd, &e), 0);
    assert_int_equal(json_object_size(odd), 2);
}

static bool keeps_forms(json_t *mime)
{
    struct err e;
    _json_ json_t *output = json_pack("{ss ss so}", "type", "text", "text", "", "mime", mime);
    assert_int_equal(display_check(output, &e), 0);
    return json_object_get(output, "mime") != NULL;
}

/* What is wrong with them costs the forms, not the output. */
static void test_other_forms(void **state)
{
    (void)state;
    assert_true(keeps_forms(parse("{\"text/plain\":\"x\",\"a/b+json\":{\"c\":[1]}}")));
    assert_false(keeps_forms(json_string("x")));
    assert_false(keeps_forms(parse("{\"hash\":\"x\"}")));
    json_t *forms = json_object();
    char name[300] = "a/";
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof(name), "a/%d", i);
        json_object_set_new(forms, name, json_null());
    }
    assert_true(keeps_forms(json_copy(forms)));
    json_object_set_new(forms, "a/more", json_null());
    assert_false(keeps_forms(forms));
    memset(name + 2, 'x', sizeof(name) - 3);
    name[sizeof(name) - 1] = '\0';
    assert_false(keeps_forms(json_pack("{ss}", name, "")));
    _buf_ struct buf large = BUF_INIT(SIZE_MAX);
    for (int i = 0; i < 3 << 20; i++)
        buf_append_char(&large, 'x');
    assert_false(keeps_forms(json_pack("{ss}", "a/b", buf_str(&large))));
}

/* A list of `n` equal items. */
static json_t *many(json_t *item, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append(list, item);
    json_decref(item);
    return list;
}

static int check_with(const char *type, const char *name, json_t *value)
{
    struct err e;
    _json_ json_t *output = json_pack("{ssss}", "type", type, "text", "");
    json_object_set_new(output, name, value);
    return display_check(output, &e);
}

static void test_sizes_are_bounded(void **state)
{
    (void)state;
    char text[2048];
    memset(text, 'x', sizeof(text));
    for (size_t n = 200; n <= 201; n++) {
        int expected = n == 200 ? 0 : -1;
        json_t *column = json_pack("{ssss}", "name", "a", "dtype", "b");
        assert_int_equal(check_with("dataframe", "dtypes", many(column, n)), expected);
        json_t *row = many(json_string("x"), n);
        assert_int_equal(check_with("dataframe", "head", many(row, 1)), expected);
        assert_int_equal(check_with("text", "display_id", json_stringn(text, n)), expected);
    }
    json_t *row = many(json_stringn(text, 1025), 1);
    assert_int_equal(check_with("dataframe", "head", many(row, 1)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_ones),
        cmocka_unit_test(test_bad_ones),
        cmocka_unit_test(test_unknown_members_are_removed),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
