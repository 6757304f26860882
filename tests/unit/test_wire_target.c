#include "unit.h"
#include "wire/sse.h"
#include "wire/target.h"

static int parse(const char *raw, size_t len, struct arena *arena, struct target *t)
{
    struct err e;
    int r = target_parse(arena, raw, len, t, &e);
    if (r < 0)
        assert_true(e.code == ERR_INVALID || e.code == ERR_NOT_FOUND);
    return r;
}

static void splits_and_decodes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct target t;
    static const char raw[] = "/v1/a%2Fb%20c+d/%c3%A4/?x=1&name&&y=a+b%3D%26=c&=v";
    assert_int_equal(parse(raw, sizeof(raw) - 1, &arena, &t), 0);
    static const char *const segments[] = {"v1", "a/b c+d", "\xc3\xa4", ""};
    assert_int_equal(t.n_segments, ARRAY_LEN(segments));
    for (size_t i = 0; i < ARRAY_LEN(segments); i++)
        assert_string_equal(t.segments[i], segments[i]);
    static const struct target_param params[] = {
        {"x", "1"}, {"name", ""}, {"y", "a b=&=c"}, {"", "v"}};
    assert_int_equal(t.n_params, ARRAY_LEN(params));
    for (size_t i = 0; i < ARRAY_LEN(params); i++) {
        assert_string_equal(t.params[i].name, params[i].name);
        assert_string_equal(t.params[i].value, params[i].value);
    }
    assert_int_equal(parse("/", 1, &arena, &t), 0);
    assert_int_equal(t.n_segments, 1);
    assert_string_equal(t.segments[0], "");
    arena_free(&arena);
}

static void refuses_what_is_not_a_path(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "*",          "http://x/y", "x",    "/a#b",    "/%",         "/%4",
        "/%zz",    "/%00",       "/%ff",       "/%c3", "/?a=%00", "/?%c0%80=1", "/?a=1&a=2",
        "/?a&%61", "/%ed%a0%80", "/?a=%e2%82", "/%-1", "/% 1",
    };
    struct arena arena = {0};
    struct target t;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (parse(bad[i], strlen(bad[i]), &arena, &t) == 0)
            fail_msg("%s was taken", bad[i]);
    }
    assert_int_equal(parse("/a\0b", 4, &arena, &t), -1);
    arena_free(&arena);
}

static void limits_parts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct target t;
    char raw[512] = "";
    for (int i = 0; i <= TARGET_SEGMENTS_MAX; i++)
        memcpy(raw + 2 * i, "/a", 2);
    assert_int_equal(parse(raw, strlen(raw), &arena, &t), -1);

    int n = snprintf(raw, sizeof(raw), "/?");
    for (int i = 0; i <= TARGET_PARAMS_MAX; i++)
        n += snprintf(raw + n, sizeof(raw) - (size_t)n, "a%d&", i);
    assert_int_equal(parse(raw, (size_t)n, &arena, &t), -1);
    arena_free(&arena);
}

static void assert_event(const char *data, const char *expected)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    sse_append(&out, "output", data, strlen(data));
    assert_string_equal(buf_str(&out), expected);
}

static void frames_events(void **state)
{
    (void)state;
    assert_event("{}", "event: output\ndata: {}\n\n");
    assert_event("", "event: output\ndata: \n\n");
    assert_event("a\nb", "event: output\ndata: a\ndata: b\n\n");
    assert_event("a\r\n\rb\n", "event: output\ndata: a\ndata: \ndata: b\ndata: \n\n");
    assert_event("\nevent: x\n\n", "event: output\ndata: \ndata: event: x\ndata: \ndata: \n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_and_decodes),
        cmocka_unit_test(refuses_what_is_not_a_path),
        cmocka_unit_test(limits_parts),
        cmocka_unit_test(frames_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
