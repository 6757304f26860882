/* JPEG: what becomes of its pixels, of files of every kind, and that a box has what it takes. */
#include "base/buf.h"
#include "image/exif.h"
#include "image/image.h"
#include "image/scale.h"
#include "loop/loop.h"
#include "unit.h"

#include <errno.h>
#include <jpeglib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- pictures -------------------------------------------------------------------------------- */

typedef void (*paint_fn)(uint32_t x, uint32_t y, uint8_t *pixel);

struct picture {
    uint32_t width, height;
    J_COLOR_SPACE colours;
    paint_fn paint;
    bool is_progressive;
    bool is_optimized;     /* several passes while it is made; another kind of file */
    unsigned orientation;  /* 0: says nothing */
    unsigned restart_rows; /* 0: no restart markers */
    bool has_adobe_mark;
};

static void paint_halves(uint32_t x, uint32_t y, uint8_t *pixel)
{
    pixel[0] = (uint8_t)(x < 320 ? 10 : 250);
    pixel[1] = (uint8_t)(y < 240 ? 10 : 250);
    pixel[2] = 77;
}

static void paint_gray(uint32_t x, uint32_t y, uint8_t *pixel)
{
    (void)y;
    *pixel = (uint8_t)(x < 320 ? 20 : 230);
}

/* Half of the ink for red, all of it for blue, a quarter black. */
static void paint_ink(uint32_t x, uint32_t y, uint8_t *pixel)
{
    static const uint8_t ink[] = {128, 0, 255, 64};
    (void)x;
    (void)y;
    memcpy(pixel, ink, sizeof(ink));
}

static void paint_noise(uint32_t x, uint32_t y, uint8_t *pixel)
{
    for (int i = 0; i < 3; i++)
        pixel[i] = (uint8_t)((x * 2654435761u ^ y * 40503u ^ (unsigned)i * 97u) >> 7);
}

static void make_jpeg(const struct picture *p, struct buf *out)
{
    struct jpeg_compress_struct jpeg = {0};
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long len = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &len);
    jpeg.image_width = p->width;
    jpeg.image_height = p->height;
    jpeg.in_color_space = p->colours;
    jpeg.input_components = p->colours == JCS_GRAYSCALE ? 1 : p->colours == JCS_RGB ? 3 : 4;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 95, TRUE);
    jpeg.optimize_coding = p->is_optimized;
    jpeg.restart_in_rows = (int)p->restart_rows;
    if (p->colours == JCS_CMYK)
        jpeg.write_Adobe_marker = p->has_adobe_mark;
    if (p->is_progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    if (p->orientation > 0) {
        uint8_t exif[EXIF_BYTES];
        exif_make(p->orientation, exif);
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof(exif));
    }
    _free_ uint8_t *row = mem_alloc((size_t)p->width * (size_t)jpeg.input_components);
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++)
            p->paint(x, y, row + (size_t)x * (size_t)jpeg.input_components);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    buf_append(out, bytes, len);
    free(bytes);
}

struct decoded {
    uint32_t width, height;
    unsigned channels, orientation;
    uint8_t *pixels;
};

static struct decoded decode(const struct buf *from)
{
    struct jpeg_decompress_struct jpeg = {0};
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, (const unsigned char *)from->data, from->len);
    jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg, TRUE);
    jpeg_start_decompress(&jpeg);
    struct decoded d = {.width = jpeg.output_width,
                        .height = jpeg.output_height,
                        .channels = (unsigned)jpeg.output_components};
    size_t row_bytes = (size_t)d.width * d.channels;
    d.pixels = mem_alloc(row_bytes * d.height);
    while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = d.pixels + jpeg.output_scanline * row_bytes;
        jpeg_read_scanlines(&jpeg, &row, 1);
    }
    if (jpeg.marker_list != NULL)
        d.orientation = exif_orientation(jpeg.marker_list->data, jpeg.marker_list->data_length);
    assert_int_equal(errors.num_warnings, 0);
    jpeg_destroy_decompress(&jpeg);
    return d;
}

static const uint8_t *pixel_of(const struct decoded *d, uint32_t x, uint32_t y)
{
    return d->pixels + ((size_t)y * d->width + x) * d->channels;
}

/* Colours are rounded twice, as strongly as their quality says. */
enum { ABOUT = 10 };

static void expect_about(unsigned value, unsigned wanted)
{
    if (value + ABOUT < wanted || value > wanted + ABOUT)
        fail_msg("%u instead of %u", value, wanted);
}

/* ---- scaling in this process ----------------------------------------------------------------- */

