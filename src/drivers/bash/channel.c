/* Frames from and to the daemon. In the shell's process, or a child of the shell; owns the
 * socket. */
#include "drivers/bash/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    HEADER_BYTES = 4,
    CHUNK_BYTES = 8192,
    SOCKET_NUMBER = 250, /* bash's own are 255 and from 10 on */
};

#define FRAME_BYTES_MAX (64 * MIB)

void channel_open(struct channel *c, int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, SOCKET_NUMBER);
    if (moved >= 0)
        close(fd);
    else
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    *c = (struct channel){.fd = moved < 0 ? fd : moved, .in = BUF_INIT(FRAME_BYTES_MAX + MIB)};
}

void channel_close(struct channel *c)
{
    channel_close_fds(c);
    close(c->fd);
    buf_free(&c->in);
    c->consumed = 0;
}

static void take_fds(struct channel *c, struct msghdr *msg)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
            if (c->n_fds < CHANNEL_FDS_MAX)
                c->fds[c->n_fds++] = fd;
            else
                close(fd);
        }
    }
}

static int receive_some(struct channel *c, size_t wanted)
{
    union {
        char room[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    size_t size = MAX(wanted, (size_t)CHUNK_BYTES);
    if (!buf_reserve(&c->in, size))
        return -ECONNRESET;
    struct iovec iov = {.iov_base = c->in.data + c->in.len, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    take_fds(c, &msg);
    c->in.len += (size_t)n;
    return n == 0 ? -ECONNRESET : 0;
}

static uint32_t claimed_length(const char *header)
{
    uint32_t length = 0;
    for (int i = HEADER_BYTES - 1; i >= 0; i--)
        length = length << 8 | (unsigned char)header[i];
    return length;
}

/* How many bytes are missing of the frame at the front; negative if there are more than that. */
static int64_t missing_bytes(const struct channel *c)
{
    size_t length = c->in.len < HEADER_BYTES ? 0 : claimed_length(c->in.data);
    return (int64_t)(HEADER_BYTES + length) - (int64_t)c->in.len;
}

int channel_receive(struct channel *c, char **ret_payload, size_t *ret_len)
{
    if (c->consumed == c->in.len && c->in.cap > MIB)
        buf_free(&c->in);
    else
        buf_consume(&c->in, c->consumed);
    c->consumed = 0;
    int64_t missing;
    while ((missing = missing_bytes(c)) > 0) {
        if (missing > (int64_t)(HEADER_BYTES + FRAME_BYTES_MAX))
            return -ECONNRESET;
        int r = receive_some(c, (size_t)missing);
        if (r == -EAGAIN) /* someone has set O_NONBLOCK on every descriptor it found */
            channel_wait(c, -1, NULL);
        else if (r < 0 && r != -EINTR)
            return r;
    }
    *ret_len = claimed_length(c->in.data);
    *ret_payload = c->in.data + HEADER_BYTES;
    c->consumed = HEADER_BYTES + *ret_len;
    return 0;
}

bool channel_has_unread(const struct channel *c)
{
    struct pollfd pfd = {.fd = c->fd, .events = POLLIN};
    return c->in.len > c->consumed || poll(&pfd, 1, 0) > 0;
}

int channel_wait(const struct channel *c, int64_t timeout_ms, const sigset_t *mask)
{
    if (c->in.len > c->consumed)
        return 1;
    struct pollfd pfd = {.fd = c->fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = timeout_ms / 1000,
                               .tv_nsec = timeout_ms % 1000 * 1000 * 1000};
    int n = ppoll(&pfd, 1, timeout_ms < 0 ? NULL : &timeout, mask);
    return n < 0 ? -errno : n;
}

/* A lock of the socket's inode, which is a process's and not of the open file that all share. */
static int lock_file(const struct channel *c, int command, short type, pid_t *ret_owner)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(c->fd, command, &lock) < 0)
        return -errno;
    *ret_owner = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
    return 0;
}

int channel_lock(const struct channel *c)
{
    pid_t ignored;
    return lock_file(c, F_SETLKW, F_WRLCK, &ignored);
}

void channel_unlock(const struct channel *c)
{
    pid_t ignored;
    lock_file(c, F_SETLK, F_UNLCK, &ignored);
}

pid_t channel_locked_by(const struct channel *c)
{
    pid_t owner = 0;
    return lock_file(c, F_GETLK, F_WRLCK, &owner) < 0 ? 0 : owner;
}

int channel_send(struct channel *c, const struct buf *payload)
{
    if (payload->overflowed || payload->len > FRAME_BYTES_MAX)
        return -EMSGSIZE;
    unsigned char header[HEADER_BYTES];
    for (int i = 0; i < HEADER_BYTES; i++)
        header[i] = (unsigned char)(payload->len >> (8 * i));
    struct iovec parts[2] = {{.iov_base = header, .iov_len = HEADER_BYTES},
                             {.iov_base = payload->data, .iov_len = payload->len}};
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd pfd = {.fd = c->fd, .events = POLLOUT};
            poll(&pfd, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return -errno;
        }
        for (size_t i = 0; n > 0 && i < ARRAY_LEN(parts); i++) {
            size_t sent = MIN((size_t)n, parts[i].iov_len);
            parts[i].iov_base = (char *)parts[i].iov_base + sent;
            parts[i].iov_len -= sent;
            n -= (ssize_t)sent;
        }
    }
    return 0;
}

bool channel_take_fds(struct channel *c, int *ret_fds, size_t n)
{
    if (c->n_fds < n)
        return false;
    memcpy(ret_fds, c->fds, n * sizeof(*ret_fds));
    c->n_fds -= n;
    memmove(c->fds, c->fds + n, c->n_fds * sizeof(*c->fds));
    return true;
}

void channel_close_fds(struct channel *c)
{
    for (size_t i = 0; i < c->n_fds; i++)
        close(c->fds[i]);
    c->n_fds = 0;
}
