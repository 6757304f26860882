#include "base/fd.h"
#include "policy/keys.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static char folder[] = "/tmp/cella-unit-XXXXXX";
static int folder_fd;

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlinkat(folder_fd, "key", 0);
    close(folder_fd);
    return rmdir(folder); /* fails if a temporary file was left */
}

static int without_key(void **state)
{
    (void)state;
    unlinkat(folder_fd, "key", 0);
    return 0;
}

static void a_key_is_made_once(void **state)
{
    (void)state;
    char first[KEYS_SIZE], second[KEYS_SIZE];
    struct err e = {0};
    assert_int_equal(keys_ensure(folder_fd, first, &e), 0);
    assert_int_equal(strlen(first), 43);
    struct stat st;
    assert_int_equal(fstatat(folder_fd, "key", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(keys_ensure(folder_fd, second, &e), 0);
    assert_string_equal(first, second);
}

static void without_a_file_reading_says_so(void **state)
{
    (void)state;
    char key[KEYS_SIZE];
    struct err e = {0};
    assert_int_equal(keys_read(folder_fd, key, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void a_key_of_ones_own_is_accepted(void **state)
{
    (void)state;
    char key[KEYS_SIZE];
    struct err e = {0};
    static const char text[] = "0123456789/0123456789+0123456789=\r\n";
    assert_int_equal(fd_create_file(folder_fd, "key", text, strlen(text), 0600), 0);
    assert_int_equal(keys_read(folder_fd, key, &e), 0);
    assert_string_equal(key, "0123456789/0123456789+0123456789=");
}

static void refused(const char *text, size_t len, mode_t mode)
{
    char key[KEYS_SIZE] = "untouched";
    struct err e = {0};
    unlinkat(folder_fd, "key", 0);
    assert_int_equal(fd_create_file(folder_fd, "key", text, len, 0600), 0);
    assert_int_equal(fchmodat(folder_fd, "key", mode, 0), 0);
    assert_int_equal(keys_ensure(folder_fd, key, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_true(e.advice[0] != '\0');
    assert_string_equal(key, "untouched");
}

static void doubtful_files_are_refused(void **state)
{
    (void)state;
    static const char good[] = "0123456789012345678901234567890123456789";
    char text[200];
    refused("", 0, 0600);
    refused("short\n", 6, 0600);
    refused(good, 40, 0640);
    refused(good, 40, 0604);
    memset(text, 'a', sizeof(text));
    refused(text, 129, 0600);
    refused(text, sizeof(text), 0600);
    text[20] = ' ';
    refused(text, 40, 0600);
    text[20] = '\0';
    refused(text, 40, 0600);
    text[20] = '\n';
    refused(text, 40, 0600);
    text[20] = '\xc3';
    refused(text, 40, 0600);
}

static void only_a_regular_file_is_a_key(void **state)
{
    (void)state;
    char key[KEYS_SIZE];
    struct err e = {0};
    assert_int_equal(symlinkat("/etc/hostname", folder_fd, "key"), 0);
    assert_int_equal(keys_ensure(folder_fd, key, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    unlinkat(folder_fd, "key", 0);
    assert_int_equal(mkfifoat(folder_fd, "key", 0600), 0);
    assert_int_equal(keys_ensure(folder_fd, key, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    unlinkat(folder_fd, "key", 0);
    assert_int_equal(symlinkat("absent", folder_fd, "key"), 0);
    assert_int_equal(keys_ensure(folder_fd, key, &e), -1);
}

static void a_directory_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    char key[KEYS_SIZE];
    struct err e = {0};
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(keys_ensure(proc, key, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    close(proc);
}

static bool matches(const char *header)
{
    return keys_match("secret-key", header, strlen(header));
}

static void headers_match_the_key_and_nothing_else(void **state)
{
    (void)state;
    assert_true(matches("Bearer secret-key"));
    assert_true(matches("bearer secret-key"));
    assert_true(matches("BEARER secret-key  "));
    assert_false(matches("secret-key"));
    assert_false(matches("Basic secret-key"));
    assert_false(matches("Bearer"));
    assert_false(matches("Bearer "));
    assert_false(matches(""));
    assert_false(matches("Bearer secret-ke"));
    assert_false(matches("Bearer secret-key2"));
    assert_false(matches("Bearer Secret-key"));
    assert_false(keys_match("secret-key", "Bearer secret-key\0x", 19));
    assert_false(keys_match("secret-key", "Bearer secret-key", 16));
    char longest[1000];
    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "Bearer ", 7);
    assert_false(keys_match("secret-key", longest, sizeof(longest)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_key_is_made_once, without_key),
        cmocka_unit_test_setup(without_a_file_reading_says_so, without_key),
        cmocka_unit_test_setup(a_key_of_ones_own_is_accepted, without_key),
        cmocka_unit_test_setup(doubtful_files_are_refused, without_key),
        cmocka_unit_test_setup(only_a_regular_file_is_a_key, without_key),
        cmocka_unit_test(a_directory_that_cannot_be_written_is_an_error),
        cmocka_unit_test(headers_match_the_key_and_nothing_else),
    };
    return cmocka_run_group_tests_name("policy_keys", tests, make_folder, remove_folder);
}
