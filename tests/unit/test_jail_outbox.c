/* Messages that a socket does not take at once. */
#include "jail/warden/outbox.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

enum { MANY = 5000 };

static struct outbox box;
static int theirs;

static int make(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                     0);
    outbox_init(&box, pair[0]);
    theirs = pair[1];
    return 0;
}

static int clean(void **state)
{
    (void)state;
    outbox_free(&box);
    close(box.sock);
    close(theirs);
    return 0;
}

/* The next message, or -1. */
static int take(void)
{
    int number;
    return recv(theirs, &number, sizeof(number), 0) == sizeof(number) ? number : -1;
}

static void all_arrive_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(outbox_send(&box, &i, sizeof(i), NULL, 0), 0);
    assert_true(box.n_waiting > 0);
    for (int i = 0; i < MANY; i++) {
        int number = take();
        if (number < 0) {
            assert_int_equal(outbox_flush(&box), 0);
            number = take();
        }
        assert_int_equal(number, i);
    }
    assert_int_equal(box.n_waiting, 0);
}

static void descriptors_wait_too(void **state)
{
    (void)state;
    int number = 0, fd = open("/dev/null", O_RDONLY | O_CLOEXEC), got = -1;
    while (box.n_waiting == 0)
        assert_int_equal(outbox_send(&box, &number, sizeof(number), NULL, 0), 0);
    assert_int_equal(outbox_send(&box, &number, sizeof(number), &fd, 1), 0);
    close(fd); /* the box has its own */
    size_t n_fds = 0;
    while (n_fds == 0) {
        ssize_t n = fd_recv(theirs, &number, sizeof(number), &got, 1, &n_fds);
        if (n == -EAGAIN)
            assert_int_equal(outbox_flush(&box), 0);
    }
    assert_true(got >= 0);
    close(got);
}

static bool is_number(const void *message, const void *with)
{
    return *(const int *)message == *(const int *)with;
}

static void what_waits_can_be_changed(void **state)
{
    (void)state;
    int number = 0, wanted = 7, last = -1;
    assert_null(outbox_find(&box, is_number, &number));
    while (box.n_waiting == 0)
        assert_int_equal(outbox_send(&box, &number, sizeof(number), NULL, 0), 0);
    assert_int_equal(outbox_send(&box, &wanted, sizeof(wanted), NULL, 0), 0);
    int *found = outbox_find(&box, is_number, &wanted);
    assert_non_null(found);
    *found = 8;
    for (int taken = take(); box.n_waiting > 0 || taken >= 0; taken = take()) {
        last = taken >= 0 ? taken : last;
        assert_int_equal(outbox_flush(&box), 0);
    }
    assert_int_equal(last, 8);
}

static void the_end_of_the_other_side_is_told(void **state)
{
    (void)state;
    int number = 0;
    while (box.n_waiting == 0)
        assert_int_equal(outbox_send(&box, &number, sizeof(number), NULL, 0), 0);
    shutdown(theirs, SHUT_RDWR);
    assert_int_equal(outbox_flush(&box), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_arrive_in_order, make, clean),
        cmocka_unit_test_setup_teardown(descriptors_wait_too, make, clean),
        cmocka_unit_test_setup_teardown(what_waits_can_be_changed, make, clean),
        cmocka_unit_test_setup_teardown(the_end_of_the_other_side_is_told, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
