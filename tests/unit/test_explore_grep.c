/* Which lines match, whichever way they are searched. */
#include "base/buf.h"
#include "explore/explore.h"
#include "explore/grep.h"
#include "explore/pattern.h"
#include "explore/scan.h"
#include "unit.h"

#include <string.h>

/* The numbers of the lines that match, as text: "0 2 5". */
static char *lines_of(const char *pattern, size_t pattern_len, bool is_literal, const char *text,
                      size_t len, size_t max, struct crew *crew)
{
    struct err e = {0};
    struct grep_hits hits;
    struct buf out = BUF_INIT(MIB);
    struct grep *g = grep_new(pattern, pattern_len, is_literal, false, &e);
    if (g == NULL || grep_run(g, text, len, max, crew, 0, &hits, &e) < 0) {
        grep_free(g);
        return mem_strdup(e.message);
    }
    for (size_t i = 0; i < hits.n; i++) {
        const struct grep_hit *hit = &hits.hits[i];
        assert_true(hit->start <= hit->from && hit->from <= hit->to && hit->to <= hit->end);
        assert_true(hit->start == 0 || text[hit->start - 1] == '\n');
        buf_printf(&out, "%s%zu", i > 0 ? " " : "", scan_count_newlines(text, hit->start));
    }
    if (hits.is_cut)
        buf_append_str(&out, " and more");
    grep_hits_free(&hits);
    grep_free(g);
    char *made = mem_strdup(buf_str(&out));
    buf_free(&out);
    return made;
}

static void matches_are_pythons(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text, *lines;
    } cases[] = {
        {"foo", "a foo\nbar\nFOO\nfo\no", "0 2"},
        {"", "a\n\nb", "0 1 2"},
        {"^$", "a\n\nb\n\n", "1 3"},
        {"^a", "ba\nab\nA", "1 2"},
        {"a$", "ba\nab\nA", "0 2"},
        {"a$", "ba\r\nab\r\nA\r\n", "0 2"},
        {"\\Aa.\\Z", "ab\nabc\nAx\n", "0 2"},
        {"foo.*bar", "foo\nbar\nfoo bar\nbar foo\nFOObar", "2 4"},
        {"error \\d+", "error x\nError 12\nan error 7\nerror", "1 2"},
        {"apple|pear|fig", "apples\nspear\nnone\nFIG", "0 1 3"},
        {"(get|set)_value", "get_value\nlet_value\nSET_VALUE()", "0 2"},
        {"a\\sb", "a\nb\na b\na\tb", "2 3"},
        {"a[^x]b", "a\nb\na b\naxb", "2"},
        {"a\\Wb", "a\nb\na-b", "2"},
        {"a[\\s-]b", "a\nb\na-b\na b", "2 3"},
        {"[\\n-z]b", "ab\nb", "0"},
        {"(?<!\\s)b", "b\n b\nab", "0 2"},
        {"(?<![^a])b", "b\nab\ncb", "0 1"},
        {"b(?!.)", "bc\nb\nb", "1 2"},
        {"b(?=\\n)", "b\nb\n", ""},
        {"a\\nb", "a\nb\n", ""},
        {"(?>\\s*)$", "a  \n  b\n", "0 1"},
        {"x{,2}y", "xxxy\nq\ny", "0 2"},
        {"^x{,2}y$", "xxxy\nxxy\ny", "1 2"},
        {"a{b", "a{b\nab", "0"},
        {"(\\w)\\1", "abc\nabba", "1"},
        {"(?P<c>\\w)-(?P=c)", "a-b\na-a", "1"},
        {"(?i)foo", "Foo\nbar", "0"},
        {"(?-i)Foo", "foo\nFoo\nFOO", "1"},
        {"(?-i)Foo|b[ab]r", "foo\nFoo\nBar\nbar", "1 3"},
        {"(?-i)F(?i:oo)", "foo\nFOO\nFo", "1"},
        {"(?-i)\xc3\x89t", "\xc3\x89t\n\xc3\xa9t\n\xc3\x89T", "0"},
        {"caf.$", "caf\xc3\xa9\ncafe\ncaf", "0 1"},
        {"^.{4}$", "caf\xc3\xa9\ncafe\ncaf", "0 1"},
        {"CAF\xc3\x89", "caf\xc3\xa9\ncafe\nCAF\xc3\x89", "0 2"},
        {"\xe6\x97\xa5\xe6\x9c\xac", "x\n\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\n", "1"},
        {"\\u00e9", "\xc3\xa9\ne", "0"},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\x89\ne", "0"},
        {"\\w\\xff", "a\xff\n", ""},
        {"b",
         "\xff"
         "b\nc",
         "0"},
        {"a.*b",
         "a\xff\xfe"
         "b",
         ""},
        {"[[:x]", "[\n:\nx\nalpha", "0 1 2"},
        {"[]a]", "]\na\nb", "0 1"},
        {"[^]a]", "]\na\nb", "2"},
        {"\\.", ".\na", "0"},
        {"foo\\b", "food\nfoo d", "1"},
        {"\\bclass \\w+\\(", "class a(\nclass (\nsubclass x(\n class y(", "0 3"},
        {"a|", "b\na", "0 1"},
        {"(?:ab)+c", "abc\nac\nababc", "0 2"},
        {"(?:ab)*c", "abc\nac\nd", "0 1"},
        {"\\v", "a\nb\x0b", "1"},
        {"\\h", "ab\na b", "1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _free_ char *got = lines_of(cases[i].pattern, strlen(cases[i].pattern), false,
                                    cases[i].text, strlen(cases[i].text), 100, NULL);
        if (strcmp(got, cases[i].lines) != 0)
            fail_msg("%s: '%s' instead of '%s'", cases[i].pattern, got, cases[i].lines);
    }
}

