/* The loop itself: how it runs, and places in the set of descriptors that it waits for. */
#include "loop/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>

void loop_run(uv_loop_t *loop, const bool *is_over, uint64_t (*awake_until_ns)(void *context),
              void *context)
{
    bool is_alive = true;
    while (is_alive && !*is_over) {
        bool stays_awake = clock_mono_ns() < awake_until_ns(context);
        is_alive = uv_run(loop, stays_awake ? UV_RUN_NOWAIT : UV_RUN_ONCE) != 0;
        if (stays_awake)
            sched_yield();
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
