#include "jail/witness.h"

#include "base/fd.h"

#include <errno.h>
#include <sys/socket.h>

static void close_all(const struct cmsghdr *header)
{
    size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
        close(fd);
    }
}

pid_t witness_byte(int sock)
{
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union {
        char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
        struct cmsghdr align;
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n <= 0)
        return n < 0 ? -errno : -EPIPE;
    struct ucred writer = {0};
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h != NULL; h = CMSG_NXTHDR(&msg, h)) {
        if (h->cmsg_level != SOL_SOCKET)
            continue;
        if (h->cmsg_type == SCM_RIGHTS)
            close_all(h);
        else if (h->cmsg_type == SCM_CREDENTIALS && h->cmsg_len == CMSG_LEN(sizeof(writer)))
            memcpy(&writer, CMSG_DATA(h), sizeof(writer));
    }
    return writer.pid > 0 ? writer.pid : -ESRCH;
}
