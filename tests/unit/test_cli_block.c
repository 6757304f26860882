#include "cli/language.h"
#include "unit.h"

static void expect_of(enum cli_block (*look)(const char *text, size_t len), enum cli_block expected,
                      const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* A copy of exactly this size: the sanitizer sees who reads past its end. */
        size_t len = strlen(texts[i]);
        _free_ char *copy = mem_copy(texts[i], MAX(len, (size_t)1));
        if (look(copy, len) != expected)
            fail_msg("wrong about: %s", texts[i]);
    }
}

static void expect_each(enum cli_block expected, const char *const *texts, size_t n)
{
    expect_of(cli_block_python, expected, texts, n);
}

static void whole_lines_can_run(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "x = 1\n",
        "x = 1",
        "f(1, [2, {3: 4}])\n",
        "x[1:2]\n",
        "x: int = 3\n",
        "d = {'a': 1}\n",
        "s = 'it\\'s (open'\n",
        "s = \"#\"  # a comment with ( and '''\n",
        "# only a comment:\n",
        "s = '''one\ntwo'''\n",
        "s = r'\\\\'\n",
        "if x: print(x)\n",
        "lambda x: x\n",
        "x = 1 # ends in a backslash \\\n",
        "a = (1,\n     2)\n",
        "a = 1 + \\\n    2\n",
        "tryout = 1\n",
    };
    expect_each(CLI_BLOCK_WHOLE, texts, ARRAY_LEN(texts));
}

static void open_brackets_strings_and_backslashes_wait(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "f(1,\n",           "x = [\n",
        "x = {'a': (1,\n",  "s = '''one\n",
        "s = f\"\"\"{x}\n", "s = '''it's \\'''\n",
        "x = 1 + \\\n",     "x = 1 + \\",
        "s = 'one \\\n",    "def f(a,\n      b\n",
        "print('''\n:\n",
    };
    expect_each(CLI_BLOCK_OPEN, texts, ARRAY_LEN(texts));
}

static void suites_wait_for_an_empty_line(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "def f():\n",
        "if x:  # why\n",
        "for i in range(3):\n    print(i)\n",
        "@decorated\n",
        "class A:\n    x = 1\n\n",
        "try: x\n",
        "async def f():\n    await g()\n",
        "with open('a') as a, \\\n        open('b') as b:\n",
        "  x = 1\n",
    };
    expect_each(CLI_BLOCK_SUITE, texts, ARRAY_LEN(texts));
}

static void mistakes_are_left_to_python(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "x = )\n", "f(1))\n", "s = 'unterminated\n", "s = 'unterminated\nx = 1\n", ")(\n",
    };
    expect_each(CLI_BLOCK_WHOLE, texts, ARRAY_LEN(texts));
}

static void lines_through_a_pipe_end_suites(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
        bool ends;
    } cases[] = {
        {"def f():\n    return 1\n", "f()", true},
        {"def f():\n    return 1\n", "    # still inside", false},
        {"def f():\n    return 1\n", "", false},
        {"def f():\n    return 1\n", "# a comment", false},
        {"if x:\n    y\n", "else:", false},
        {"if x:\n    y\n", "elif(z):", false},
        {"if x:\n    y\n", "elsewhere = 1", true},
        {"try:\n    y\n", "except ValueError:", false},
        {"try:\n    y\n", "finally:", false},
        {"@cache\n", "def f():", false},
        {"@cache\ndef f():\n    pass\n", "@cache", true},
        {"x = (\n", "1)", false},
        {"x = 1\n", "y = 2", false},
        {"def f():\n    '''text\n", "text'''", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cli_block_python_ends_before(cases[i].text, strlen(cases[i].text), cases[i].line,
                                         strlen(cases[i].line)) != cases[i].ends)
            fail_msg("wrong about: %s behind %s", cases[i].line, cases[i].text);
}

static void javascript_is_whole(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "1 + 1\n",
        "let x = {a: [1, (2)]}\n",
        "const s = 'it\\'s (open'\n",
        "const t = `one ${[1, 2].map(n => `<${n}>`)} two\nlines`\n",
        "// only a comment (\n",
        "/* a ( */ 1\n",
        "x = y / 2 / z\n",
        "s.replace(/[/(\"]/g, '')\n",
        "return /'/.test(s)\n",
        "i++\n",
        "if (x) y()\n",
        "if (x) {\n  y()\n}\n",
        "do { x() } while (y)\n",
        "try { x() } catch { }\n",
        "fetch(u).then(f).catch(g)\n",
        "function f() { return 1 }\n",
        "class A { m() { } }\n",
        "for (const a of b) ;\n",
        "await Promise.resolve(1)\n",
    };
    expect_of(cli_block_node, CLI_BLOCK_WHOLE, texts, ARRAY_LEN(texts));
}

