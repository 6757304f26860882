#include "loop/loop.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

struct owner {
    uv_loop_t loop;
    struct loop_poll *poll;
    struct loop_timer *timer;
    int fds[2];
    int events;
    int calls;
    int closed;
};

static int setup(void **state)
{
    struct owner *o = mem_alloc(sizeof(*o));
    uv_loop_init(&o->loop);
    *state = o;
    return pipe2(o->fds, O_CLOEXEC);
}

static int teardown(void **state)
{
    struct owner *o = *state;
    uv_run(&o->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&o->loop);
    free(o);
    return left;
}

static void count_closed(void *context)
{
    ((struct owner *)context)->closed++;
}

/* Closes its own handle and descriptor from inside the callback. */
static void read_and_close(void *context, int events)
{
    struct owner *o = context;
    o->events = events;
    o->calls++;
    loop_poll_close(take_ptr(o->poll), count_closed);
    close(o->fds[0]);
    assert_int_equal(o->closed, 0);
}

static void a_poll_may_close_itself(void **state)
{
    struct owner *o = *state;
    o->poll = loop_poll_new(&o->loop, o->fds[0], read_and_close, o);
    loop_poll_want(o->poll, LOOP_READ);
    assert_int_equal(write(o->fds[1], "xx", 2), 2);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 1);
    assert_int_equal(o->events, LOOP_READ);
    assert_int_equal(o->closed, 1);
    close(o->fds[1]);
}

static void a_closed_poll_is_silent(void **state)
{
    struct owner *o = *state;
    o->poll = loop_poll_new(&o->loop, o->fds[0], read_and_close, o);
    loop_poll_want(o->poll, LOOP_READ);
    assert_int_equal(write(o->fds[1], "x", 1), 1);
    loop_poll_close(o->poll, NULL);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 0);
    loop_poll_close(NULL, count_closed);
    assert_int_equal(o->closed, 0);
    close(o->fds[0]);
    close(o->fds[1]);
}

static void a_poll_that_wants_nothing_hears_nothing(void **state)
{
    struct owner *o = *state;
    o->poll = loop_poll_new(&o->loop, o->fds[0], read_and_close, o);
    loop_poll_want(o->poll, LOOP_READ);
    loop_poll_want(o->poll, 0);
    assert_int_equal(write(o->fds[1], "x", 1), 1);
    uv_run(&o->loop, UV_RUN_NOWAIT);
    assert_int_equal(o->calls, 0);
    loop_poll_want(o->poll, LOOP_READ);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 1);
    close(o->fds[1]);
}

static void a_file_cannot_be_polled(void **state)
{
    struct owner *o = *state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_null(loop_poll_new(&o->loop, fd, read_and_close, o));
    close(fd);
    close(o->fds[0]);
    close(o->fds[1]);
}

/* ---- a kernel without room for more watches ---- */

static bool is_full;

/* In place of libc's, for this program and for libuv. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    int rc = (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
    if (!is_full || op != EPOLL_CTL_ADD || rc < 0)
        return rc; /* what is watched already is told before the lack of room */
    syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_DEL, fd, NULL);
    errno = ENOSPC;
    return -1;
}

static void a_poll_without_room_hears_all_the_same(void **state)
{
    struct owner *o = *state;
    struct owner first = *o;
    assert_int_equal(pipe2(first.fds, O_CLOEXEC), 0);
    first.poll = loop_poll_new(&o->loop, first.fds[0], read_and_close, &first);
    loop_poll_want(first.poll, LOOP_READ);
    uv_run(&o->loop, UV_RUN_NOWAIT); /* libuv's own descriptors have their places */
    is_full = true;
    o->poll = loop_poll_new(&o->loop, o->fds[0], read_and_close, o);
    assert_non_null(o->poll);
    loop_poll_want(o->poll, LOOP_READ);
    loop_poll_want(o->poll, 0);
    loop_poll_want(o->poll, LOOP_READ | LOOP_WRITE);
    loop_poll_want(o->poll, LOOP_READ);
    loop_poll_want(first.poll, 0); /* what is watched is changed without room */
    loop_poll_want(first.poll, LOOP_READ);
    uv_run(&o->loop, UV_RUN_NOWAIT);
    assert_int_equal(o->calls, 0);
    assert_int_equal(write(o->fds[1], "x", 1), 1);
    assert_int_equal(write(first.fds[1], "x", 1), 1);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 1);
    assert_int_equal(o->events, LOOP_READ);
    assert_int_equal(first.calls, 1);
    is_full = false;
    close(o->fds[1]);
    close(first.fds[1]);
}

