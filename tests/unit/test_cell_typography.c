#include "cell/typography.h"
#include "unit.h"

static void assert_replaced(const char *code, const char *expected, const char *note_text)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    struct typography_note note;
    buf_append_str(&out, ">");
    if (!typography_replace(code, strlen(code), &out, &note))
        fail_msg("nothing was replaced in %s", code);
    assert_string_equal(buf_str(&out) + 1, expected);
    if (note_text != NULL)
        assert_string_equal(note.text, note_text);
    assert_true(note.count > 0);
    assert_false(typography_is_plain(code, strlen(code)));
}

static void assert_kept(const char *code)
{
    _buf_ struct buf out = BUF_INIT(KIB);
    struct typography_note note;
    buf_append_str(&out, ">");
    if (typography_replace(code, strlen(code), &out, &note))
        fail_msg("%s became %s", code, buf_str(&out));
    assert_string_equal(buf_str(&out), ">");
    assert_int_equal(note.count, 0);
    assert_string_equal(note.text, "");
}

static void replaces_each_of_the_map(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a×b", "a*b"},
        {"a÷b", "a/b"},
        {"a−b", "a-b"},
        {"a–b", "a-b"},
        {"a—b", "a-b"},
        {"±1", "+-1"},
        {"a≤b", "a<=b"},
        {"a≥b", "a>=b"},
        {"a≠b", "a!=b"},
        {"47°", "47"},
        {"f() → int", "f() -> int"},
        {"a←b", "a<-b"},
        {"a\u00a0=1", "a =1"},
        {"a\u2003=1", "a =1"},
        {"a\u2002=1", "a =1"},
        {"a\u200b=1", "a=1"},
        {"a\u200c=1", "a=1"},
        {"a\u200d=1", "a=1"},
        {"\ufeffa=1", "a=1"},
        {"x⁰", "x**0"},
        {"x¹", "x**1"},
        {"x²", "x**2"},
        {"x³", "x**3"},
        {"x⁴", "x**4"},
        {"x⁵", "x**5"},
        {"x⁶", "x**6"},
        {"x⁷", "x**7"},
        {"x⁸", "x**8"},
        {"x⁹", "x**9"},
        {"x₀", "x0"},
        {"x₁", "x1"},
        {"x₂", "x2"},
        {"x₃", "x3"},
        {"x₄", "x4"},
        {"x₅", "x5"},
        {"x₆", "x6"},
        {"x₇", "x7"},
        {"x₈", "x8"},
        {"x₉", "x9"},
        {"10¹²", "10**12"},
        {"x²+y²", "x**2+y**2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_replaced(cases[i][0], cases[i][1], NULL);
}

static void curly_quotes_open_strings(void **state)
{
    (void)state;
    assert_replaced("print(“a×b”)", "print(\"a×b\")", "replaced “ ” by \" (2)");
    assert_replaced("x = ‘a – b’", "x = 'a – b'", "replaced ‘ ’ by ' (2)");
    assert_replaced("x = ´a´", "x = 'a'", NULL);
    assert_replaced("x = `a`", "x = 'a'", "replaced ` by ' (2)");
    assert_replaced("x = `a´", "x = 'a'", NULL);
    assert_replaced("x = `a'", "x = 'a'", NULL);
    assert_replaced("x = ”a”", "x = \"a\"", "replaced ” by \" (2)");
    assert_replaced("x = “a\"", "x = \"a\"", "replaced “ by \" (1)");
    assert_replaced("x = \"a”", "x = \"a\"", "replaced ” by \" (1)");
    assert_replaced("x = “”", "x = \"\"", NULL);
    assert_replaced("x = “a\", “b\"", "x = \"a\", \"b\"", NULL);
    assert_replaced("d[“a\"] = ”b”", "d[\"a\"] = \"b\"", NULL);
    assert_replaced("x = “say \"hi\"”", "x = 'say \"hi\"'", NULL);
    assert_replaced("x = “it's \"hi\"”", "x = \"it's \\\"hi\\\"\"", NULL);
    assert_replaced("x = ‘it’s’", "x = 'it’s'", "replaced ‘ ’ by ' (2)");
    assert_replaced("x = ‘it's’", "x = \"it's\"", "replaced ‘ ’ by ' (2)");
    assert_replaced("x = 'it’s×’ × 2", "x = 'it’s×' * 2", NULL);
    assert_replaced("x = “““a\n×”””", "x = \"\"\"a\n×\"\"\"", "replaced “ ” by \" (6)");
    assert_replaced("x = f“{a}”, r’\\d’", "x = f\"{a}\", r'\\d'", NULL);
    assert_replaced("x = “a\\” b” × 2", "x = \"a\\” b\" * 2", NULL);
}

static void strings_and_comments_stay(void **state)
{
    (void)state;
    assert_kept("x = 'it’s 47°'");
    assert_kept("x = \"“a” × `b`\" # 2 × 3 “");
    assert_kept("x = '''a\n×\n'''\n");
    assert_kept("x = \"\"\"a\n\\\"\"\" × \"\"\"");
    assert_kept("x = r'\\' ×'");
    assert_kept("x = 'a\\\n×'");
    assert_kept("é = 'ü'");
    assert_kept("x = \"never closed ×");
    assert_kept("don’t do this");
    assert_kept("x = “never closed");
    assert_kept("```python\nprint(1)\n```");
    assert_kept("“““ never closed");
    assert_kept("\xff\xc3\x28");
    assert_kept("");
    assert_replaced("# ×\nx = 2×3 # ×\ny = '×'", "# ×\nx = 2*3 # ×\ny = '×'",
                    "replaced × by * (1)");
    assert_replaced("x = \"never × closed\ny = 2×3", "x = \"never × closed\ny = 2*3", NULL);
}

static void braces_of_f_strings_are_code(void **state)
{
    (void)state;
    assert_replaced("f'{a×2} ×'", "f'{a*2} ×'", "replaced × by * (1)");
    assert_replaced("rf\"{a×2:×{w×2}.2f}×\"×1", "rf\"{a*2:×{w*2}.2f}×\"*1", NULL);
    assert_replaced("f'''{\na×2}\n×'''", "f'''{\na*2}\n×'''", NULL);
    assert_replaced("f'{d[“a”]×{1:2}[1]}'", "f'{d[\"a\"]*{1:2}[1]}'", NULL);
    assert_replaced("f'{f\"{x×1}\"}'", "f'{f\"{x*1}\"}'", NULL);
    assert_kept("f'{{a×2}}'");
    assert_kept("'{a×2}'");
    assert_kept("f'{\"×\"}'");
    assert_replaced("f'{a\nx×1", "f'{a\nx*1", NULL);
    assert_kept("elf'{×}'");
}

static void tells_what_was_replaced(void **state)
{
    (void)state;
    assert_replaced("a×b×c − d – e\u00a0if “x” else 3° ± x²\u200b",
                    "a*b*c - d - e if \"x\" else 3 +- x**2",
                    "replaced × by * (2), − – by - (2), ± by +- (1), ° zero-width space by nothing "
                    "(2), “ ” by \" (2), no-break space by space (1), ² by **2 (1)");
}

static void finds_what_is_not_plain_wherever_it_is(void **state)
{
    (void)state;
    enum { LEN = 300 };
    char text[LEN];
    for (int c = 0; c < 0x80; c++)
        text[c] = (char)(c == '`' ? 'x' : c);
    memset(text + 0x80, 'x', LEN - 0x80);
    for (size_t begin = 0; begin < 70; begin++)
        for (size_t end = begin; end <= LEN; end++)
            assert_true(typography_is_plain(text + begin, end - begin));
    for (size_t at = 0; at < LEN; at++) {
        char kept = text[at];
        static const char others[] = {'`', '\x80', '\xff', '\xc3'};
        for (size_t i = 0; i < sizeof(others); i++) {
            text[at] = others[i];
            assert_false(typography_is_plain(text, LEN));
            assert_true(typography_is_plain(text, at));
            assert_true(typography_is_plain(text + at + 1, LEN - at - 1));
        }
        text[at] = kept;
    }
}

/* Quotes that nothing closes are not searched for to the end of the line each time: this test would
 * not end. */
static void hostile_code_takes_no_longer(void **state)
{
    (void)state;
    static const char *const parts[] = {"“a ",   "‘ ",      "x’a'",    "“““ ",
                                        "`'\" ", "f'{f\"{", "f'''{'''"};
    enum { N = 30000 };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _buf_ struct buf code = BUF_INIT(8 * MIB), out = BUF_INIT(32 * MIB);
        struct typography_note note;
        for (int n = 0; n < N; n++)
            buf_append_str(&code, parts[i]);
        typography_replace(code.data, code.len, &out, &note);
        assert_false(out.overflowed);
    }
}

static void a_buffer_that_is_too_small_stays(void **state)
{
    (void)state;
    _buf_ struct buf out = BUF_INIT(4);
    struct typography_note note;
    assert_false(typography_replace("x = 2×3", strlen("x = 2×3"), &out, &note));
    assert_int_equal(out.len, 0);
    assert_false(out.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_each_of_the_map),
        cmocka_unit_test(curly_quotes_open_strings),
        cmocka_unit_test(strings_and_comments_stay),
        cmocka_unit_test(braces_of_f_strings_are_code),
        cmocka_unit_test(tells_what_was_replaced),
        cmocka_unit_test(finds_what_is_not_plain_wherever_it_is),
        cmocka_unit_test(hostile_code_takes_no_longer),
        cmocka_unit_test(a_buffer_that_is_too_small_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
