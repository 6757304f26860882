/* Paths that callers give for files of a workspace. The rest of jail/files/files.c is shown by
 * tests/e2e/test_session_files.py, with jails whose users would like to lead it astray. */
#include "jail/files/archive.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_files),
        cmocka_unit_test(lengths_and_depths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