static void javascript_goes_on(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "function f() {\n", "f(1,\n",         "x = [\n",        "const t = `one\n", "`${f(`${a\n",
        "/* a comment\n",   "let x =\n",      "a &&\n",         "const f = x =>\n", "if (x)\n",
        "else\n",           "try { x() }\n",  "for (;;)\n",     "function f()\n",   "a.\n",
        "s = 'one \\\n",    "while (f(x))\n", "if (x) {} else", "x = /* ( */ {",    "a ? b :",
    };
    expect_of(cli_block_node, CLI_BLOCK_OPEN, texts, ARRAY_LEN(texts));
}

static void bash_is_whole(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "ls\n",
        "echo 'it (is)' \"so $(date \"+%Y\") ${x:-it's}\"\n",
        "if true; then echo yes; fi\n",
        "for i in 1 2 3; do echo $i; done\n",
        "for ((i = 0; i < 3; i++)); do echo $i; done\n",
        "while read -r l; do echo \"$l\"; done < file\n",
        "case $x in a|b) echo 1;; (c) echo 2;; *) echo 3; esac\n",
        "f() { echo hi; }\n",
        "function f { echo hi; }\n",
        "f()\n{\n  echo hi\n}\n",
        "cat <<EOF\nif ( ' \"\nEOF\n",
        "cat <<'A' <<-\"B C\"\n$(\nA\n\tx\n\tB C\n",
        "cat <<< word\n",
        "echo $((1 << 2)) $(echo 1)\n",
        "echo $(date) for you if you do\n",
        "x=(if then \"a b\")\n",
        "x=()\n",
        "[[ a < b && ( $x =~ ^(a|b) ) ]] && echo yes\n",
        "echo a # comment ' (\n",
        "echo a#b\n",
        "sleep 1 &\n",
        "a 2>&1 >f | b\n",
        "echo if\n",
        "echo {1,2} {\n",
        "a \\\n  b\n",
        "diff <(sort a) <(sort b)\n",
        "echo $'it\\'s'\n",
        "echo `date`\n",
        "( cd /; ls )\n",
        "if a; then { b; }; fi | sort\n",
        "! true\n",
        "# only a comment\n",
        "fi\n",
        "echo )\n",
        "done\n",
    };
    expect_of(cli_block_bash, CLI_BLOCK_WHOLE, texts, ARRAY_LEN(texts));
}

static void bash_goes_on(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "if true; then\n",
        "if true\n",
        "for i in 1 2 3\n",
        "for i in 1 2 3; do\n  echo\n",
        "while :; do if x; then y; fi\n",
        "until x\ndo\n",
        "case $x in\n",
        "case $x in\na) echo 1;;\n",
        "f() {\n",
        "f()\n",
        "function f {\n",
        "{ echo\n",
        "( echo\n",
        "echo 'one\n",
        "echo \"one $(two \"three\n",
        "echo ${x\n",
        "x=(1\n",
        "cat <<EOF\n",
        "cat <<EOF\nEOF2\n EOF\n",
        "cat <<EOF",
        "echo \\\n",
        "echo \\",
        "a &&\n",
        "a ||\n\n",
        "a | # why\n",
        "[[ a\n",
        "((1 +\n",
        "echo `date\n",
        "cat <<A <<B\nA\n",
        "select x in a b; do\n",
    };
    expect_of(cli_block_bash, CLI_BLOCK_OPEN, texts, ARRAY_LEN(texts));
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[4096];
    memset(text, '(', sizeof(text));
    assert_int_equal(cli_block_node(text, sizeof(text)), CLI_BLOCK_WHOLE);
    for (size_t i = 0; i < sizeof(text); i += 2)
        memcpy(text + i, "( ", 2);
    assert_int_equal(cli_block_bash(text, sizeof(text)), CLI_BLOCK_WHOLE);
}

static void files_tell_their_language(void **state)
{
    (void)state;
    static const struct {
        const char *path, *runtime;
    } cases[] = {{"a.py", "python"}, {"dir.sh/b.mjs", "node"}, {"./c.js", "node"}, {"d.sh", "bash"},
                 {".py", NULL},      {"print(1)", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct cli_language *found = cli_language_of_file(cases[i].path);
        if (cases[i].runtime == NULL)
            assert_null(found);
        else
            assert_string_equal(found->runtime, cases[i].runtime);
    }
    assert_null(cli_language_find("ruby"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_can_run),
        cmocka_unit_test(open_brackets_strings_and_backslashes_wait),
        cmocka_unit_test(suites_wait_for_an_empty_line),
        cmocka_unit_test(mistakes_are_left_to_python),
        cmocka_unit_test(lines_through_a_pipe_end_suites),
        cmocka_unit_test(javascript_is_whole),
        cmocka_unit_test(javascript_goes_on),
        cmocka_unit_test(bash_is_whole),
        cmocka_unit_test(bash_goes_on),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(files_tell_their_language),
    };
    return cmocka_run_group_tests_name("cli_block", tests, NULL, NULL);
}
