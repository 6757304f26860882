/* Paths that callers give for files of a workspace. The rest of jail/files/files.c is shown by
 * tests/e2e/test_session_files.py, with jails whose users would like to lead it astray. */
#include "jail/files/files_parts.h"
#include "unit.h"

static void paths_of_files(void **state)
{
    static const char *const good[] = {"a", "a/b", "...", "..a", "a..", "a/.../b", ".a", " ", "\n"};
    static const char *const bad[] = {"",    "/",    "/a",  "a/",   "a//b",  ".",   "..",
                                      "./a", "../a", "a/.", "a/..", "a/./b", "//a", "a/../b"};
    (void)state;
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(archive_check_path(good[i], &e), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(archive_check_path(bad[i], &e), -1);
        assert_true(e.code == ERR_INVALID && e.advice[0] != '\0');
    }
}

static void lengths_and_depths(void **state)
{
    (void)state;
    struct err e;
    char path[WARDEN_PATH_SIZE + 1];
    memset(path, 'x', sizeof(path));
    path[MANIFEST_NAME_MAX] = '\0';
    assert_int_equal(archive_check_path(path, &e), 0);
    path[MANIFEST_NAME_MAX] = 'x';
    path[MANIFEST_NAME_MAX + 1] = '\0';
    assert_int_equal(archive_check_path(path, &e), -1);
    memset(path, 'x', sizeof(path));
    for (size_t i = 99; i < sizeof(path); i += 100)
        path[i] = '/';
    path[WARDEN_PATH_SIZE - 1] = '\0';
    assert_int_equal(archive_check_path(path, &e), 0);
    path[WARDEN_PATH_SIZE - 1] = 'x';
    path[WARDEN_PATH_SIZE] = '\0';
    assert_int_equal(archive_check_path(path, &e), -1);
    for (size_t i = 0; i < 2 * MANIFEST_DEPTH_MAX; i++)
        path[i] = i % 2 == 0 ? 'd' : '/';
    path[2 * MANIFEST_DEPTH_MAX - 1] = '\0';
    assert_int_equal(archive_check_path(path, &e), 0);
    memcpy(path + 2 * MANIFEST_DEPTH_MAX - 1, "/d", 3);
    assert_int_equal(archive_check_path(path, &e), -1);
}

static void patterns_of_names(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"*", "a.csv", true},
        {"*.csv", "a.csv", true},
        {"*.csv", "d/a.csv", false},
        {"?.csv", "a.csv", true},
        {"?.csv", ".csv", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[]]", "]", true},
        {"[", "[", true},
        {"[a", "a", false},
        {"**", "a/b/c", true},
        {"**/c", "a/b/c", true},
        {"**/c", "c", true},
        {"**/c", "a/xc", false},
        {"a/**", "a/b/c", true},
        {"a/**/c", "a/c", true},
        {"a/**/c", "a/b/b/c", true},
        {"a/**/c", "a/b/b/d", false},
        {"a/*/c", "a/b/c", true},
        {"a/*/c", "a/b/b/c", false},
        {"*a*b*c", "xaxbxc", true},
        {"*a*b*c", "xaxbx", false},
        {"a?b", "a/b", false},
        {"[/]", "/", false},
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"**/*.py", "a/b/x.py", true},
        {"*/x", "a/b/x", false},
        {"a*/b", "aa/b", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (file_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("%s: %s", cases[i].pattern, cases[i].text);
    char text[256] = {0};
    memset(text, 'a', sizeof(text) - 1); /* what takes other matchers for ever */
    assert_false(file_matches("*a*a*a*a*a*a*a*a*a*a*a*a**a*a*a*a**/*a*a*ab", text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_files),
        cmocka_unit_test(lengths_and_depths),
        cmocka_unit_test(patterns_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