struct files {
    const struct buf *in;
    size_t at, step; /* at most so many bytes at a time */
    struct buf *out;
};

static ssize_t read_in(void *context, void *data, size_t len)
{
    struct files *f = context;
    size_t n = MIN(MIN(len, f->step), f->in->len - f->at);
    memcpy(data, f->in->data + f->at, n);
    f->at += n;
    return (ssize_t)n;
}

static int write_out(void *context, const void *data, size_t len)
{
    return buf_append(((struct files *)context)->out, data, len) ? 0 : -1;
}

static enum scale_end scale_by(const struct buf *in, size_t step, uint32_t width, uint32_t height,
                               struct buf *out)
{
    struct files files = {in, 0, step, out};
    struct scale_io io = {.read = read_in, .write = write_out, .context = &files};
    struct scale_limits limits = {width, height, .max_pixels = IMAGE_PIXELS_MAX};
    return scale_picture(&io, &limits);
}

static struct decoded scaled(const struct picture *p, uint32_t width, uint32_t height)
{
    _buf_ struct buf in = BUF_INIT(64 * MIB);
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    make_jpeg(p, &in);
    assert_int_equal(scale_by(&in, in.len, width, height, &out), SCALE_DONE);
    enum image_format format;
    uint32_t probed_width, probed_height;
    assert_true(
        image_probe(out.data, MIN(out.len, (size_t)1024), &format, &probed_width, &probed_height));
    assert_int_equal(format, IMAGE_JPEG);
    struct decoded d = decode(&out);
    assert_int_equal(d.width, probed_width);
    assert_int_equal(d.height, probed_height);
    return d;
}

static void expect_halves(struct decoded d)
{
    assert_int_equal(d.channels, 3);
    for (uint32_t y = 0; y < d.height; y += 3) {
        for (uint32_t x = 0; x < d.width; x += 3) {
            const uint8_t *p = pixel_of(&d, x, y);
            /* Colours bleed within a block; away from the borders they are what they were. */
            if ((2 * x + 40 >= d.width && 2 * x <= d.width + 40) ||
                (2 * y + 40 >= d.height && 2 * y <= d.height + 40))
                continue;
            expect_about(p[0], 2 * x < d.width ? 10 : 250);
            expect_about(p[1], 2 * y < d.height ? 10 : 250);
        }
    }
    free(d.pixels);
}

static void every_place_stays_where_it_is(void **state)
{
    (void)state;
    static const uint32_t widths[] = {639, 400, 321, 320, 319, 161, 160, 100, 80, 79};
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        struct picture p = {640, 480, JCS_RGB, paint_halves, .is_progressive = i % 2};
        struct decoded d = scaled(&p, widths[i], 0);
        assert_int_equal(d.width, widths[i]);
        assert_int_equal(d.height, (widths[i] * 480 + 320) / 640);
        expect_halves(d);
    }
}

