/* Reading, writing and passing descriptors. Every process. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

int fd_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int fd_set_nonblocking(int fd, bool nonblocking)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -errno;
    int wanted = nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return wanted != flags && fcntl(fd, F_SETFL, wanted) < 0 ? -errno : 0;
}

union fd_control {
    char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
    struct cmsghdr align;
};

ssize_t fd_send(int sock, const void *data, size_t len, const int *fds, size_t n_fds)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    union fd_control control;
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (n_fds > 0) {
        memset(&control, 0, sizeof(control));
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * n_fds);
    }
    ssize_t n;
    do
        n = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t fd_recv(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *ret_n_fds)
{
    struct iovec iov = {.iov_base = data, .iov_len = len};
    union fd_control control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    ssize_t n;
    do
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    size_t n_fds = 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h != NULL; h = CMSG_NXTHDR(&msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
            if (n_fds < max_fds)
                fds[n_fds++] = fd;
            else
                close(fd);
        }
    }
    if (ret_n_fds != NULL)
        *ret_n_fds = n_fds;
    return n;
}

int fd_read_file(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
    _fd_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    size_t cap = 4096, len = 0;
    _free_ char *text = mem_alloc(cap + 1);
    for (;;) {
        ssize_t n = read(fd, text + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > max)
            return -EFBIG;
        if (len == cap) {
            cap *= 2;
            text = mem_realloc(text, cap + 1);
        }
    }
    text[len] = '\0';
    *ret_text = take_ptr(text);
    if (ret_len != NULL)
        *ret_len = len;
    return 0;
}

int fd_write_file(int dir_fd, const char *path, const char *text)
{
    _fd_ int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    /* One write: the files of /proc and cgroupfs take a value whole or not at all. */
    size_t len = strlen(text);
    ssize_t n = write(fd, text, len);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

int fd_create_file(int dir_fd, const char *path, const void *data, size_t len, mode_t mode)
{
    _fd_ int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -errno;
    return fd_write_all(fd, data, len);
}

bool fd_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}
