#include "base/buf.h"
#include "image/image.h"
#include "image/scale.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

struct files {
    const uint8_t *in;
    size_t left;
    struct buf out;
};

static ssize_t read_in(void *context, void *data, size_t len)
{
    struct files *f = context;
    size_t n = MIN(len, f->left);
    memcpy(data, f->in, n);
    f->in += n;
    f->left -= n;
    return (ssize_t)n;
}

static int write_out(void *context, const void *data, size_t len)
{
    struct files *f = context;
    return buf_append(&f->out, data, len) ? 0 : -1;
}

static enum scale_end scale(const uint8_t *data, size_t size, const struct scale_limits *limits,
                            struct buf *out)
{
    struct files files = {.in = data, .left = size, .out = BUF_INIT(4 * MIB)};
    struct scale_io io = {.read = read_in, .write = write_out, .context = &files};
    enum scale_end end = scale_picture(&io, limits);
    *out = files.out;
    return end;
}

/* What is made of a picture is one, of the size that was promised, and can be made smaller again.
 */
static void check_result(const struct buf *made, const struct scale_limits *limits)
{
    enum image_format format;
    uint32_t width = 0, height = 0;
    struct scale_limits half = {.max_width = limits->max_width / 2, .max_pixels = 512 * 512};
    _buf_ struct buf again = BUF_INIT(0);
    require(image_probe(made->data, made->len, &format, &width, &height));
    require(image_can_scale(format));
    require(limits->max_width == 0 || width <= limits->max_width);
    require(limits->max_height == 0 || height <= limits->max_height);
    require(scale((const uint8_t *)made->data, made->len, &half, &again) == SCALE_DONE);
}

static void check_scaling(const uint8_t *data, size_t size, const struct scale_limits *limits)
{
    _buf_ struct buf made = BUF_INIT(0);
    if (scale(data, size, limits, &made) != SCALE_DONE)
        return;
    check_result(&made, limits);
    enum image_format format;
    uint32_t width = 0, height = 0, was_width = 0, was_height = 0, to_width, to_height;
    if (limits->ignores_checksums)
        return; /* the probe does not */
    /* Of JPEG libjpeg takes more than the probe does: bytes that are nothing before a marker. */
    if (!image_probe(data, size, &format, &was_width, &was_height)) {
        require(data[0] == 0xff);
        return;
    }
    require(image_probe(made.data, made.len, &format, &width, &height));
    image_fit(was_width, was_height, limits->max_width, limits->max_height, &to_width, &to_height);
    require(width == to_width && height == to_height);
}

/* Nothing but one drawing: what the command line tool asks of a box before it believes it. */
static void check_sixels(const uint8_t *data, size_t size, const struct scale_limits *limits)
{
    _buf_ struct buf made = BUF_INIT(0);
    if (scale(data, size, limits, &made) != SCALE_DONE)
        return;
    require(made.len > 4 && memcmp(made.data, "\033P", 2) == 0);
    require(memcmp(made.data + made.len - 2, "\033\\", 2) == 0);
    for (size_t i = 2; i < made.len - 2; i++)
        require(made.data[i] > ' ' && made.data[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum image_format format = IMAGE_UNKNOWN;
    uint32_t width = 0, height = 0;
    if (size < 2)
        return 0;
    if (image_probe(data + 2, size - 2, &format, &width, &height))
        require(format != IMAGE_UNKNOWN && width > 0 && height > 0);
    else
        require(format == IMAGE_UNKNOWN && width == 0 && height == 0);
    struct scale_limits limits = {
        .max_width = data[0], .max_height = data[1], .max_pixels = 512 * 512};
    check_scaling(data + 2, size - 2, &limits);
    limits.ignores_checksums = true;
    check_scaling(data + 2, size - 2, &limits);
    limits.makes_sixels = true;
    check_sixels(data + 2, size - 2, &limits);
    return 0;
}
