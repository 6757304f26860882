/* PNG in and out, through libpng. Runs in a box. */
#include "image/average.h"
#include "image/codec.h"
#include "image/image.h"
#include "image/sixel.h"

#include <png.h>
#include <string.h>

enum { ALPHA_MIN = 2, CHANNELS_MAX = 4, CHUNK_BYTES_MAX = 8 * 1024 * 1024, CHUNKS_MAX = 64 };

struct png_scaler {
    const struct scale_io *io;
    const struct scale_limits *limits;
    enum scale_end end; /* why it failed, when it jumps */
    jmp_buf failed;

    png_structp in, out;
    png_infop in_info, out_info;
    struct average average;
    struct sixels sixels;
    uint8_t *pixels; /* one row, or all of them */
};

static _Noreturn void fail(struct png_scaler *s, enum scale_end end)
{
    s->end = end;
    longjmp(s->failed, 1);
}

/* ---- what libpng calls ----------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp text)
{
    (void)text;
    fail(png_get_error_ptr(png), SCALE_DAMAGED);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void on_read(png_structp png, png_bytep data, size_t len)
{
    struct png_scaler *s = png_get_io_ptr(png);
    while (len > 0) {
        ssize_t n = s->io->read(s->io->context, data, len);
        if (n <= 0)
            fail(s, n == 0 ? SCALE_DAMAGED : SCALE_UNREAD);
        data += n;
        len -= (size_t)n;
    }
}

static void on_write(png_structp png, png_bytep data, size_t len)
{
    struct png_scaler *s = png_get_io_ptr(png);
    if (s->io->write(s->io->context, data, len) < 0)
        fail(s, SCALE_UNWRITTEN);
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* ---- from one file to another ---------------------------------------------------------------- */

static void begin_reading(struct png_scaler *s)
{
    struct average *a = &s->average;
    s->in = png_create_read_struct(PNG_LIBPNG_VER_STRING, s, on_error, on_warning);
    s->in_info = s->in != NULL ? png_create_info_struct(s->in) : NULL;
    if (s->in_info == NULL)
        fail(s, SCALE_NO_MEMORY);
    png_set_read_fn(s->in, s, on_read);
    png_set_user_limits(s->in, IMAGE_SOURCE_SIDE, IMAGE_SOURCE_SIDE);
    png_set_chunk_cache_max(s->in, CHUNKS_MAX);
    png_set_chunk_malloc_max(s->in, CHUNK_BYTES_MAX);
    if (s->limits->ignores_checksums)
        png_set_crc_action(s->in, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    png_read_info(s->in, s->in_info);
    a->width = png_get_image_width(s->in, s->in_info);
    a->height = png_get_image_height(s->in, s->in_info);
    bool is_interlaced = png_get_interlace_type(s->in, s->in_info) != PNG_INTERLACE_NONE;
    uint64_t pixels = (uint64_t)a->width * a->height;
    if (pixels > s->limits->max_pixels || (is_interlaced && pixels > CODEC_WHOLE_PIXELS_MAX))
        fail(s, SCALE_TOO_LARGE);
    png_set_expand(s->in); /* palettes to colours, few bits to eight, a transparent one to alpha */
    png_set_scale_16(s->in);
    png_set_interlace_handling(s->in);
    png_read_update_info(s->in, s->in_info);
    a->channels = png_get_channels(s->in, s->in_info);
    a->has_alpha = a->channels % ALPHA_MIN == 0;
    if (a->channels < 1 || a->channels > CHANNELS_MAX ||
        png_get_rowbytes(s->in, s->in_info) != (size_t)a->width * a->channels)
        fail(s, SCALE_DAMAGED);
}

static void begin_writing(struct png_scaler *s)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    struct average *a = &s->average;
    image_fit(a->width, a->height, s->limits->max_width, s->limits->max_height, &a->to_width,
              &a->to_height);
    if (s->limits->makes_sixels) {
        if (!sixels_begin(&s->sixels, s->io, a))
            fail(s, SCALE_NO_MEMORY);
        return;
    }
    s->out = png_create_write_struct(PNG_LIBPNG_VER_STRING, s, on_error, on_warning);
    s->out_info = s->out != NULL ? png_create_info_struct(s->out) : NULL;
    if (s->out_info == NULL)
        fail(s, SCALE_NO_MEMORY);
    png_set_write_fn(s->out, s, on_write, on_flush);
    png_set_IHDR(s->out, s->out_info, a->to_width, a->to_height, 8, colours[a->channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(s->out, s->out_info);
}

static void copy_rows(struct png_scaler *s)
{
    struct average *a = &s->average;
    size_t row_bytes = (size_t)a->width * a->channels;
    bool is_interlaced = png_get_interlace_type(s->in, s->in_info) != PNG_INTERLACE_NONE;
    s->pixels = calloc(is_interlaced ? a->height : 1, row_bytes);
    if (s->pixels == NULL || !average_begin(a))
        fail(s, SCALE_NO_MEMORY);
    /* All passes but the last only fill in what they have of each row. */
    for (int pass = 1; is_interlaced && pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (uint32_t y = 0; y < a->height; y++)
            png_read_row(s->in, s->pixels + y * row_bytes, NULL);
    for (uint32_t y = 0; y < a->height; y++) {
        uint8_t *row = s->pixels + (is_interlaced ? y * row_bytes : 0);
        png_read_row(s->in, row, NULL);
        const uint8_t *made = average_add(a, row);
        if (made != NULL && s->limits->makes_sixels)
            sixels_add(&s->sixels, made);
        else if (made != NULL)
            png_write_row(s->out, made);
    }
    if (!s->limits->makes_sixels)
        png_write_end(s->out, NULL);
    else if (!sixels_end(&s->sixels))
        fail(s, SCALE_UNWRITTEN);
}

enum scale_end codec_scale_png(const struct scale_io *io, const struct scale_limits *limits)
{
    struct png_scaler *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return SCALE_NO_MEMORY;
    s->io = io;
    s->limits = limits;
    if (setjmp(s->failed) == 0) {
        begin_reading(s);
        begin_writing(s);
        copy_rows(s);
    }
    png_destroy_read_struct(&s->in, &s->in_info, NULL);
    png_destroy_write_struct(&s->out, &s->out_info);
    free(s->pixels);
    average_end(&s->average);
    sixels_free(&s->sixels);
    enum scale_end end = s->end;
    free(s);
    return end;
}