static void files_of_every_kind_are_read(void **state)
{
    (void)state;
    static const struct picture kinds[] = {
        {640, 480, JCS_RGB, paint_halves, .is_progressive = true},
        {640, 480, JCS_RGB, paint_halves, .is_optimized = true},
        {640, 480, JCS_RGB, paint_halves, .restart_rows = 2},
        {640, 480, JCS_RGB, paint_halves, .is_progressive = true, .restart_rows = 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        expect_halves(scaled(&kinds[i], 0, 200));
}

static void gray_stays_gray(void **state)
{
    (void)state;
    struct picture p = {640, 64, JCS_GRAYSCALE, paint_gray, .is_progressive = false};
    struct decoded d = scaled(&p, 100, 0);
    assert_int_equal(d.channels, 1);
    expect_about(*pixel_of(&d, 10, 3), 20);
    expect_about(*pixel_of(&d, 90, 3), 230);
    free(d.pixels);
}

/* By Adobe's rules what is written is what is left of the paper. */
static void ink_becomes_light(void **state)
{
    (void)state;
    for (int is_adobe = 0; is_adobe <= 1; is_adobe++) {
        struct picture p = {200, 100, JCS_CMYK, paint_ink, .has_adobe_mark = is_adobe};
        struct decoded d = scaled(&p, 50, 0);
        const uint8_t *pixel = pixel_of(&d, 25, 12);
        assert_int_equal(d.channels, 3);
        expect_about(pixel[0], is_adobe ? 128 * 64 / 255 : 127 * 191 / 255);
        expect_about(pixel[1], is_adobe ? 0 : 191);
        expect_about(pixel[2], is_adobe ? 64 : 0);
        free(d.pixels);
    }
}

static void how_it_is_turned_is_kept(void **state)
{
    (void)state;
    for (unsigned orientation = 0; orientation <= 8; orientation++) {
        struct picture p = {64, 48, JCS_RGB, paint_halves, .orientation = orientation};
        struct decoded d = scaled(&p, 32, 0);
        assert_int_equal(d.orientation, orientation > 1 ? orientation : 0);
        free(d.pixels);
    }
}

static void hostile_segments_say_nothing(void **state)
{
    (void)state;
    uint8_t exif[EXIF_BYTES], bytes[EXIF_BYTES];
    exif_make(6, exif);
    assert_int_equal(exif_orientation(exif, sizeof(exif)), 6);
    for (size_t len = 0; len < sizeof(exif); len++) {
        _free_ uint8_t *cut = mem_copy(exif, len); /* so that a sanitizer sees its end */
        exif_orientation(cut, len);
    }
    for (size_t i = 0; i < sizeof(exif); i++) {
        for (unsigned value = 0; value < 256; value++) {
            memcpy(bytes, exif, sizeof(exif));
            bytes[i] = (uint8_t)value;
            assert_in_range(exif_orientation(bytes, sizeof(bytes)), 0, 8);
        }
    }
    static const uint8_t little[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x03\0\0";
    assert_int_equal(exif_orientation(little, sizeof(little)), 3);
}

/* Every cut and every damaged byte: an error or a picture, never anything else. */
static void damage_is_told(void **state)
{
    (void)state;
    for (int is_progressive = 0; is_progressive <= 1; is_progressive++) {
        struct picture p = {90, 70, JCS_RGB, paint_noise, .is_progressive = is_progressive};
        _buf_ struct buf in = BUF_INIT(MIB);
        make_jpeg(&p, &in);
        size_t whole = in.len;
        for (size_t len = 0; len < whole - 2; len += len < 700 ? 1 : 41) {
            _buf_ struct buf out = BUF_INIT(MIB);
            in.len = len;
            assert_int_equal(scale_by(&in, 7, 20, 0, &out), SCALE_DAMAGED);
        }
        in.len = whole;
        for (size_t at = 2; at < whole; at += at < 700 ? 1 : 13) {
            _buf_ struct buf out = BUF_INIT(MIB);
            char was = in.data[at];
            in.data[at] = (char)~was;
            enum scale_end end = scale_by(&in, 4096, 20, 0, &out);
            assert_true(end == SCALE_DONE || end == SCALE_DAMAGED || end == SCALE_TOO_LARGE);
            in.data[at] = was;
        }
    }
}

/* The frame's header says that it is larger than anybody should decode. */
static void bombs_are_refused(void **state)
{
    (void)state;
    for (int is_progressive = 0; is_progressive <= 1; is_progressive++) {
        struct picture p = {64, 64, JCS_RGB, paint_noise, .is_progressive = is_progressive};
        _buf_ struct buf in = BUF_INIT(MIB);
        _buf_ struct buf out = BUF_INIT(MIB);
        make_jpeg(&p, &in);
        char *frame = memmem(in.data, in.len, is_progressive ? "\xff\xc2" : "\xff\xc0", 2);
        assert_non_null(frame);
        memcpy(frame + 5, is_progressive ? "\x18\x00\x18\x00" : "\x40\x00\x40\x00", 4);
        assert_int_equal(scale_by(&in, 4096, 20, 0, &out), SCALE_TOO_LARGE);
        assert_int_equal(out.len, 0);
    }
}

/* One scan over and over: a few bytes each, all of the picture's work. */
static void scans_are_counted(void **state)
{
    (void)state;
    struct picture p = {640, 480, JCS_GRAYSCALE, paint_gray, .is_progressive = true};
    _buf_ struct buf in = BUF_INIT(64 * MIB);
    _buf_ struct buf many = BUF_INIT(64 * MIB);
    _buf_ struct buf out = BUF_INIT(MIB);
    make_jpeg(&p, &in);
    const char *first = memmem(in.data, in.len, "\xff\xda", 2);
    const char *rest = first + 2;
    while ((rest = memchr(rest, 0xff, (size_t)(in.data + in.len - rest))) != NULL &&
           (rest[1] == 0 || ((unsigned char)rest[1] & 0xf8) == 0xd0))
        rest += 2;
    assert_non_null(rest);
    buf_append(&many, in.data, (size_t)(first - in.data));
    for (int i = 0; i < 2000; i++)
        buf_append(&many, first, (size_t)(rest - first));
    buf_append(&many, "\xff\xd9", 2);
    assert_int_equal(scale_by(&many, 4096, 20, 0, &out), SCALE_DAMAGED);
}

/* ---- in a box -------------------------------------------------------------------------------- */

struct answer {
    unsigned n;
    struct image_scaled scaled;
    struct err err;
};

static void on_scaled(void *context, const struct image_scaled *got, const struct err *e)
{
    struct answer *answer = context;
    answer->n++;
    answer->scaled = got != NULL ? *got : (struct image_scaled){.fd = -1};
    answer->err = e != NULL ? *e : (struct err){0};
}

static struct answer scale_in_box(const struct picture *p, enum image_format format, uint32_t width)
{
    uv_loop_t loop = {0};
    struct answer answer = {0};
    struct err e;
    _buf_ struct buf in = BUF_INIT(64 * MIB);
    int fd = memfd_create("picture", MFD_CLOEXEC);
    make_jpeg(p, &in);
    assert_int_equal(write(fd, in.data, in.len), in.len);
    lseek(fd, 0, SEEK_SET);
    uv_loop_init(&loop);
    struct image_boxes *boxes = image_boxes_new(&loop);
    struct image_size size = {width, 0};
    assert_non_null(image_scale(boxes, fd, format, size, on_scaled, &answer, &e));
    uv_run(&loop, UV_RUN_DEFAULT);
    image_boxes_free(boxes);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(answer.n, 1);
    return answer;
}

static void a_box_has_what_it_takes(void **state)
{
    (void)state;
    static const struct picture kinds[] = {
        {1500, 1000, JCS_RGB, paint_noise, .is_progressive = false},
        {1500, 1000, JCS_RGB, paint_noise, .is_progressive = true},
        {1500, 1000, JCS_CMYK, paint_ink, .is_progressive = false},
        {1500, 1000, JCS_GRAYSCALE, paint_gray, .is_progressive = true},
        {5400, 5400, JCS_RGB, paint_halves, .is_progressive = true}, /* 167 MiB of it */
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct answer answer = scale_in_box(&kinds[i], IMAGE_JPEG, 300);
        if (answer.scaled.fd < 0)
            fail_msg("%zu: %s", i, answer.err.message);
        assert_int_equal(answer.scaled.width, 300);
        close(answer.scaled.fd);
    }
}

/* A JPEG that was said to be a PNG does not go out under that name. */
static void a_result_is_of_the_kind_that_was_asked_for(void **state)
{
    (void)state;
    struct picture p = {100, 100, JCS_RGB, paint_noise, .is_progressive = false};
    struct answer answer = scale_in_box(&p, IMAGE_PNG, 30);
    assert_int_equal(answer.scaled.fd, -1);
    assert_int_equal(answer.err.code, ERR_CONFLICT);
}

/* Four quarters of colours that the cube of sixels nearly has, and a file that is none. */
static void a_terminal_gets_sixels(void **state)
{
    (void)state;
    static const char head[] = "\033P0;1q\"1;1;64;48#0;2;0;0;0#";
    struct picture p = {640, 480, JCS_RGB, paint_halves, .is_progressive = true};
    _buf_ struct buf in = BUF_INIT(64 * MIB);
    _buf_ struct buf out = BUF_INIT(MIB);
    make_jpeg(&p, &in);
    assert_int_equal(image_sixels(in.data, in.len, (struct image_size){64, 0}, &out), 0);
    assert_memory_equal(out.data, head, strlen(head));
    assert_memory_equal(out.data + out.len - 3, "-\033\\", 3);
    size_t n_bands = 0;
    for (size_t i = 0; i < out.len; i++)
        n_bands += out.data[i] == '-';
    assert_int_equal(n_bands, 8);
    buf_clear(&out);
    assert_int_equal(image_sixels(in.data, in.len / 2, (struct image_size){64, 0}, &out), -EBADMSG);
    assert_int_equal(out.len, 0);
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], IMAGE_BOX_WORD) == 0)
        return image_box_main(argc - 2, argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_stays_where_it_is),
        cmocka_unit_test(files_of_every_kind_are_read),
        cmocka_unit_test(gray_stays_gray),
        cmocka_unit_test(ink_becomes_light),
        cmocka_unit_test(how_it_is_turned_is_kept),
        cmocka_unit_test(hostile_segments_say_nothing),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(scans_are_counted),
        cmocka_unit_test(a_box_has_what_it_takes),
        cmocka_unit_test(a_result_is_of_the_kind_that_was_asked_for),
        cmocka_unit_test(a_terminal_gets_sixels),
    };
    return cmocka_run_group_tests_name("image_jpeg", tests, NULL, NULL);
}
