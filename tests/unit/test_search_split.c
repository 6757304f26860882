#include "search/split.h"
#include "search/words.h"
#include "unit.h"

#include <string.h>

static void put(void *context, const struct split_unit *unit)
{
    buf_printf(context, "%zu-%zu %s:%s|", unit->first, unit->last, unit->type, unit->name);
}

static void expect(const char *path, const char *text, const char *units)
{
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    split_file(path, text, strlen(text), put, &out);
    assert_string_equal(buf_str(&out), units);
}

static void test_python(void **state)
{
    (void)state;
    expect("a.py",
           "import os\n\nclass A(B):\n    @x\n    def f(self,\n          y=')'):\n        '''def "
           "g():'''\n"
           "        def inner(): pass\n    z = 1\n# about\nasync def h(): return {\n'a': 1}\n",
           "1-1 block:a.py|3-9 class:A|4-8 method:A.f|10-12 function:h|");
    expect("a.py", "def f(\nclass B:\n  pass\n", "1-1 function:f|2-3 class:B|");
}

static void test_braces(void **state)
{
    (void)state;
    expect("a.c",
           "#define X {\n/* { */\nint f(char c)\n{\n    if (c == '{') { g(\"}\"); }\n}\n"
           "static int t[] = {1};\nstruct s { int x; };\nstruct s *g(void) { return 0; }\n",
           "1-1 block:a.c|2-6 function:f|7-7 block:a.c|8-8 struct:s|9-9 function:g|");
    expect("a.go", "type S struct {\n}\nfunc (s *S) Listen(a string) (int, error) {\n}\n",
           "1-2 type:S|3-4 function:Listen|");
    expect("a.rs", "impl<'a> Bar<'a> {\n    pub fn new() -> Self { x }\n}\n",
           "1-3 impl:Bar|2-2 method:Bar.new|");
    expect("a.ts", "export const f = async ({a}) => {\n};\nclass C extends B {\n  g({x}) { }\n}\n",
           "1-2 function:f|3-5 class:C|4-4 method:C.g|");
    expect("a.sh", "f() {\n  echo '}'\n}\n", "1-3 function:f|");
}

static void test_documents(void **state)
{
    (void)state;
    expect("a.md", "# A\nx\n```\n# no\n```\n## B\n\nC\n===\ny\n",
           "1-5 section:A|6-6 section:B|8-10 section:C|");
    expect("a.rst", "Title\n=====\ntext\n\nPart\n----\nmore\n",
           "1-3 section:Title|5-7 section:Part|");
    expect("a.txt", "nothing\nhere\n", "1-2 section:a.txt|");
    expect("a.png", "x", "");
}

static void test_hostile_files_take_linear_time(void **state)
{
    (void)state;
    static const char *const parts[] = {"{",    "(",   "'\\",  "class A", "def f(\n", "# A\n",
                                        "/*",   "{a(", "}{",   "[",       "\"",       "`",
                                        "a=\n", "@x(", "\\\n", "\xff\xfe"};
    static const char *const names[] = {"a.py", "a.c", "a.js", "a.md", "a.rst", "a.java", "a.tex"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _buf_ struct buf text = BUF_INIT(256 * KIB);
        while (buf_append_str(&text, parts[i]))
            continue;
        for (size_t n = 0; n < ARRAY_LEN(names); n++) {
            _buf_ struct buf out = BUF_INIT(KIB);
            split_file(names[n], text.data, text.len, put, &out);
        }
    }
}

static void test_words_are_whole_and_in_parts(void **state)
{
    (void)state;
    _buf_ struct buf words = BUF_INIT(KIB), query = BUF_INIT(KIB);
    words_of("parseHTTPHeader snake_case2 x", 29, &words);
    assert_string_equal(buf_str(&words),
                        "parse http header parsehttpheader snake case 2 snakecase2 x");
    assert_true(words_query("how to open \"the\" file* file", 28, &query));
    assert_string_equal(buf_str(&query), "\"open\" OR \"file\"");
    assert_false(words_query("?! --", 5, &query));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_braces),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_hostile_files_take_linear_time),
        cmocka_unit_test(test_words_are_whole_and_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
