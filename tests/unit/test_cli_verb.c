#include "base/fd.h"
#include "cli/args.h"
#include "unit.h"

#include <fcntl.h>

/* What people are told about the command line lives in three places: the tables, the manual page
 * and the completions. This holds them together. */

static char *read_source(const char *path)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s/%s", SOURCE_ROOT, path);
    char *text = NULL;
    assert_int_equal(fd_read_file(AT_FDCWD, whole, 1 * MIB, &text, NULL), 0);
    return text;
}

static void expect_found(const char *text, const char *where, const char *verb, const char *word)
{
    if (strstr(text, word) == NULL)
        fail_msg("%s says nothing of %s %s", where, verb, word);
}

static void every_verb_is_documented(void **state)
{
    (void)state;
    _free_ char *manual = read_source("docs/man/cella.1");
    _free_ char *completions = read_source("packaging/completions/cella.bash");
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        const struct cli_verb *verb = cli_verbs[i];
        char item[64];
        snprintf(item, sizeof(item), ".It Cm %s", verb->name);
        expect_found(manual, "the manual", verb->name, item);
        expect_found(completions, "the completion", verb->name, verb->name);
        for (const struct cli_flag *f = verb->flags; f != NULL && f->name != NULL; f++) {
            snprintf(item, sizeof(item), "-%s", f->name);
            expect_found(manual, "the manual", verb->name, item);
            snprintf(item, sizeof(item), "--%s", f->name);
            expect_found(completions, "the completion", verb->name, item);
        }
    }
}

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
    for (size_t i = 0; cli_verbs[i] != NULL; i++) {
        const struct cli_verb *verb = cli_verbs[i];
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
        cmocka_unit_test(every_verb_is_documented),
        cmocka_unit_test(every_verb_is_complete),
    };
    return cmocka_run_group_tests_name("cli_verb", tests, NULL, NULL);
}
