#include "base/utf8.h"
#include "unit.h"

#define BYTES(text) (text), sizeof(text) - 1

static void valid_text_of_every_length(void **state)
{
    (void)state;
    assert_true(utf8_is_valid(BYTES("")));
    assert_true(utf8_is_valid(BYTES("ascii and \x7f and \0 too")));
    assert_true(utf8_is_valid(BYTES("\xc2\x80 \xdf\xbf")));
    assert_true(utf8_is_valid(BYTES("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf")));
    assert_true(utf8_is_valid(BYTES("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf")));
}

static void invalid_bytes_at_every_place(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",             /* a continuation alone */
        "\xbf",             /* the last one */
        "\xc0\x80",         /* overlong NUL */
        "\xc1\xbf",         /* overlong */
        "\xe0\x80\x80",     /* overlong in three */
        "\xe0\x9f\xbf",     /* the last overlong in three */
        "\xed\xa0\x80",     /* the first surrogate */
        "\xed\xbf\xbf",     /* the last surrogate */
        "\xf0\x80\x80\x80", /* overlong in four */
        "\xf0\x8f\xbf\xbf", /* the last overlong in four */
        "\xf4\x90\x80\x80", /* U+110000 */
        "\xf5\x80\x80\x80", /* beyond any plane */
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
        "\xc2x", /* cut by a letter */
        "\xe2\x82x",
        "\xf0\x9f\x98x",
        "\xe2\xe2\x82\xac",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(utf8_is_valid(bad[i], strlen(bad[i])));
        assert_int_equal(utf8_valid_prefix(bad[i], strlen(bad[i])), 0);
        assert_false(utf8_is_partial(bad[i], strlen(bad[i])));
        /* Around the step of eight bytes of the fast path. */
        for (size_t before = 0; before < 20; before++) {
            char text[64];
            memset(text, 'a', sizeof(text));
            memcpy(text + before, bad[i], strlen(bad[i]));
            assert_int_equal(utf8_valid_prefix(text, sizeof(text)), before);
        }
    }
}

static void beginnings_are_partial(void **state)
{
    (void)state;
    static const char text[] = "\xf0\x9f\x98\x80";
    for (size_t n = 1; n < 4; n++) {
        assert_false(utf8_is_valid(text, n));
        assert_true(utf8_is_partial(text, n));
    }
    assert_false(utf8_is_partial(text, 4));
    assert_false(utf8_is_partial(text, 0));
    assert_true(utf8_is_partial(BYTES("abc\xe2\x82")));
    assert_false(utf8_is_partial(BYTES("abc\xff\xe2\x82")));
    assert_false(utf8_is_partial(BYTES("\xed\xa0")));
    assert_false(utf8_is_partial(BYTES("\xe0\x80")));
}

/* All sequences of up to three bytes against a definition written another way. */
static bool is_valid_by_definition(const unsigned char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = s[i] < 0x80 ? 1 : (s[i] >> 5) == 6 ? 2 : (s[i] >> 4) == 14 ? 3 : 0;
        if (n == 0 || i + n > len)
            return false;
        uint32_t code = n == 1 ? s[i] : s[i] & (0xffu >> (n + 1));
        for (size_t k = 1; k < n; k++) {
            if ((s[i + k] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (s[i + k] & 0x3f);
        }
        if ((n == 2 && code < 0x80) || (n == 3 && code < 0x800) ||
            (code >= 0xd800 && code <= 0xdfff))
            return false;
        i += n;
    }
    return true;
}

static void agrees_with_the_definition(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 1 << 24; n++) {
        const unsigned char s[3] = {(unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                    (unsigned char)n};
        if (utf8_is_valid((const char *)s, 3) != is_valid_by_definition(s, 3))
            fail_msg("%02x %02x %02x", s[0], s[1], s[2]);
    }
}

static void lossy_text_is_always_valid(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(MIB);
    assert_true(utf8_append_lossy(&out, BYTES("a\xff\xfe\xe2\x82z")));
    assert_string_equal(buf_str(&out), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz");
    char noise[4096];
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * 2654435761u >> 13);
    buf_clear(&out);
    assert_true(utf8_append_lossy(&out, noise, sizeof(noise)));
    assert_true(utf8_is_valid(out.data, out.len));
    _buf_ struct buf small = BUF_INIT(4);
    assert_false(utf8_append_lossy(&small, BYTES("ab\xff")));
    assert_true(small.overflowed);
}

static void characters_are_counted_by_their_first_bytes(void **state)
{
    (void)state;
    assert_int_equal(utf8_count("", 0), 0);
    assert_int_equal(utf8_count("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10), 4);
    assert_int_equal(utf8_count("\0\0", 2), 2);
    assert_int_equal(utf8_count("\x80\xff", 2), 1); /* not valid */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_text_of_every_length),
        cmocka_unit_test(invalid_bytes_at_every_place),
        cmocka_unit_test(beginnings_are_partial),
        cmocka_unit_test(agrees_with_the_definition),
        cmocka_unit_test(characters_are_counted_by_their_first_bytes),
        cmocka_unit_test(lossy_text_is_always_valid),
    };
    return cmocka_run_group_tests_name("base_utf8", tests, NULL, NULL);
}
