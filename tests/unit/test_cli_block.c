#include "cli/block.h"
#include "unit.h"

static void expect_each(enum cli_block expected, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cli_block_look(texts[i], strlen(texts[i])) != expected)
            fail_msg("wrong about: %s", texts[i]);
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
        if (cli_block_ends_before(cases[i].text, strlen(cases[i].text), cases[i].line,
                                  strlen(cases[i].line)) != cases[i].ends)
            fail_msg("wrong about: %s behind %s", cases[i].line, cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_can_run),
        cmocka_unit_test(open_brackets_strings_and_backslashes_wait),
        cmocka_unit_test(suites_wait_for_an_empty_line),
        cmocka_unit_test(mistakes_are_left_to_python),
        cmocka_unit_test(lines_through_a_pipe_end_suites),
    };
    return cmocka_run_group_tests_name("cli_block", tests, NULL, NULL);
}