static void literals_are_taken_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text, *lines;
    } cases[] = {
        {"a.b", "a.b\naxb\nA.B", "0 2"},
        {"(x", "f(x)\nx", "0"},
        {"\xc3\x89t\xc3\xa9", "\xc3\xa9T\xc3\x89\nete", "0"},
        {"a\nb", "a\nb", ""},
        {"[", "x[1]\nx", "0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _free_ char *got = lines_of(cases[i].pattern, strlen(cases[i].pattern), true, cases[i].text,
                                    strlen(cases[i].text), 100, NULL);
        assert_string_equal(got, cases[i].lines);
    }
}

/* What is wrong is told with its position, and nothing takes for ever. */
static void hostile_patterns_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *message;
    } cases[] = {
        {"(", "position 1"},
        {"a[b", "position 3"},
        {"*a", "position"},
        {"(*NO_JIT)a", "verb"},
        {"(*LIMIT_MATCH=1)a", "verb"},
        {"a(?C1)", "callout"},
        {"a\\Cb", "position"},
        {"((a{1000}){1000}){1000}", "too large"},
        {"(?<=a+)b", "position"},
        {"^(a+)+$", "too expensive"},
        {"^(a|aa)+$", "too expensive"},
        {"x{2}{3}", "position 6"},
        {"(?R)x|(?R)", ""},
        {"^(?:(a*)*)*b\\1$", ""},
    };
    char text[20002];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 2] = 'b';
    text[sizeof(text) - 1] = '\n';
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _free_ char *got = lines_of(cases[i].pattern, strlen(cases[i].pattern), false, text,
                                    sizeof(text), 100, NULL);
        if (strstr(got, cases[i].message) == NULL)
            fail_msg("%s: %s", cases[i].pattern, got);
    }
    _free_ char *huge = mem_alloc(EXPLORE_PATTERN_MAX + 1);
    memset(huge, '(', EXPLORE_PATTERN_MAX + 1);
    _free_ char *too_long = lines_of(huge, EXPLORE_PATTERN_MAX + 1, false, "a", 1, 100, NULL);
    assert_non_null(strstr(too_long, "65536 are allowed"));
    _free_ char *too_deep = lines_of(huge, EXPLORE_PATTERN_MAX, false, "a", 1, 100, NULL);
    assert_non_null(strstr(too_deep, "position"));
    for (size_t i = 0; i < EXPLORE_PATTERN_MAX; i++)
        huge[i] = i % 2 == 0 ? 'b' : '|';
    _free_ char *alternatives = lines_of(huge, EXPLORE_PATTERN_MAX - 1, false, "a\nb", 3, 9, NULL);
    assert_true(strcmp(alternatives, "1") == 0 || strstr(alternatives, "too large") != NULL);
}

/* A text of many pieces: lines of all kinds, some of them longer than a piece. */
static char *make_text(size_t *ret_len)
{
    static const char *const parts[] = {"foo ", "BAR ",  "error 12 ", "\xc3\xa9t\xc3\xa9 ",
                                        "\xff", "a b c", "\t",        "needle",
                                        "\r\n", "\n",    "\n",        "x1y2 "};
    struct buf out = BUF_INIT(64 * MIB);
    uint32_t seed = 1;
    while (out.len < 2 * MIB + 77) {
        seed = seed * 1664525u + 1013904223u;
        buf_append_str(&out, parts[(seed >> 16) % ARRAY_LEN(parts)]);
        if (seed >> 12 == 77)
            for (size_t i = 0; i < 400000; i++)
                buf_append_str(&out, "long ");
    }
    *ret_len = out.len;
    return out.data;
}

