/* Preloaded into a daemon: while the file that $CELLA_TEST_NO_WATCHES names exists, the kernel has
 * no room for another epoll watch. The real limit is the whole user's. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    const char *flag = getenv("CELLA_TEST_NO_WATCHES");
    int rc = (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
    if (rc < 0 || op != EPOLL_CTL_ADD || flag == NULL || access(flag, F_OK) < 0)
        return rc;
    syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_DEL, fd, NULL);
    errno = ENOSPC;
    return -1;
}