static void a_poll_is_put_in_when_there_is_room(void **state)
{
    struct owner *o = *state;
    struct owner first = *o;
    assert_int_equal(pipe2(first.fds, O_CLOEXEC), 0);
    first.poll = loop_poll_new(&o->loop, first.fds[0], read_and_close, &first);
    uv_run(&o->loop, UV_RUN_NOWAIT);
    is_full = true;
    o->poll = loop_poll_new(&o->loop, o->fds[0], read_and_close, o);
    loop_poll_want(o->poll, LOOP_READ);
    is_full = false;
    for (int i = 0; i < 3; i++) {
        poll(NULL, 0, 20);
        uv_run(&o->loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(uv_backend_timeout(&o->loop), -1); /* no timer looks any more */
    assert_int_equal(write(o->fds[1], "x", 1), 1);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 1);
    loop_poll_close(first.poll, NULL);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    close(first.fds[0]);
    close(first.fds[1]);
    close(o->fds[1]);
}

static void the_first_poll_without_room_is_refused(void **state)
{
    struct owner *o = *state;
    is_full = true;
    assert_null(loop_poll_new(&o->loop, o->fds[0], read_and_close, o));
    is_full = false;
    uv_run(&o->loop, UV_RUN_DEFAULT);
    close(o->fds[0]);
    close(o->fds[1]);
}

struct door {
    struct loop_listener *listener;
    struct loop_stream *stream;
    int visits, bytes;
};

static void on_data(void *context, const char *data, size_t len)
{
    (void)data;
    ((struct door *)context)->bytes += (int)len;
}

static void on_end(void *context, int error)
{
    (void)context;
    (void)error;
}

static void on_drained(void *context)
{
    (void)context;
}

static const struct loop_stream_events door_events = {on_data, on_end, on_drained};

static void on_connection(void *context)
{
    struct door *door = context;
    door->visits++;
    struct loop_stream *stream = loop_stream_accept(door->listener, &door_events, door);
    if (stream != NULL)
        door->stream = stream;
}

static int visit(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
    assert_int_equal(write(fd, "x", 1), 1);
    return fd;
}

static void connections_without_room_are_turned_away(void **state)
{
    struct owner *o = *state;
    struct door door = {0};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "cella-test-loop-%d", (int)getpid());
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&at, sizeof(at)), 0);
    door.listener = loop_listener_new(&o->loop, listening, on_connection, &door);
    assert_non_null(door.listener);
    int known = visit(&at);
    while (door.visits < 1)
        uv_run(&o->loop, UV_RUN_ONCE);
    assert_non_null(door.stream);
    is_full = true;
    int stranger = visit(&at);
    while (door.visits < 2)
        uv_run(&o->loop, UV_RUN_ONCE);
    char byte;
    assert_true(read(stranger, &byte, 1) <= 0);
    assert_int_equal(loop_stream_read(door.stream, true), 0); /* its place was taken before */
    while (door.bytes < 1)
        uv_run(&o->loop, UV_RUN_ONCE);
    loop_stream_read(door.stream, false);
    assert_int_equal(write(known, "y", 1), 1);
    uv_run(&o->loop, UV_RUN_NOWAIT);
    uv_run(&o->loop, UV_RUN_NOWAIT); /* libuv has given the place back */
    int rc = loop_stream_read(door.stream, true);
    assert_true(rc == 0 || rc == -ENOSPC);
    uv_run(&o->loop, UV_RUN_NOWAIT);
    is_full = false;
    if (rc < 0)
        assert_int_equal(loop_stream_read(door.stream, true), 0);
    while (door.bytes < 2)
        uv_run(&o->loop, UV_RUN_ONCE);
    loop_stream_close(door.stream, NULL);
    loop_listener_close(door.listener, NULL);
    close(known);
    close(stranger);
    close(o->fds[0]);
    close(o->fds[1]);
}

static void due_and_close(void *context)
{
    struct owner *o = context;
    o->calls++;
    loop_timer_close(take_ptr(o->timer), count_closed);
}

static void a_timer_is_due_once(void **state)
{
    struct owner *o = *state;
    o->timer = loop_timer_new(&o->loop, due_and_close, o);
    assert_false(loop_timer_is_set(o->timer));
    loop_timer_set(o->timer, 60000);
    loop_timer_set(o->timer, 1); /* replaces it */
    assert_true(loop_timer_is_set(o->timer));
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 1);
    assert_int_equal(o->closed, 1);
    close(o->fds[0]);
    close(o->fds[1]);
}

static void read_and_close_beside(void *context, int events)
{
    struct owner *o = context;
    (void)events;
    o->calls++;
    loop_poll_close(take_ptr(o->poll), NULL);
    close(o->fds[0]);
}

static void due_until_heard(void *context)
{
    struct owner *o = context;
    assert_true(o->closed < 100);
    if (o->calls > 0)
        loop_timer_close(take_ptr(o->timer), NULL);
    else
        loop_timer_set(o->timer, 0);
    o->closed++;
}

static void a_timer_that_goes_on_at_once_lets_others_have_turns(void **state)
{
    struct owner *o = *state;
    o->timer = loop_timer_new(&o->loop, due_until_heard, o);
    o->poll = loop_poll_new(&o->loop, o->fds[0], read_and_close_beside, o);
    loop_poll_want(o->poll, LOOP_READ);
    assert_int_equal(write(o->fds[1], "x", 1), 1);
    loop_timer_set(o->timer, 0);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 1);
    close(o->fds[1]);
}

static void a_cleared_timer_is_never_due(void **state)
{
    struct owner *o = *state;
    o->timer = loop_timer_new(&o->loop, due_and_close, o);
    loop_timer_set(o->timer, 1);
    loop_timer_clear(o->timer);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    assert_int_equal(o->calls, 0);
    loop_timer_close(o->timer, NULL);
    close(o->fds[0]);
    close(o->fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_poll_may_close_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_poll_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(a_poll_that_wants_nothing_hears_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_cannot_be_polled, setup, teardown),
        cmocka_unit_test_setup_teardown(a_poll_without_room_hears_all_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(a_poll_is_put_in_when_there_is_room, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_poll_without_room_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(connections_without_room_are_turned_away, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_is_due_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_that_goes_on_at_once_lets_others_have_turns, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_cleared_timer_is_never_due, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
