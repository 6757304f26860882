/* The loop itself: how it runs, and places in the set of descriptors that it waits for. Daemon. */
#include "loop/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>

enum {
    TAKEN_NS = 300 * 1000, /* longer than that a processor that nobody else wants is not away */
    CROWDED_NS = 100 * 1000 * 1000 /* then for so long the loop sleeps whenever it can */
};

/* Whoever waits for nothing on a busy machine pays for it: the kernel counts each yield as a whole
 * slice, and lets others run for that long. */
static uint64_t loop_yield(void)
{
    uint64_t before_ns = clock_mono_ns();
    sched_yield();
    uint64_t after_ns = clock_mono_ns();
    return after_ns - before_ns > TAKEN_NS ? after_ns + CROWDED_NS : 0;
}

void loop_run(uv_loop_t *loop, const bool *is_over, uint64_t (*awake_until_ns)(void *context),
              void *context)
{
    bool is_alive = true;
    uint64_t crowded_until_ns = 0;
    while (is_alive && !*is_over) {
        uint64_t now_ns = clock_mono_ns();
        bool stays_awake = now_ns < awake_until_ns(context) && now_ns >= crowded_until_ns;
        is_alive = uv_run(loop, stays_awake ? UV_RUN_NOWAIT : UV_RUN_ONCE) != 0;
        if (stays_awake)
            crowded_until_ns = loop_yield();
    }
}

/* libuv finds the descriptor in its set and changes what it waits for, which needs no room. */
int loop_reserve(uv_loop_t *loop, int fd)
{
    struct epoll_event nothing = {.data.fd = fd};
    if (epoll_ctl(uv_backend_fd(loop), EPOLL_CTL_ADD, fd, &nothing) < 0 && errno != EEXIST)
        return -errno;
    return 0;
}