static bool has_match(const struct grep *g, const char *line, size_t len)
{
    struct grep_hits hits;
    struct err e;
    assert_int_equal(grep_run(g, line, len, 1, NULL, 1, &hits, &e), 0);
    bool has = hits.n > 0;
    grep_hits_free(&hits);
    return has;
}

/* All at once, by several threads, and every fifth line by itself: the same. */
static void pieces_and_threads_change_nothing(void **state)
{
    (void)state;
    static const char *const patterns[] = {"foo",
                                           "needle",
                                           "foo.*bar",
                                           "error \\d+",
                                           "zz|needle",
                                           "^\\s*foo",
                                           "\\w\\d\\w\\d\\s*$",
                                           "[^a-z]{3}$",
                                           "^$",
                                           "\xc3\x89t",
                                           "(foo|bar) +[^e]*needle",
                                           "\\h\\h"};
    size_t len;
    _free_ char *text = make_text(&len);
    struct crew *crew = crew_new(4);
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        struct err e;
        struct grep_hits hits;
        struct grep *g = grep_new(patterns[i], strlen(patterns[i]), false, false, &e);
        assert_non_null(g);
        assert_int_equal(grep_run(g, text, len, SIZE_MAX / 2, crew, 0, &hits, &e), 0);
        size_t n = 0, n_lines = 0;
        for (size_t at = 0; at < len;) {
            const char *found = memchr(text + at, '\n', len - at);
            size_t end = found != NULL ? (size_t)(found - text) : len;
            if (end - at < 4096 && n_lines++ % 5 == 0) {
                bool is_hit = n < hits.n && hits.hits[n].start == at;
                if (is_hit !=
                    (end > at ? has_match(g, text + at, end - at) : strcmp(patterns[i], "^$") == 0))
                    fail_msg("%s: the line at %zu", patterns[i], at);
            }
            n += n < hits.n && hits.hits[n].start == at;
            at = end + 1;
        }
        assert_int_equal(n, hits.n);
        for (size_t max = 1; max < hits.n && max < 3000; max = max * 3 + 1) {
            struct grep_hits some;
            assert_int_equal(grep_run(g, text, len, max, crew, 3, &some, &e), 0);
            assert_true(some.is_cut && some.n == max);
            assert_memory_equal(some.hits, hits.hits, max * sizeof(some.hits[0]));
            grep_hits_free(&some);
        }
        grep_hits_free(&hits);
        grep_free(g);
    }
    crew_free(crew);
}

/* What lines must have is found in the pattern: else searching is slow, and nothing else tells. */
static void literals_of_patterns_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *needles;
        bool is_exact, is_blockwise;
    } cases[] = {
        {"Foo", "foo", true, true},         {"foo|BAR|b\\.z", "foo bar b.z", true, true},
        {"foo.*barr", "barr", false, true}, {"error \\d+", "error ", false, true},
        {"^foo$", "foo", false, true},      {"(get|set)(x)", "get set", false, true},
        {"ab?c+d*", "c", false, true},      {"(?:abc)?de", "de", false, true},
        {"a|b|.", "", false, true},         {"[abc]", "", false, true},
        {"(?=abc)d", "d", false, true},     {"(?!abc).", "", false, true},
        {"\\Qabc\\E", "", false, false},    {"(?x) a b", "", false, false},
        {"(?s)abc", "", false, false},      {"abc\\12", "", false, false},
        {"(?-i)Foo", "Foo", true, true},    {"(?-i)(?i:Foo)", "", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pattern p;
        struct err e;
        _buf_ struct buf got = BUF_INIT(KIB);
        const char *text = cases[i].pattern;
        assert_int_equal(pattern_read(&p, text, strlen(text), false, false, &e), 0);
        for (size_t k = 0; k < p.n_needles; k++) {
            buf_append_str(&got, k > 0 ? " " : "");
            buf_append(&got, p.needles[k].text, p.needles[k].len);
        }
        if (strcmp(buf_str(&got), cases[i].needles) != 0 || p.is_exact != cases[i].is_exact ||
            p.is_blockwise != cases[i].is_blockwise)
            fail_msg("%s: '%s' %d %d", text, buf_str(&got), p.is_exact, p.is_blockwise);
        pattern_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_are_pythons),
        cmocka_unit_test(literals_are_taken_as_they_are),
        cmocka_unit_test(hostile_patterns_are_told),
        cmocka_unit_test(pieces_and_threads_change_nothing),
        cmocka_unit_test(literals_of_patterns_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
