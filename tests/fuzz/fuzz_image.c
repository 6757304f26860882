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

/* What is made of a picture is one, of the size that was promised, and can be scaled again. */
static void check_scaling(const uint8_t *data, size_t size, uint32_t max_width, uint32_t max_height,
                          bool is_again)
{
    struct files files = {.in = data, .left = size, .out = BUF_INIT(4 * MIB)};
    struct scale_io io = {.read = read_in, .write = write_out, .context = &files};
    struct scale_limits limits = {max_width, max_height, 512 * 512};
    enum scale_end end = scale_png(&io, &limits);
    if (end == SCALE_DONE) {
        enum image_format format;
        uint32_t width = 0, height = 0, was_width = 0, was_height = 0, to_width, to_height;
        require(image_probe(files.out.data, files.out.len, &format, &width, &height));
        require(format == IMAGE_PNG && image_probe(data, size, &format, &was_width, &was_height));
        image_fit(was_width, was_height, max_width, max_height, &to_width, &to_height);
        require(width == to_width && height == to_height);
        require(max_width == 0 || width <= max_width);
        require(max_height == 0 || height <= max_height);
        if (!is_again)
            check_scaling((const uint8_t *)files.out.data, files.out.len, max_width / 2, 0, true);
    } else {
        require(!is_again || end == SCALE_TOO_LARGE);
    }
    buf_free(&files.out);
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
    check_scaling(data + 2, size - 2, data[0], data[1], false);
    return 0;
}
