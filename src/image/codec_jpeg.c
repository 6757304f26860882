/* libjpeg makes the picture smaller by two, four or eight while it decodes, which costs less the
 * smaller it gets; the average of what is left is the result, a JPEG again. Colours for print
 * (CMYK) become those of a screen. Of all else that such a file may say, how it is to be turned is
 * kept: who looks at the result would see it lying on its side. Runs in a box. */
#include "image/average.h"
#include "image/codec.h"
#include "image/exif.h"
#include "image/image.h"
#include "image/sixel.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* After stdio.h, which they want. */
#include <jerror.h>
#include <jpeglib.h>

enum {
    QUALITY = 85,
    SCANS_MAX = 100,   /* each goes over the whole picture; usual are ten */
    EXIF_SAVED = 4096, /* bytes of a segment; what is looked for stands at its beginning */
    SHRINK_MAX = 8,    /* what libjpeg can do by itself, in steps of two */
    CMYK_CHANNELS = 4,
    INK_MAX = 255,
};

struct jpeg_scaler {
    const struct scale_io *io;
    const struct scale_limits *limits;
    enum scale_end end; /* why it failed, when it jumps */
    jmp_buf failed;

    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    struct jpeg_destination_mgr destination;
    uint8_t read[64 * KIB], written[16 * KIB];

    struct average average;
    struct sixels sixels;
    uint8_t *row; /* as it was decoded */
    uint8_t *rgb; /* the same row as RGB; NULL if the picture is not CMYK */
};

static _Noreturn void fail(struct jpeg_scaler *s, enum scale_end end)
{
    s->end = end;
    longjmp(s->failed, 1);
}

/* ---- what libjpeg calls ---------------------------------------------------------------------- */

static void on_error(j_common_ptr jpeg)
{
    bool is_memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
    fail(jpeg->client_data, is_memory ? SCALE_NO_MEMORY : SCALE_DAMAGED);
}

static void on_message(j_common_ptr jpeg, int level)
{
    (void)jpeg;
    (void)level;
}

static void on_text(j_common_ptr jpeg)
{
    (void)jpeg;
}

/* A few bytes can ask for any number of them. */
static void on_progress(j_common_ptr jpeg)
{
    if (jpeg->is_decompressor && ((j_decompress_ptr)jpeg)->input_scan_number > SCANS_MAX)
        fail(jpeg->client_data, SCALE_DAMAGED);
}

