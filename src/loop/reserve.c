#include "loop/loop.h"

#include <errno.h>
#include <sys/epoll.h>

/* libuv finds the descriptor in its set and changes what it waits for, which needs no room. */
int loop_reserve(uv_loop_t *loop, int fd)
{
    struct epoll_event nothing = {.data.fd = fd};
    if (epoll_ctl(uv_backend_fd(loop), EPOLL_CTL_ADD, fd, &nothing) < 0 && errno != EEXIST)
        return -errno;
    return 0;
}
