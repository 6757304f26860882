#include "loop/loop.h"
#include "unit.h"

#include <fcntl.h>

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
        cmocka_unit_test_setup_teardown(a_timer_is_due_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cleared_timer_is_never_due, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