static void on_begin_reading(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static boolean on_read(j_decompress_ptr jpeg)
{
    struct jpeg_scaler *s = jpeg->client_data;
    ssize_t n = s->io->read(s->io->context, s->read, sizeof(s->read));
    if (n <= 0)
        fail(s, n == 0 ? SCALE_DAMAGED : SCALE_UNREAD);
    s->source.next_input_byte = s->read;
    s->source.bytes_in_buffer = (size_t)n;
    return TRUE;
}

static void on_skip(j_decompress_ptr jpeg, long len)
{
    struct jpeg_scaler *s = jpeg->client_data;
    for (size_t left = len > 0 ? (size_t)len : 0; left > 0;) {
        size_t n = MIN(left, s->source.bytes_in_buffer);
        s->source.next_input_byte += n;
        s->source.bytes_in_buffer -= n;
        left -= n;
        if (left > 0)
            on_read(jpeg);
    }
}

static void on_end_reading(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static void on_begin_writing(j_compress_ptr jpeg)
{
    struct jpeg_scaler *s = jpeg->client_data;
    s->destination.next_output_byte = s->written;
    s->destination.free_in_buffer = sizeof(s->written);
}

/* All of the buffer, whatever is said to be free of it. */
static boolean on_write(j_compress_ptr jpeg)
{
    struct jpeg_scaler *s = jpeg->client_data;
    if (s->io->write(s->io->context, s->written, sizeof(s->written)) < 0)
        fail(s, SCALE_UNWRITTEN);
    on_begin_writing(jpeg);
    return TRUE;
}

static void on_end_writing(j_compress_ptr jpeg)
{
    struct jpeg_scaler *s = jpeg->client_data;
    size_t len = sizeof(s->written) - s->destination.free_in_buffer;
    if (len > 0 && s->io->write(s->io->context, s->written, len) < 0)
        fail(s, SCALE_UNWRITTEN);
}

static void set_callbacks(struct jpeg_scaler *s)
{
    jpeg_std_error(&s->errors);
    s->errors.error_exit = on_error;
    s->errors.emit_message = on_message;
    s->errors.output_message = on_text;
    s->progress.progress_monitor = on_progress;
    s->source = (struct jpeg_source_mgr){.init_source = on_begin_reading,
                                         .fill_input_buffer = on_read,
                                         .skip_input_data = on_skip,
                                         .resync_to_restart = jpeg_resync_to_restart,
                                         .term_source = on_end_reading};
    s->destination = (struct jpeg_destination_mgr){.init_destination = on_begin_writing,
                                                   .empty_output_buffer = on_write,
                                                   .term_destination = on_end_writing};
    s->in.err = s->out.err = &s->errors;
    s->in.client_data = s->out.client_data = s;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void begin_reading(struct jpeg_scaler *s)
{
    struct average *a = &s->average;
    jpeg_create_decompress(&s->in);
    s->in.src = &s->source;
    s->in.progress = &s->progress;
    jpeg_save_markers(&s->in, JPEG_APP0 + 1, EXIF_SAVED);
    jpeg_read_header(&s->in, TRUE);
    uint64_t pixels = (uint64_t)s->in.image_width * s->in.image_height;
    if (pixels > s->limits->max_pixels ||
        (jpeg_has_multiple_scans(&s->in) && pixels > CODEC_WHOLE_PIXELS_MAX))
        fail(s, SCALE_TOO_LARGE);
    image_fit(s->in.image_width, s->in.image_height, s->limits->max_width, s->limits->max_height,
              &a->to_width, &a->to_height);
    J_COLOR_SPACE from = s->in.jpeg_color_space;
    if (from == JCS_GRAYSCALE)
        s->in.out_color_space = JCS_GRAYSCALE;
    else if (from == JCS_RGB || from == JCS_YCbCr)
        s->in.out_color_space = JCS_RGB;
    else if (from == JCS_CMYK || from == JCS_YCCK)
        s->in.out_color_space = JCS_CMYK;
    else
        fail(s, SCALE_DAMAGED);
    /* As small as it may be without being smaller than the result. */
    s->in.scale_num = 1;
    for (s->in.scale_denom = SHRINK_MAX; s->in.scale_denom > 1; s->in.scale_denom /= 2) {
        jpeg_calc_output_dimensions(&s->in);
        if (s->in.output_width >= a->to_width && s->in.output_height >= a->to_height)
            break;
    }
    jpeg_start_decompress(&s->in);
    bool has_ink = s->in.out_color_space == JCS_CMYK;
    a->width = s->in.output_width;
    a->height = s->in.output_height;
    a->channels = has_ink ? 3 : (unsigned)s->in.output_components;
    s->row = calloc(a->width, (size_t)s->in.output_components);
    s->rgb = has_ink ? calloc(a->width, a->channels) : NULL;
    if (s->row == NULL || (has_ink && s->rgb == NULL) || !average_begin(a))
        fail(s, SCALE_NO_MEMORY);
}

/* Who writes these files by Adobe's rules writes how much paper is left, others how much ink there
 * is. */
static const uint8_t *without_ink(struct jpeg_scaler *s)
{
    if (s->rgb == NULL)
        return s->row;
    uint8_t flip = s->in.saw_Adobe_marker ? 0 : INK_MAX;
    const uint8_t *ink = s->row;
    uint8_t *to = s->rgb;
    for (uint32_t x = 0; x < s->average.width; x++, ink += CMYK_CHANNELS, to += 3) {
        unsigned paper = ink[3] ^ flip;
        for (int c = 0; c < 3; c++)
            to[c] = (uint8_t)(((unsigned)(ink[c] ^ flip) * paper + INK_MAX / 2) / INK_MAX);
    }
    return s->rgb;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void begin_writing(struct jpeg_scaler *s)
{
    const struct average *a = &s->average;
    if (s->limits->makes_sixels) {
        if (!sixels_begin(&s->sixels, s->io, a))
            fail(s, SCALE_NO_MEMORY);
        return;
    }
    jpeg_create_compress(&s->out);
    s->out.dest = &s->destination;
    s->out.image_width = a->to_width;
    s->out.image_height = a->to_height;
    s->out.input_components = (int)a->channels;
    s->out.in_color_space = a->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&s->out);
    jpeg_set_quality(&s->out, QUALITY, TRUE);
    jpeg_start_compress(&s->out, TRUE);
    unsigned orientation = 0; /* as it lies */
    for (jpeg_saved_marker_ptr m = s->in.marker_list; m != NULL && orientation == 0; m = m->next)
        orientation = exif_orientation(m->data, m->data_length);
    if (orientation > 1) {
        uint8_t exif[EXIF_BYTES];
        exif_make(orientation, exif);
        jpeg_write_marker(&s->out, JPEG_APP0 + 1, exif, sizeof(exif));
    }
}

static void copy_rows(struct jpeg_scaler *s)
{
    while (s->in.output_scanline < s->in.output_height) {
        JSAMPROW row = s->row;
        if (jpeg_read_scanlines(&s->in, &row, 1) != 1)
            fail(s, SCALE_DAMAGED);
        const uint8_t *made = average_add(&s->average, without_ink(s));
        JSAMPROW made_row = (JSAMPROW)(uintptr_t)made;
        if (made != NULL && s->limits->makes_sixels)
            sixels_add(&s->sixels, made);
        else if (made != NULL && jpeg_write_scanlines(&s->out, &made_row, 1) != 1)
            fail(s, SCALE_UNWRITTEN);
    }
    if (!s->limits->makes_sixels)
        jpeg_finish_compress(&s->out);
    else if (!sixels_end(&s->sixels))
        fail(s, SCALE_UNWRITTEN);
}

enum scale_end codec_scale_jpeg(const struct scale_io *io, const struct scale_limits *limits)
{
    struct jpeg_scaler *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return SCALE_NO_MEMORY;
    s->io = io;
    s->limits = limits;
    set_callbacks(s);
    if (setjmp(s->failed) == 0) {
        begin_reading(s);
        begin_writing(s);
        copy_rows(s);
    }
    jpeg_destroy_decompress(&s->in);
    jpeg_destroy_compress(&s->out);
    average_end(&s->average);
    sixels_free(&s->sixels);
    free(s->row);
    free(s->rgb);
    enum scale_end end = s->end;
    free(s);
    return end;
}
