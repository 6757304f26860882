#include "image/image.h"
#include "unit.h"
#include "wire/base64.h"

#include <string.h>

struct sample {
    const char *name;
    const char *bytes;
    size_t len;
    enum image_format format;
    uint32_t width, height;
};

#define BYTES(text) text, sizeof(text) - 1

#define PNG_START "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
#define JPEG_FRAME "\xff\xc2\0\x11\x08\x01\x02\x03\x04\x03\1\x22\0\2\x11\1\3\x11\1"

static const struct sample samples[] = {
    {"png", BYTES(PNG_START "\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0\x12\x16\xf1\x4d"), IMAGE_PNG, 3, 2},
    {"jpeg", BYTES("\xff\xd8\xff\xe0\0\x04JF" JPEG_FRAME), IMAGE_JPEG, 0x304, 0x102},
    {"jpeg, filled up", BYTES("\xff\xd8\xff\xff\xff\xe0\0\x04JF\xff" JPEG_FRAME), IMAGE_JPEG, 0x304,
     0x102},
    {"gif", BYTES("GIF89a\x05\0\x06\x01\xf7\0\0"), IMAGE_GIF, 5, 0x106},
    {"webp, lossy", BYTES("RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\1\0\x9d\x01\x2a\x07\0\x09\0"),
     IMAGE_WEBP, 7, 9},
    {"webp, lossless", BYTES("RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f\x06\0\x02\0\0\0\0\0\0"),
     IMAGE_WEBP, 7, 9},
    {"webp, extended", BYTES("RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\x03\0\x0f\0\0"),
     IMAGE_WEBP, 1024, 16},
};

static bool probe(const char *bytes, size_t len, struct sample *ret)
{
    /* On the heap and of this length, so that a sanitizer sees who reads on. */
    _free_ char *copy = len > 0 ? mem_copy(bytes, len) : mem_alloc(1);
    return image_probe(copy, len, &ret->format, &ret->width, &ret->height);
}

static void sizes_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        const struct sample *s = &samples[i];
        struct sample got = {0};
        if (!probe(s->bytes, s->len, &got))
            fail_msg("%s is not known", s->name);
        assert_int_equal(got.format, s->format);
        assert_int_equal(got.width, s->width);
        assert_int_equal(got.height, s->height);
    }
}

static void what_is_cut_off_is_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        size_t shortest = samples[i].len;
        struct sample got = {.width = 77};
        while (shortest > 0 && probe(samples[i].bytes, shortest - 1, &got))
            shortest--;
        assert_true(shortest > 8);
        got = (struct sample){.width = 77};
        for (size_t len = 0; len < shortest; len++)
            assert_false(probe(samples[i].bytes, len, &got));
        assert_int_equal(got.width, 77);
    }
}

static void claims_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
    } bad[] = {
        {"empty", BYTES("")},
        {"text", BYTES("<svg xmlns='http://www.w3.org/2000/svg' width='4'/>")},
        {"png of no width", BYTES(PNG_START "\0\0\0\0\0\0\0\x02\x08\x02\0\0\0\xf9\x21\x4a\x4e")},
        {"png, wrong sum", BYTES(PNG_START "\0\0\0\x04\0\0\0\x02\x08\x02\0\0\0\x12\x16\xf1\x4d")},
        {"gif of no height", BYTES("GIF89a\x05\0\0\0\xf7\0\0")},
        {"jpeg of no height", BYTES("\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\x04\1\1\x11\0")},
        {"jpeg, five parts", BYTES("\xff\xd8\xff\xc0\0\x17\x08\0\1\0\1\5\1\1\1\1\1\1\1\1\1\1")},
        {"jpeg, scan first", BYTES("\xff\xd8\xff\xda\0\x04xx" JPEG_FRAME)},
        {"jpeg, length 0", BYTES("\xff\xd8\xff\xe0\0\0" JPEG_FRAME)},
        {"webp of another kind", BYTES("RIFF\x24\0\0\0WEBPVP9 \x18\0\0\0\x2f\x06\0\x02\0\0\0\0\0")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sample got;
        if (probe(bad[i].bytes, bad[i].len, &got))
            fail_msg("%s is taken for a picture", bad[i].name);
    }
}

static void base64_is_read_as_far_as_needed(void **state)
{
    (void)state;
    /* A JPEG whose profile of colours is longer than the first look. */
    _buf_ struct buf bytes = BUF_INIT(MIB), text = BUF_INIT(2 * MIB);
    buf_append(&bytes, BYTES("\xff\xd8\xff\xe2\xff\xff"));
    for (size_t i = 0; i < 0xfffd; i++)
        buf_append_char(&bytes, 'x');
    buf_append(&bytes, BYTES(JPEG_FRAME));
    for (size_t i = 0; i < 300 * KIB; i++)
        buf_append_char(&bytes, '\0');
    assert_true(base64_encode(&text, bytes.data, bytes.len));
    struct sample got;
    assert_true(image_probe_base64(text.data, text.len, &got.format, &got.width, &got.height));
    assert_int_equal(got.format, IMAGE_JPEG);
    assert_int_equal(got.width, 0x304);
    assert_false(image_probe_base64("no base64!", 10, &got.format, &got.width, &got.height));
    assert_false(image_probe_base64("", 0, &got.format, &got.width, &got.height));
}

static void pictures_keep_their_shape(void **state)
{
    static const uint32_t cases[][6] = {
        /* size, limits, result */
        {100, 50, 0, 0, 100, 50},
        {100, 50, 200, 200, 100, 50},
        {100, 50, 50, 0, 50, 25},
        {100, 50, 0, 10, 20, 10},
        {100, 50, 50, 10, 20, 10},
        {100, 50, 10, 50, 10, 5},
        {1000, 1, 10, 0, 10, 1},
        {1, 1000, 0, 3, 1, 3},
        {65535, 65535, 1, 8192, 1, 1},
        {640, 480, 639, 480, 639, 479},
        {INT32_MAX, INT32_MAX, 8192, 0, 8192, 8192},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const uint32_t *c = cases[i];
        uint32_t width, height;
        image_fit(c[0], c[1], c[2], c[3], &width, &height);
        assert_int_equal(width, c[4]);
        assert_int_equal(height, c[5]);
    }
}

static void formats_have_names(void **state)
{
    (void)state;
    assert_string_equal(image_format_name(IMAGE_JPEG), "jpeg");
    assert_string_equal(image_format_type(IMAGE_SVG), "image/svg+xml");
    assert_int_equal(image_format_of_name("webp"), IMAGE_WEBP);
    assert_int_equal(image_format_of_name("tiff"), IMAGE_UNKNOWN);
    assert_int_equal(image_format_of_name(""), IMAGE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(what_is_cut_off_is_nothing),
        cmocka_unit_test(claims_that_cannot_be_are_refused),
        cmocka_unit_test(base64_is_read_as_far_as_needed),
        cmocka_unit_test(pictures_keep_their_shape),
        cmocka_unit_test(formats_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
