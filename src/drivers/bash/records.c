/* Records of saved states, written and read. In the shell's process; what is read was checked by
 * the daemon, and is checked again. */
#include "drivers/bash/records.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

static void wait_for(int fd, short events)
{
    struct pollfd pfd = {.fd = fd, .events = events};
    poll(&pfd, 1, -1);
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            wait_for(fd, POLLOUT);
        else if (n < 0 && errno != EINTR)
            return -errno;
        data += MAX(n, 0);
        len -= (size_t)MAX(n, 0);
    }
    return 0;
}

static int write_piece(int fd, const char *data, size_t len)
{
    unsigned char size[4];
    for (int i = 0; i < 4; i++)
        size[i] = (unsigned char)(len >> (8 * i));
    int r = write_all(fd, (char *)size, sizeof(size));
    return r < 0 ? r : write_all(fd, data, len);
}

int records_put(int fd, const struct buf *header, const struct buf *body)
{
    if (header->overflowed)
        return -EMSGSIZE;
    int r = write_piece(fd, header->data, header->len);
    if (body == NULL)
        return r;
    for (size_t at = 0; r == 0 && at < body->len; at += RECORD_PIECE_MAX)
        r = write_piece(fd, body->data + at, MIN(body->len - at, (size_t)RECORD_PIECE_MAX));
    return r < 0 ? r : write_piece(fd, NULL, 0);
}

static int read_all(int fd, char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, data, len, 0);
        if (n == 0)
            return -EPIPE;
        if (n < 0 && errno == EAGAIN)
            wait_for(fd, POLLIN);
        else if (n < 0 && errno != EINTR)
            return -errno;
        data += MAX(n, 0);
        len -= (size_t)MAX(n, 0);
    }
    return 0;
}

/* Appends one piece; `ret_len` is its length. */
static int read_piece(int fd, struct buf *to, size_t max, size_t *ret_len)
{
    unsigned char size[4];
    int r = read_all(fd, (char *)size, sizeof(size));
    if (r < 0)
        return r;
    size_t len = 0;
    for (int i = 3; i >= 0; i--)
        len = len << 8 | size[i];
    if (len > max || !buf_reserve(to, len + 1))
        return -EBADMSG;
    r = read_all(fd, to->data + to->len, len);
    to->len += len;
    to->data[to->len] = '\0';
    *ret_len = len;
    return r;
}

int records_take(int fd, struct bash_request *r, struct buf *header, struct buf *body)
{
    size_t len;
    buf_clear(header);
    buf_clear(body);
    int rc = read_piece(fd, header, RECORD_HEADER_MAX, &len);
    if (rc == 0 && (!request_read(r, header->data, header->len) || r->rec.data == NULL))
        rc = -EBADMSG;
    if (rc < 0 || !r->has_body)
        return rc;
    do
        rc = read_piece(fd, body, RECORD_PIECE_MAX, &len);
    while (rc == 0 && len > 0);
    return rc;
}
