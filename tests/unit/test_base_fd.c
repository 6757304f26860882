#include "base/fd.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int open_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    int n = 0;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static void make_pair(int type, int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
}

static void descriptors_arrive_with_the_first_byte(void **state)
{
    (void)state;
    int pair[2], pipe_ends[2], got[2];
    size_t n_got = 0;
    char byte;
    make_pair(SOCK_STREAM, pair);
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    assert_int_equal(fd_send(pair[0], "hello", 5, pipe_ends, 2), 5);
    assert_int_equal(fd_recv(pair[1], &byte, 1, got, 2, &n_got), 1);
    assert_int_equal(n_got, 2);
    assert_int_equal(byte, 'h');
    for (int i = 0; i < 2; i++)
        assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fd_write_all(got[1], "x", 1), 0);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'x');
    char rest[8];
    assert_int_equal(fd_recv(pair[1], rest, sizeof(rest), got, 0, &n_got), 4);
    assert_int_equal(n_got, 0);
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        close(pipe_ends[i]);
        close(got[i]);
    }
}

static void surplus_descriptors_are_closed(void **state)
{
    (void)state;
    int before = open_count();
    int pair[2], send[FD_PASS_MAX], got[1];
    size_t n_got = 0;
    make_pair(SOCK_SEQPACKET, pair);
    for (size_t i = 0; i < ARRAY_LEN(send); i++)
        send[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fd_send(pair[0], "x", 1, send, ARRAY_LEN(send)), 1);
    for (size_t i = 0; i < ARRAY_LEN(send); i++)
        close(send[i]);
    char byte;
    assert_int_equal(fd_recv(pair[1], &byte, 1, got, 1, &n_got), 1);
    assert_int_equal(n_got, 1);
    close(got[0]);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(open_count(), before);
}

static void uninvited_descriptors_are_closed(void **state)
{
    (void)state;
    int before = open_count();
    int pair[2];
    char byte;
    make_pair(SOCK_STREAM, pair);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fd_send(pair[0], "x", 1, &fd, 1), 1);
    close(fd);
    assert_int_equal(fd_recv(pair[1], &byte, 1, NULL, 0, NULL), 1);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(open_count(), before);
}

static void a_closed_peer_is_an_error_not_a_signal(void **state)
{
    (void)state;
    int pair[2];
    make_pair(SOCK_STREAM, pair);
    close(pair[1]);
    assert_int_equal(fd_send(pair[0], "x", 1, NULL, 0), -EPIPE);
    char byte;
    assert_int_equal(fd_recv(pair[0], &byte, 1, NULL, 0, NULL), 0);
    close(pair[0]);
    assert_int_equal(fd_recv(pair[0], &byte, 1, NULL, 0, NULL), -EBADF);
}

static void nonblocking_on_and_off(void **state)
{
    (void)state;
    int pair[2];
    char byte;
    make_pair(SOCK_STREAM, pair);
    assert_int_equal(fd_set_nonblocking(pair[0], true), 0);
    assert_int_equal(fd_recv(pair[0], &byte, 1, NULL, 0, NULL), -EAGAIN);
    assert_int_equal(fd_set_nonblocking(pair[0], false), 0);
    assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(fd_set_nonblocking(-1, true), -EBADF);
}

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
    unlinkat(folder_fd, "file", 0);
    unlinkat(folder_fd, "link", 0);
    close(folder_fd);
    return rmdir(folder);
}

static void files_are_written_and_read_whole(void **state)
{
    (void)state;
    _free_ char *big = mem_alloc(100000);
    memset(big, 'b', 100000);
    assert_int_equal(fd_create_file(folder_fd, "file", big, 100000, 0600), 0);
    struct stat st;
    assert_int_equal(fstatat(folder_fd, "file", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    _free_ char *text = NULL;
    size_t len = 0;
    assert_int_equal(fd_read_file(folder_fd, "file", 100000, &text, &len), 0);
    assert_int_equal(len, 100000);
    assert_int_equal(strlen(text), 100000);
}

static void files_over_the_limit_are_refused(void **state)
{
    (void)state;
    assert_int_equal(fd_create_file(folder_fd, "file", "12345", 5, 0600), 0);
    char *text = NULL;
    assert_int_equal(fd_read_file(folder_fd, "file", 4, &text, NULL), -EFBIG);
    assert_int_equal(fd_read_file(AT_FDCWD, "/dev/zero", MIB, &text, NULL), -EFBIG);
    assert_null(text);
    assert_int_equal(fd_read_file(folder_fd, "absent", 4, &text, NULL), -ENOENT);
    assert_int_equal(fd_read_file(folder_fd, ".", 4, &text, NULL), -EISDIR);
}

static void existing_files_only_for_write_file(void **state)
{
    (void)state;
    assert_int_equal(fd_write_file(folder_fd, "absent", "x"), -ENOENT);
    assert_int_equal(fd_create_file(folder_fd, "file", "abc", 3, 0600), 0);
    assert_int_equal(fd_write_file(folder_fd, "file", "x"), 0);
    assert_int_equal(fd_write_file(AT_FDCWD, "/dev/full", "x"), -ENOSPC);
    assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
}

static void creation_does_not_follow_links(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("file", folder_fd, "link"), 0);
    assert_int_equal(fd_create_file(folder_fd, "link", "x", 1, 0600), -ELOOP);
}

static void taken_values_are_not_cleaned_up(void **state)
{
    (void)state;
    int kept;
    {
        _fd_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        _fd_ int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(closed >= 0);
        kept = take_fd(&fd);
        assert_int_equal(fd, -1);
    }
    assert_int_equal(fcntl(kept, F_GETFD), FD_CLOEXEC);
    close(kept);
    char *text;
    {
        _free_ char *mine = mem_strdup("kept");
        text = take_ptr(mine);
        assert_null(mine);
    }
    assert_string_equal(text, "kept");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_arrive_with_the_first_byte),
        cmocka_unit_test(surplus_descriptors_are_closed),
        cmocka_unit_test(uninvited_descriptors_are_closed),
        cmocka_unit_test(a_closed_peer_is_an_error_not_a_signal),
        cmocka_unit_test(nonblocking_on_and_off),
        cmocka_unit_test(files_are_written_and_read_whole),
        cmocka_unit_test(files_over_the_limit_are_refused),
        cmocka_unit_test(existing_files_only_for_write_file),
        cmocka_unit_test(creation_does_not_follow_links),
        cmocka_unit_test(taken_values_are_not_cleaned_up),
    };
    return cmocka_run_group_tests_name("base_fd", tests, make_folder, remove_folder);
}
