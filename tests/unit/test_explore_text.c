/* Characters and lines of texts, beside a decoder that goes byte by byte. */
#include "base/utf8.h"
#include "explore/scan.h"
#include "explore/text.h"
#include "unit.h"

#include <string.h>

struct sample {
    char *data;
    size_t len;
    size_t *starts; /* of each character, and the end */
    size_t n;
};

/* Bytes that a valid or broken character at s takes, written down once more from the Unicode
 * standard's table of well-formed sequences. */
static size_t unit_at(const unsigned char *s, size_t len)
{
    static const struct {
        unsigned char first[2], second[2];
        size_t n;
    } rows[] = {{{0xc2, 0xdf}, {0x80, 0xbf}, 2}, {{0xe0, 0xe0}, {0xa0, 0xbf}, 3},
                {{0xe1, 0xec}, {0x80, 0xbf}, 3}, {{0xed, 0xed}, {0x80, 0x9f}, 3},
                {{0xee, 0xef}, {0x80, 0xbf}, 3}, {{0xf0, 0xf0}, {0x90, 0xbf}, 4},
                {{0xf1, 0xf3}, {0x80, 0xbf}, 4}, {{0xf4, 0xf4}, {0x80, 0x8f}, 4}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (s[0] < rows[i].first[0] || s[0] > rows[i].first[1])
            continue;
        if (len < 2 || s[1] < rows[i].second[0] || s[1] > rows[i].second[1])
            return 1;
        size_t n = 2;
        while (n < rows[i].n && n < len && s[n] >= 0x80 && s[n] <= 0xbf)
            n++;
        return n;
    }
    return 1;
}

static void decode(struct sample *s)
{
    s->starts = mem_alloc((s->len + 1) * sizeof(size_t));
    s->n = 0;
    for (size_t at = 0; at < s->len;) {
        s->starts[s->n++] = at;
        at += unit_at((const unsigned char *)s->data + at, s->len - at);
    }
    s->starts[s->n] = s->len;
}

/* `kinds`: how many of the pieces below may be used. */
static struct sample make(size_t len, size_t kinds)
{
    static const char *const pieces[] = {
        "plain text ",          "\n",       "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "\xff",
        "\x80\x80\x80\x80\x80", "\xe6\x97", "\xf0\x9f", "\xed\xa0\x80", "\xc0\xaf"};
    struct sample s = {.data = mem_alloc(len + 16)};
    uint32_t seed = 7;
    while (s.len < len) {
        seed = seed * 1664525u + 1013904223u;
        const char *piece = pieces[(seed >> 16) % kinds];
        memcpy(s.data + s.len, piece, strlen(piece));
        s.len += strlen(piece);
    }
    s.len = len;
    decode(&s);
    return s;
}

static void check(const struct sample *s, struct crew *crew)
{
    struct explore_text t;
    explore_text_open(&t, s->data, s->len, crew);
    assert_int_equal(t.chars, s->n);
    size_t lines = s->len > 0 && s->data[s->len - 1] != '\n';
    for (size_t i = 0; i < s->len; i++)
        lines += s->data[i] == '\n';
    assert_int_equal(t.lines, lines);
    for (size_t i = 0; i < s->n; i += s->n / 60 + 1) {
        assert_int_equal(explore_text_seek(&t, i), s->starts[i]);
        assert_int_equal(explore_text_chars(&t, s->starts[i]), i);
        assert_int_equal(explore_text_boundary(&t, s->starts[i]), s->starts[i]);
        if (s->starts[i + 1] > s->starts[i] + 1)
            assert_int_equal(explore_text_boundary(&t, s->starts[i] + 1), s->starts[i + 1]);
    }
    assert_int_equal(explore_text_seek(&t, s->n), s->len);
    assert_int_equal(explore_text_seek(&t, s->n + 1000), s->len);
    explore_text_close(&t);
}

/* Every length around the border of a block, so that characters are cut there in all ways. */
static void counts_are_those_of_a_decoder(void **state)
{
    (void)state;
    static const size_t kinds[] = {1, 2, 5, 6, 11};
    struct crew *crew = crew_new(3);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t step = kinds[i] == 11 ? 1 : 5;
        for (size_t len = 2 * TEXT_BLOCK - 6; len < 2 * TEXT_BLOCK + 6; len += step) {
            struct sample s = make(len, kinds[i]);
            check(&s, crew);
            free(s.data);
            free(s.starts);
        }
    }
    struct sample large = make(3 * MIB + 5, 11);
    check(&large, crew);
    free(large.data);
    free(large.starts);
    crew_free(crew);
    for (size_t len = 0; len < 70; len++) {
        struct sample s = make(len, 11);
        check(&s, NULL);
        free(s.data);
        free(s.starts);
    }
}

/* Every sequence of four bytes of some that matter, at each place around a vector's border. */
static void validity_is_that_of_base(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                          0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed,
                                          0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
    enum { N = ARRAY_LEN(bytes) };
    char text[64];
    for (size_t i = 0; i < N * N * N * N; i++) {
        size_t at = 28 + i % 6, len = at + 4 + i % 3;
        memset(text, 'x', sizeof(text));
        text[at] = (char)bytes[i % N];
        text[at + 1] = (char)bytes[i / N % N];
        text[at + 2] = (char)bytes[i / N / N % N];
        text[at + 3] = (char)bytes[i / N / N / N];
        if (scan_is_utf8(text, len) != utf8_is_valid(text, len))
            fail_msg("%02x %02x %02x %02x at %zu", (unsigned char)text[at],
                     (unsigned char)text[at + 1], (unsigned char)text[at + 2],
                     (unsigned char)text[at + 3], at);
    }
}

static void copies_are_valid_and_bounded(void **state)
{
    (void)state;
    static const char text[] = "a\xff\"\n\xe6\x97x\xf0\x9f\x98\x80";
    struct explore_text t;
    _buf_ struct buf out = BUF_INIT(KIB);
    size_t room = 100;
    explore_text_open(&t, text, sizeof(text) - 1, NULL);
    assert_int_equal(explore_text_copy(&t, 0, t.len, 100, &room, &out), t.len);
    assert_string_equal(buf_str(&out), "a\xef\xbf\xbd\"\n\xef\xbf\xbdx\xf0\x9f\x98\x80");
    assert_int_equal(room, 100 - (1 + 3 + 6 + 6 + 3 + 1 + 4));
    buf_clear(&out);
    room = 5;
    assert_int_equal(explore_text_copy(&t, 0, t.len, 100, &room, &out), 2);
    assert_string_equal(buf_str(&out), "a\xef\xbf\xbd");
    explore_text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_a_decoder),
        cmocka_unit_test(validity_is_that_of_base),
        cmocka_unit_test(copies_are_valid_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
