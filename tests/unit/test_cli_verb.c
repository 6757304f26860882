#include "cli/args.h"
#include "unit.h"

/* The table of verbs, hand-written or made from operations. What is told of them elsewhere is made
 * from it: tests/e2e/test_table.py. */

static bool has_letter_twice(const struct cli_flag *flags)
{
    for (const struct cli_flag *a = flags; a->name != NULL; a++)
        for (const struct cli_flag *b = a + 1; b->name != NULL; b++)
            if ((a->letter != 0 && a->letter == b->letter) || strcmp(a->name, b->name) == 0)
                return true;
    return false;
}

static void every_verb_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; cli_verbs()[i] != NULL; i++) {
        const struct cli_verb *verb = cli_verbs()[i];
        assert_ptr_equal(cli_verb_find(verb->name), verb);
        assert_true(verb->summary[0] != '\0' && verb->about[0] != '\0' && verb->run != NULL);
        assert_int_equal(strncmp(verb->examples, "cella ", 6), 0);
        if (verb->flags != NULL)
            assert_false(has_letter_twice(verb->flags));
    }
    assert_null(cli_verb_find("nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_is_complete),
    };
    return cmocka_run_group_tests_name("cli_verb", tests, NULL, NULL);
}
