/* Frames from and to the daemon. In the interpreter's process, on its main thread; owns the
 * socket. */
#include "drivers/node/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FRAME_MAX = 64 * 1024 * 1024,
    READ_BYTES = 16 * 1024,
    /* Descriptors that user code cannot use up: room for the pipes of the cell that closes some. */
    RESERVED_FDS = 8,
};

static void wait_for(int fd, short events)
{
    struct pollfd poller = {.fd = fd, .events = events};
    poll(&poller, 1, -1);
}

void channel_open(struct node_channel *channel, int fd)
{
    *channel = (struct node_channel){.fd = fd};
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max != RLIM_INFINITY &&
        limit.rlim_max > RESERVED_FDS) {
        limit.rlim_cur = limit.rlim_max - RESERVED_FDS;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void make_room(struct node_channel *channel, size_t size)
{
    if (channel->cap - channel->len >= size)
        return;
    size_t cap = channel->len + size;
    char *data = realloc(channel->data, cap);
    if (data == NULL)
        abort();
    channel->data = data;
    channel->cap = cap;
}

static void take_fds(struct node_channel *channel, struct msghdr *msg)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (channel->n_fds < CHANNEL_FDS_MAX)
                channel->fds[channel->n_fds++] = fd;
            else
                close(fd);
        }
    }
}

static ssize_t receive(struct node_channel *channel, size_t size)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = channel->data + channel->len, .iov_len = size};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct rlimit users;
    getrlimit(RLIMIT_NOFILE, &users);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){users.rlim_max, users.rlim_max});
    ssize_t n = recvmsg(channel->fd, &msg, MSG_CMSG_CLOEXEC);
    int error = errno;
    setrlimit(RLIMIT_NOFILE, &users);
    if (n > 0)
        take_fds(channel, &msg);
    errno = error;
    return n;
}

/* How much of the frame under way is missing, at least a handful. */
static size_t wanted(const struct node_channel *channel)
{
    uint32_t len = 0;
    if (channel->len >= CHANNEL_HEADER)
        memcpy(&len, channel->data, sizeof(len));
    if (len > FRAME_MAX)
        _exit(1);
    size_t whole = CHANNEL_HEADER + (size_t)len;
    return whole > channel->len + READ_BYTES ? whole - channel->len : READ_BYTES;
}

static void drop_used(struct node_channel *channel)
{
    if (channel->used == 0)
        return;
    channel->len -= channel->used;
    memmove(channel->data, channel->data + channel->used, channel->len);
    channel->used = 0;
    if (channel->len == 0 && channel->cap > 4 * READ_BYTES) {
        free(channel->data);
        channel->data = NULL;
        channel->cap = 0;
    }
}

bool channel_fill(struct node_channel *channel, bool (*gives_up)(void))
{
    drop_used(channel);
    size_t size = wanted(channel);
    make_room(channel, size);
    for (;;) {
        if (gives_up != NULL && gives_up())
            return false;
        ssize_t n = receive(channel, size);
        if (n > 0) {
            channel->len += (size_t)n;
            return true;
        }
        if (n < 0 && errno == EAGAIN)
            wait_for(channel->fd, POLLIN);
        else if (n == 0 || errno != EINTR)
            _exit(0);
    }
}

bool channel_next(struct node_channel *channel, const char **payload, size_t *len)
{
    drop_used(channel);
    uint32_t size;
    if (channel->len < CHANNEL_HEADER)
        return false;
    memcpy(&size, channel->data, sizeof(size));
    if (channel->len - CHANNEL_HEADER < size)
        return false;
    *payload = channel->data + CHANNEL_HEADER;
    *len = size;
    channel->used = CHANNEL_HEADER + (size_t)size;
    return true;
}

void channel_send(struct node_channel *channel, char *frame, size_t payload_len)
{
    uint32_t size = (uint32_t)payload_len;
    memcpy(frame, &size, sizeof(size));
    size_t len = CHANNEL_HEADER + payload_len;
    while (len > 0) {
        ssize_t n = send(channel->fd, frame, len, MSG_NOSIGNAL);
        if (n >= 0) {
            frame += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            wait_for(channel->fd, POLLOUT);
        } else if (errno != EINTR) {
            _exit(0);
        }
    }
}

void channel_take_fds(struct node_channel *channel, int *ret_fds, size_t n)
{
    if (channel->n_fds < n)
        _exit(1);
    memcpy(ret_fds, channel->fds, n * sizeof(*ret_fds));
    channel->n_fds -= n;
    memmove(channel->fds, channel->fds + n, channel->n_fds * sizeof(*ret_fds));
}

ssize_t channel_read_all(int fd, char *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = read(fd, data + done, len - done);
        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            wait_for(fd, POLLIN);
        else if (errno != EINTR)
            return -errno;
    }
    return (ssize_t)done;
}

int channel_write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n >= 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            wait_for(fd, POLLOUT);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}
