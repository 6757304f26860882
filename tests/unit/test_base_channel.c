/* Sockets whose other end is in a sandbox. Closing what comes from there may take for ever: each of
 * these tests would hang if that happened in its own thread. */
#include "base/channel.h"
#include "base/fd.h"
#include "unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { LINGER_S = 100000, GIVING_UP_S = 60 };

struct lingering {
    int listener, peer;
    int fd; /* whose last close waits for the peer to read */
};

static struct lingering lingering_new(void)
{
    struct lingering l = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                          .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    const struct linger on = {.l_onoff = 1, .l_linger = LINGER_S};
    static const char bytes[65536];
    assert_int_equal(bind(l.listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(l.listener, 1), 0);
    assert_int_equal(getsockname(l.listener, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(l.fd, (struct sockaddr *)&at, len), 0);
    l.peer = accept(l.listener, NULL, NULL);
    assert_true(l.peer >= 0);
    while (send(l.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
    assert_int_equal(setsockopt(l.fd, SOL_SOCKET, SO_LINGER, &on, sizeof(on)), 0);
    return l;
}

/* A close that waits for it ends with an error. */
static void lingering_free(struct lingering *l)
{
    const struct linger reset = {.l_onoff = 1};
    setsockopt(l->peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(l->peer);
    close(l->listener);
}

static int open_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static void await_open(int n)
{
    while (open_count() != n)
        poll(NULL, 0, 1);
}

static void make_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static void a_descriptor_that_comes_is_closed_elsewhere(void **state)
{
    (void)state;
    int before = open_count(), pair[2];
    char bytes[16];
    make_pair(pair);
    struct lingering l = lingering_new();
    assert_int_equal(fd_send(pair[1], "abc", 3, &l.fd, 1), 3);
    close(l.fd);
    assert_int_equal(channel_recv(pair[0], bytes, sizeof(bytes), NULL), -EBADMSG);
    assert_int_equal(fd_send(pair[1], "de", 2, NULL, 0), 2);
    assert_int_equal(channel_recv(pair[0], bytes, sizeof(bytes), NULL), 2);
    assert_int_equal(channel_recv(pair[0], bytes, sizeof(bytes), NULL), -EAGAIN);
    lingering_free(&l);
    close(pair[1]);
    channel_close(pair[0]);
    await_open(before);
}

static void a_socket_with_descriptors_in_its_queue_is_closed_elsewhere(void **state)
{
    (void)state;
    int before = open_count(), pair[2];
    make_pair(pair);
    struct lingering l = lingering_new();
    assert_int_equal(fd_send(pair[1], "first", 5, NULL, 0), 5);
    assert_int_equal(fd_send(pair[1], "second", 6, &l.fd, 1), 6);
    close(l.fd);
    assert_int_equal(channel_peek(pair[0]), 1);
    channel_close(pair[0]);
    assert_int_not_equal(channel_peek(pair[1]), -EAGAIN);
    lingering_free(&l);
    close(pair[1]);
    await_open(before);
}

static size_t n_kept;

static void on_congestion(size_t n)
{
    n_kept = n;
}

static void what_too_few_threads_can_close_is_told_and_kept(void **state)
{
    (void)state;
    enum { SENT = 20 };
    int before = open_count(), pair[2];
    struct lingering l[SENT];
    char bytes[16];
    make_pair(pair);
    n_kept = 0;
    channel_on_congestion(on_congestion);
    for (int i = 0; i < SENT; i++) {
        l[i] = lingering_new();
        assert_int_equal(fd_send(pair[1], "x", 1, &l[i].fd, 1), 1);
        close(l[i].fd);
        assert_int_equal(channel_recv(pair[0], bytes, sizeof(bytes), NULL), -EBADMSG);
    }
    assert_true(n_kept > 0 && n_kept < SENT);
    for (int i = 0; i < SENT; i++)
        lingering_free(&l[i]);
    close(pair[1]);
    channel_close(pair[0]);
    await_open(before);
    channel_on_congestion(NULL);
}

static void all_that_one_message_can_carry_is_taken(void **state)
{
    (void)state;
    enum { SENT = 253 };
    int before = open_count(), pair[2], pipes[2];
    union {
        char space[CMSG_SPACE(sizeof(int) * SENT)];
        struct cmsghdr align;
    } control = {0};
    char byte = 'x';
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS,
                               .cmsg_len = CMSG_LEN(sizeof(int) * SENT)};
    make_pair(pair);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    for (int i = 0; i < SENT; i++)
        memcpy(CMSG_DATA(header) + (size_t)i * sizeof(int), &pipes[1], sizeof(int));
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
    assert_int_equal(sendmsg(pair[1], &msg, 0), 1);
    pid_t writer = 0;
    assert_int_equal(channel_recv(pair[0], &byte, 1, &writer), -EBADMSG);
    assert_int_equal(writer, getpid());
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 0); /* all copies were closed */
    close(pipes[0]);
    close(pair[1]);
    channel_close(pair[0]);
    await_open(before);
}

/* Linux 6.16 and later. */
static void where_the_kernel_helps_nothing_can_be_sent(void **state)
{
    (void)state;
    int pair[2], got = -1, passes = 1;
    socklen_t len = sizeof(passes);
    char byte;
    make_pair(pair);
    channel_refuse_descriptors(pair[0]);
    if (getsockopt(pair[0], SOL_SOCKET, 83, &passes, &len) == 0) {
        assert_int_equal(fd_send(pair[1], "a", 1, &pair[1], 1), -EPERM);
        assert_int_equal(channel_recv(pair[0], &byte, 1, NULL), -EAGAIN);
    }
    assert_int_equal(fd_send(pair[0], "b", 1, &pair[0], 1), 1);
    assert_int_equal(fd_recv(pair[1], &byte, 1, &got, 1, NULL), 1);
    assert_true(got >= 0);
    close(got);
    close(pair[1]);
    channel_close(pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_that_comes_is_closed_elsewhere),
        cmocka_unit_test(a_socket_with_descriptors_in_its_queue_is_closed_elsewhere),
        cmocka_unit_test(what_too_few_threads_can_close_is_told_and_kept),
        cmocka_unit_test(all_that_one_message_can_carry_is_taken),
        cmocka_unit_test(where_the_kernel_helps_nothing_can_be_sent),
    };
    alarm(GIVING_UP_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
