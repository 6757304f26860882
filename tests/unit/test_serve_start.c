/* What happens before the first request: the data directory, the sockets, and who is at the door.
 */
#include "serve/data.h"
#include "serve/guard.h"
#include "serve/listen.h"
#include "serve/serve.h"
#include "unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char dir[] = "/tmp/cella-unit-XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const names[] = {SERVE_LOCK, SERVE_SOCKET, "other"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unlinkat(fd, names[i], 0);
    close(fd);
    return rmdir(dir);
}

static void knows_this_machine(void **state)
{
    (void)state;
    static const char *const own[] = {"localhost",   "LocalHost:7300", "127.0.0.1",  "127.0.0.1:1",
                                      "127.255.1.2", "[::1]",          "[::1]:65535"};
    static const char *const others[] = {"",
                                         "localhost.",
                                         "localhost:",
                                         "localhost:x",
                                         "localhost:123456",
                                         "evil",
                                         "127.0.0.1.evil",
                                         "localhost.evil",
                                         "[::1].evil",
                                         "[::1",
                                         "[::2]",
                                         "::1",
                                         "128.0.0.1",
                                         "127.1",
                                         "user@127.0.0.1",
                                         "0.0.0.0",
                                         "127.0.0.1:80:80",
                                         "[127.0.0.1]",
                                         "[localhost]",
                                         "localhost evil",
                                         "127.0.0.01"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (!guard_is_loopback_host(own[i]))
            fail_msg("%s was refused", own[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (guard_is_loopback_host(others[i]))
            fail_msg("%s was taken", others[i]);
    }
}

static bool has_ipv6(void)
{
    _fd_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    return fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;
}

static void listens_where_it_is_told(void **state)
{
    (void)state;
    static const char *const addresses[] = {"127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0",
                                            "[::]:0"};
    static const char *const urls[] = {"http://127.0.0.1:", "http://127.0.0.1:", "http://[::1]:",
                                       "http://127.0.0.1:", "http://[::1]:"};
    struct err e;
    char url[LISTEN_URL_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        if (addresses[i][0] == '[' && !has_ipv6())
            continue;
        _fd_ int fd = -1;
        assert_int_equal(listen_tcp(addresses[i], i < 3, &fd, url, &e), 0);
        assert_memory_equal(url, urls[i], strlen(urls[i]));
        assert_true(strtol(url + strlen(urls[i]), NULL, 10) > 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
}

static void refuses_other_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      ":80",
                                      "80",
                                      "127.0.0.1",
                                      "::1:80",
                                      "[::1]",
                                      "[]:80",
                                      "127.0.0.1:",
                                      "a:b",
                                      "1.2.3.4:-1",
                                      "localhost:8 0",
                                      "127.0.0.1:99999999",
                                      "127.0.0.1:65536"};
    struct err e;
    char url[LISTEN_URL_SIZE];
    int fd = -1;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(listen_tcp(bad[i], false, &fd, url, &e), -1);
        assert_true(e.code == ERR_INVALID && e.advice[0] != '\0');
    }
    assert_int_equal(listen_tcp("0.0.0.0:0", true, &fd, url, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_non_null(strstr(e.message, "--no-auth"));
}

static void says_that_a_port_is_taken(void **state)
{
    (void)state;
    struct err e;
    char url[LISTEN_URL_SIZE], address[LISTEN_URL_SIZE];
    _fd_ int first = -1, second = -1;
    assert_int_equal(listen_tcp("127.0.0.1:0", true, &first, url, &e), 0);
    assert_int_equal(listen(first, 1), 0);
    snprintf(address, sizeof(address), "%s", url + strlen("http://"));
    assert_int_equal(listen_tcp(address, true, &second, url, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.advice, "port 0"));
}

static void one_daemon_has_the_directory(void **state)
{
    (void)state;
    struct err e;
    struct data_dir first = DATA_DIR_INIT, second = DATA_DIR_INIT;
    assert_int_equal(data_open(dir, &first, &e), 0);
    struct stat st;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(data_open(dir, &second, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    char pid[32];
    snprintf(pid, sizeof(pid), "pid %d)", (int)getpid());
    assert_non_null(strstr(e.message, pid));
    data_close(&second);
    data_close(&first);
    assert_int_equal(data_open(dir, &first, &e), 0);
    data_close(&first);
}

static void leaves_directories_of_others_alone(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof(path), "%s/other", dir);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    assert_int_equal(chmod(dir, 0755), 0);
    struct err e;
    struct data_dir data = DATA_DIR_INIT;
    assert_int_equal(data_open(dir, &data, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    data_close(&data);
    struct stat st;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_int_equal(st.st_uid, getuid());
}

static void the_unix_socket_is_its_owners(void **state)
{
    (void)state;
    struct err e;
    _fd_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) { /* the second time over the leftover of the first */
        _fd_ int fd = -1;
        assert_int_equal(listen_unix(dir_fd, &fd, &e), 0);
        struct stat st;
        assert_int_equal(fstatat(dir_fd, SERVE_SOCKET, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(S_ISSOCK(st.st_mode));
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static void chooses_a_data_directory(void **state)
{
    (void)state;
    struct err e;
    char *path = NULL;
    assert_int_equal(serve_data_dir("/some/where", &path, &e), 0);
    assert_string_equal(path, "/some/where");
    free(path);
    assert_int_equal(chdir("/tmp"), 0);
    assert_int_equal(serve_data_dir("here", &path, &e), 0);
    assert_string_equal(path, "/tmp/here");
    free(path);
    setenv("XDG_STATE_HOME", "/state", 1);
    assert_int_equal(serve_data_dir(NULL, &path, &e), 0);
    assert_string_equal(path, "/state/cella");
    free(path);
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(serve_data_dir(NULL, &path, &e), 0);
    assert_non_null(strstr(path, getuid() == 0 ? "/var/lib/cella" : "/.local/state/cella"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_this_machine),
        cmocka_unit_test(listens_where_it_is_told),
        cmocka_unit_test(refuses_other_addresses),
        cmocka_unit_test(says_that_a_port_is_taken),
        cmocka_unit_test_setup_teardown(one_daemon_has_the_directory, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(leaves_directories_of_others_alone, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_unix_socket_is_its_owners, make_dir, remove_dir),
        cmocka_unit_test(chooses_a_data_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
