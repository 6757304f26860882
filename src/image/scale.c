#include "image/scale.h"

#include "image/image.h"

#include <png.h>
#include <string.h>

enum { ALPHA_MIN = 2, CHANNELS_MAX = 4, CHUNK_BYTES_MAX = 8 * 1024 * 1024, CHUNKS_MAX = 64 };

/* An interlaced picture is there as a whole before its first row is. */
#define INTERLACED_PIXELS_MAX ((uint64_t)32 * 1024 * 1024)

/* Distances are counted in parts of which a pixel of the picture has `to_width` and one of the
 * result `width` (or the heights): so every share of a pixel is a whole number. */
struct scaler {
    const struct scale_io *io;
    const struct scale_limits *limits;
    enum scale_end end; /* why it failed, when it jumps */
    jmp_buf failed;

    png_structp in, out;
    png_infop in_info, out_info;
    uint32_t width, height, to_width, to_height;
    unsigned channels;
    bool has_alpha;   /* the last channel; then colours are weighed by it */
    uint8_t *pixels;  /* one row, or all of them */
    double *narrow;   /* one row of the picture, as wide as the result */
    double *sums;     /* one row of the result, under way */
    uint8_t *made;    /* one row of the result */
    uint64_t missing; /* parts that this row still wants */
};

static _Noreturn void fail(struct scaler *s, enum scale_end end)
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
    struct scaler *s = png_get_io_ptr(png);
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
    struct scaler *s = png_get_io_ptr(png);
    if (s->io->write(s->io->context, data, len) < 0)
        fail(s, SCALE_UNWRITTEN);
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* ---- the average ----------------------------------------------------------------------------- */

static void *allocate(struct scaler *s, size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        fail(s, SCALE_NO_MEMORY);
    return memory;
}

/* The colour of what is transparent must not show. */
static void add_pixel(const struct scaler *s, double *sum, const uint8_t *pixel, double parts)
{
    if (!s->has_alpha) {
        for (unsigned c = 0; c < s->channels; c++)
            sum[c] += pixel[c] * parts;
        return;
    }
    double alpha = pixel[s->channels - 1] * parts;
    for (unsigned c = 0; c < s->channels - 1; c++)
        sum[c] += pixel[c] * alpha;
    sum[s->channels - 1] += alpha;
}

static void narrow_row(const struct scaler *s, const uint8_t *row)
{
    double *sum = s->narrow;
    uint64_t missing = s->width;
    memset(s->narrow, 0, (size_t)s->to_width * s->channels * sizeof(double));
    for (uint32_t x = 0; x < s->width; x++, row += s->channels) {
        for (uint64_t left = s->to_width; left > 0;) {
            uint64_t parts = MIN(left, missing);
            add_pixel(s, sum, row, (double)parts);
            left -= parts;
            missing -= parts;
            if (missing == 0) {
                sum += s->channels;
                missing = s->width;
            }
        }
    }
}

static uint8_t rounded(double value)
{
    return value >= 255 ? 255 : (uint8_t)(value + 0.5);
}

static void write_row(struct scaler *s)
{
    double all = (double)s->width * s->height;
    for (uint32_t x = 0; x < s->to_width; x++) {
        const double *sum = s->sums + (size_t)x * s->channels;
        uint8_t *pixel = s->made + (size_t)x * s->channels;
        double alpha = s->has_alpha ? sum[s->channels - 1] : all;
        for (unsigned c = 0; c < s->channels - (s->has_alpha ? 1 : 0); c++)
            pixel[c] = alpha > 0 ? rounded(sum[c] / alpha) : 0;
        if (s->has_alpha)
            pixel[s->channels - 1] = rounded(alpha / all);
    }
    png_write_row(s->out, s->made);
}

static void add_row(struct scaler *s, const uint8_t *row)
{
    size_t n = (size_t)s->to_width * s->channels;
    narrow_row(s, row);
    for (uint64_t left = s->to_height; left > 0;) {
        uint64_t parts = MIN(left, s->missing);
        for (size_t i = 0; i < n; i++)
            s->sums[i] += s->narrow[i] * (double)parts;
        left -= parts;
        s->missing -= parts;
        if (s->missing == 0) {
            write_row(s);
            memset(s->sums, 0, n * sizeof(double));
            s->missing = s->height;
        }
    }
}

/* ---- from one file to another ---------------------------------------------------------------- */

static void begin_reading(struct scaler *s)
{
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
    s->width = png_get_image_width(s->in, s->in_info);
    s->height = png_get_image_height(s->in, s->in_info);
    bool is_interlaced = png_get_interlace_type(s->in, s->in_info) != PNG_INTERLACE_NONE;
    uint64_t pixels = (uint64_t)s->width * s->height;
    if (pixels > s->limits->max_pixels || (is_interlaced && pixels > INTERLACED_PIXELS_MAX))
        fail(s, SCALE_TOO_LARGE);
    png_set_expand(s->in); /* palettes to colours, few bits to eight, a transparent one to alpha */
    png_set_scale_16(s->in);
    png_set_interlace_handling(s->in);
    png_read_update_info(s->in, s->in_info);
    s->channels = png_get_channels(s->in, s->in_info);
    s->has_alpha = s->channels % ALPHA_MIN == 0;
    if (s->channels < 1 || s->channels > CHANNELS_MAX ||
        png_get_rowbytes(s->in, s->in_info) != (size_t)s->width * s->channels)
        fail(s, SCALE_DAMAGED);
}

static void begin_writing(struct scaler *s)
{
    static const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                  PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    image_fit(s->width, s->height, s->limits->max_width, s->limits->max_height, &s->to_width,
              &s->to_height);
    s->out = png_create_write_struct(PNG_LIBPNG_VER_STRING, s, on_error, on_warning);
    s->out_info = s->out != NULL ? png_create_info_struct(s->out) : NULL;
    if (s->out_info == NULL)
        fail(s, SCALE_NO_MEMORY);
    png_set_write_fn(s->out, s, on_write, on_flush);
    png_set_IHDR(s->out, s->out_info, s->to_width, s->to_height, 8, colours[s->channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(s->out, s->out_info);
}

static void copy_rows(struct scaler *s)
{
    size_t row_bytes = (size_t)s->width * s->channels;
    size_t made = (size_t)s->to_width * s->channels;
    bool is_interlaced = png_get_interlace_type(s->in, s->in_info) != PNG_INTERLACE_NONE;
    s->pixels = allocate(s, is_interlaced ? s->height : 1, row_bytes);
    s->narrow = allocate(s, made, sizeof(double));
    s->sums = allocate(s, made, sizeof(double));
    s->made = allocate(s, made, 1);
    s->missing = s->height;
    /* All passes but the last only fill in what they have of each row. */
    for (int pass = 1; is_interlaced && pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (uint32_t y = 0; y < s->height; y++)
            png_read_row(s->in, s->pixels + y * row_bytes, NULL);
    for (uint32_t y = 0; y < s->height; y++) {
        uint8_t *row = s->pixels + (is_interlaced ? y * row_bytes : 0);
        png_read_row(s->in, row, NULL);
        add_row(s, row);
    }
    png_write_end(s->out, NULL);
}

enum scale_end scale_png(const struct scale_io *io, const struct scale_limits *limits)
{
    struct scaler *s = calloc(1, sizeof(*s));
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
    free(s->narrow);
    free(s->sums);
    free(s->made);
    enum scale_end end = s->end;
    free(s);
    return end;
}
