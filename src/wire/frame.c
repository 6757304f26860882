/* Frames of drivers: a length and JSON. Daemon; owns what was read ahead. */
#include "wire/frame.h"

#include "base/channel.h"
#include "base/fd.h"

#include <errno.h>

enum {
    HEADER_SIZE = 4,
    READ_SMALL = 4095,   /* with the buffer's NUL this is one page: what a quiet session keeps */
    READ_LARGE = 1 << 20 /* at most, when the rest of a long frame is awaited */
};

void frame_reader_free(struct frame_reader *r)
{
    buf_free(&r->in);
    r->at = r->looked = 0;
}

static uint32_t read_length(const char *at)
{
    const unsigned char *u = (const unsigned char *)at;
    return u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

/* Moves what is left to the front; gives a large buffer back as soon as nothing is left. */
void frame_compact(struct frame_reader *r)
{
    if (r->at == r->in.len && r->in.cap > READ_SMALL + 1)
        buf_free(&r->in);
    else if (r->at > 0)
        buf_consume(&r->in, r->at);
    r->at = 0;
}

ssize_t frame_fill_with(struct frame_reader *r, int fd, int *ret_fd)
{
    frame_compact(r);
    /* A page, or the rest of the frame that has begun. */
    size_t have = r->in.len - r->at, want = READ_SMALL;
    if (have >= HEADER_SIZE) {
        size_t whole = HEADER_SIZE + (size_t)read_length(r->in.data + r->at);
        want = MIN(MAX(whole > have ? whole - have : 0, (size_t)READ_SMALL), (size_t)READ_LARGE);
    }
    /* A frame refused by frame_next never gets here, so this is our caller's mistake. */
    if (!buf_reserve(&r->in, want))
        return -EMSGSIZE;
    /* One read, and if `ret_fd` is not NULL one descriptor that may come along. */
    char *data = r->in.data + r->in.len;
    ssize_t n = ret_fd != NULL ? fd_recv(fd, data, want, ret_fd, 1, NULL)
                               : channel_recv(fd, data, want, NULL);
    if (n < 0)
        return n;
    r->in.len += (size_t)n;
    r->in.data[r->in.len] = '\0';
    return n;
}

ssize_t frame_fill(struct frame_reader *r, int fd)
{
    return frame_fill_with(r, fd, NULL);
}

bool frame_feed(struct frame_reader *r, const void *data, size_t len)
{
    frame_compact(r);
    return buf_append(&r->in, data, len);
}

int frame_next(struct frame_reader *r, const char **ret_payload, size_t *ret_len, struct err *e)
{
    size_t have = r->in.len - r->at;
    if (have < HEADER_SIZE)
        return 0;
    size_t length = read_length(r->in.data + r->at);
    if (length == 0 || length > FRAME_MAX)
        return err_set(e, ERR_INVALID, "a frame of %zu bytes was announced; 1 to %zu are allowed",
                       length, FRAME_MAX);
    size_t came = MIN(have - HEADER_SIZE, length);
    /* No payload has a NUL byte, and every length has one, unless it is that of 16 MiB or more: a
     * NUL before the end of a frame belongs to the next frame. */
    const char *payload = r->in.data + r->at + HEADER_SIZE;
    const char *nul = memchr(payload + r->looked, '\0', came - r->looked);
    r->looked = came;
    if (nul != NULL)
        return err_set(e, ERR_INVALID,
                       "half a frame: of %zu bytes at most %zu came before the next", length,
                       (size_t)(nul - payload));
    if (came < length)
        return 0;
    r->looked = 0;
    *ret_payload = payload;
    *ret_len = length;
    r->at += HEADER_SIZE + length;
    return 1;
}

const char *frame_take(struct frame_reader *r, const char *payload, size_t len,
                       struct buf *ret_bytes)
{
    if (r->at == r->in.len) {
        *ret_bytes = r->in;
        *r = FRAME_READER_INIT;
        return payload;
    }
    *ret_bytes = BUF_INIT(len);
    buf_append(ret_bytes, payload, len);
    return buf_str(ret_bytes);
}

bool frame_is_partial(const struct frame_reader *r)
{
    return r->at < r->in.len;
}

size_t frame_begin(struct buf *out)
{
    size_t mark = out->len;
    buf_append(out, "\0\0\0\0", HEADER_SIZE);
    return mark;
}

bool frame_end(struct buf *out, size_t mark)
{
    if (out->overflowed || out->len - mark - HEADER_SIZE > FRAME_MAX)
        return false;
    uint32_t length = (uint32_t)(out->len - mark - HEADER_SIZE);
    for (size_t i = 0; i < HEADER_SIZE; i++)
        out->data[mark + i] = (char)(length >> (8 * i) & 0xff);
    return true;
}
