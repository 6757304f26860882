#include "cli/language.h"
#include "unit.h"

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
        cmocka_unit_test(files_tell_their_language),
    };
    return cmocka_run_group_tests_name("cli_language", tests, NULL, NULL);
}
