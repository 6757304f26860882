/* One picture made smaller. Runs in a box. */
#include "image/scale.h"

#include "image/codec.h"

#include <string.h>

/* The first bytes were read to see what the picture is; the decoder reads them again. */
struct replay {
    const struct scale_io *io;
    uint8_t first[2];
    size_t n, at;
};

static ssize_t replay_read(void *context, void *data, size_t len)
{
    struct replay *r = context;
    if (r->at == r->n)
        return r->io->read(r->io->context, data, len);
    size_t n = MIN(len, r->n - r->at);
    memcpy(data, r->first + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

static int replay_write(void *context, const void *data, size_t len)
{
    const struct replay *r = context;
    return r->io->write(r->io->context, data, len);
}

enum scale_end scale_picture(const struct scale_io *io, const struct scale_limits *limits)
{
    struct replay r = {.io = io};
    const struct scale_io again = {.read = replay_read, .write = replay_write, .context = &r};
    while (r.n < sizeof(r.first)) {
        ssize_t n = io->read(io->context, r.first + r.n, sizeof(r.first) - r.n);
        if (n < 0)
            return SCALE_UNREAD;
        if (n == 0)
            return SCALE_DAMAGED;
        r.n += (size_t)n;
    }
    bool is_jpeg = r.first[0] == 0xff && r.first[1] == 0xd8;
    return is_jpeg ? codec_scale_jpeg(&again, limits) : codec_scale_png(&again, limits);
}
