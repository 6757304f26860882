/* What a picture's header says, without decoding it. Daemon; the bytes are hostile. */
#include "image/image.h"
#include "wire/base64.h"

#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *type;
} formats[] = {
    [IMAGE_UNKNOWN] = {"", "application/octet-stream"},
    [IMAGE_PNG] = {"png", "image/png"},
    [IMAGE_JPEG] = {"jpeg", "image/jpeg"},
    [IMAGE_GIF] = {"gif", "image/gif"},
    [IMAGE_WEBP] = {"webp", "image/webp"},
    [IMAGE_SVG] = {"svg", "image/svg+xml"},
};

const char *image_format_name(enum image_format format)
{
    return formats[format].name;
}

const char *image_format_type(enum image_format format)
{
    return formats[format].type;
}

enum image_format image_format_of_name(const char *name)
{
    for (size_t i = 1; i < ARRAY_LEN(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return (enum image_format)i;
    return IMAGE_UNKNOWN;
}

/* ---- headers --------------------------------------------------------------------------------- */

struct size {
    uint32_t width, height;
};

struct view {
    const uint8_t *at;
    size_t len;
};

static uint32_t big32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t big16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t little16(const uint8_t *at)
{
    return (uint32_t)at[1] << 8 | at[0];
}

static uint32_t little24(const uint8_t *at)
{
    return (uint32_t)at[2] << 16 | little16(at);
}

static uint32_t little32(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | little24(at);
}

static bool starts_with(struct view v, const char *bytes, size_t len)
{
    return v.len >= len && memcmp(v.at, bytes, len) == 0;
}

/* As PNG has it; of a few bytes, so without a table. */
static uint32_t crc32_of(const uint8_t *at, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* Which bit depths a colour type may have, as a set of bits. */
static unsigned png_depths(uint8_t colour)
{
    switch (colour) {
    case 0: /* gray */
        return 1 | 2 | 4 | 8 | 16;
    case 3: /* palette */
        return 1 | 2 | 4 | 8;
    case 2: /* RGB */
    case 4: /* gray and alpha */
    case 6: /* RGB and alpha */
        return 8 | 16;
    default:
        return 0;
    }
}

/* Signature, then the chunk IHDR: length, name, 13 bytes, checksum. */
static bool probe_png(struct view v, struct size *ret)
{
    static const char start[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    enum { NAME = 12, BODY = 16, CRC = 29, END = 33 };
    if (!starts_with(v, start, sizeof(start) - 1) || v.len < END)
        return false;
    const uint8_t *body = v.at + BODY;
    uint8_t depth = body[8];
    *ret = (struct size){big32(body), big32(body + 4)};
    return ret->width <= INT32_MAX && ret->height <= INT32_MAX && depth != 0 &&
           (depth & (depth - 1)) == 0 && (png_depths(body[9]) & depth) != 0 && body[10] == 0 &&
           body[11] == 0 && body[12] <= 1 && crc32_of(v.at + NAME, CRC - NAME) == big32(v.at + CRC);
}

static bool probe_gif(struct view v, struct size *ret)
{
    if (v.len < 13 || !(starts_with(v, "GIF87a", 6) || starts_with(v, "GIF89a", 6)))
        return false;
    *ret = (struct size){little16(v.at + 6), little16(v.at + 8)};
    return true;
}

/* RIFF with one of three first chunks. */
static bool probe_webp(struct view v, struct size *ret)
{
    enum { CHUNK = 12, BODY = 20, END = 30 };
    if (!starts_with(v, "RIFF", 4) || v.len < END || memcmp(v.at + 8, "WEBP", 4) != 0)
        return false;
    struct view chunk = {v.at + CHUNK, v.len - CHUNK};
    const uint8_t *body = v.at + BODY;
    uint32_t bytes = little32(v.at + CHUNK + 4);
    if (starts_with(chunk, "VP8 ", 4)) {
        *ret = (struct size){little16(body + 6) & 0x3fff, little16(body + 8) & 0x3fff};
        return bytes >= 10 && (body[0] & 1) == 0 && memcmp(body + 3, "\x9d\x01\x2a", 3) == 0;
    }
    if (starts_with(chunk, "VP8L", 4)) {
        uint32_t bits = little32(body + 1);
        *ret = (struct size){(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1};
        return bytes >= 5 && body[0] == 0x2f && bits >> 29 == 0;
    }
    *ret = (struct size){little24(body + 4) + 1, little24(body + 7) + 1};
    return starts_with(chunk, "VP8X", 4) && bytes == 10;
}

/* Segments up to the one that describes the frame; nothing else tells a JPEG's size. */
static bool probe_jpeg(struct view v, struct size *ret)
{
    size_t at = 2;
    if (!starts_with(v, "\xff\xd8\xff", 3))
        return false;
    for (;;) {
        while (at < v.len && v.at[at] == 0xff && at + 1 < v.len && v.at[at + 1] == 0xff)
            at++; /* may be filled up with these */
        if (v.len - at < 4 || v.at[at] != 0xff)
            return false;
        uint8_t marker = v.at[at + 1];
        size_t len = big16(v.at + at + 2);
        /* Without a length, or after the frame: none of them comes here. */
        if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xda) || len < 2)
            return false;
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
            marker != 0xcc) {
            const uint8_t *frame = v.at + at + 4;
            if (v.len - at < 10 || len < 11)
                return false;
            *ret = (struct size){big16(frame + 3), big16(frame + 1)};
            return frame[5] >= 1 && frame[5] <= 4 && len == 8 + 3 * (size_t)frame[5] &&
                   frame[0] >= 2 && frame[0] <= 16;
        }
        if (len + 2 >= v.len - at)
            return false;
        at += len + 2;
    }
}

bool image_probe(const void *data, size_t len, enum image_format *ret_format, uint32_t *ret_width,
                 uint32_t *ret_height)
{
    static const struct {
        enum image_format format;
        bool (*probe)(struct view v, struct size *ret);
    } probes[] = {
        {IMAGE_PNG, probe_png},
        {IMAGE_JPEG, probe_jpeg},
        {IMAGE_GIF, probe_gif},
        {IMAGE_WEBP, probe_webp},
    };
    struct view v = {data, len};
    for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
        struct size size;
        if (!probes[i].probe(v, &size) || size.width == 0 || size.height == 0)
            continue;
        *ret_format = probes[i].format;
        *ret_width = size.width;
        *ret_height = size.height;
        return true;
    }
    return false;
}

bool image_probe_base64(const char *text, size_t len, enum image_format *ret_format,
                        uint32_t *ret_width, uint32_t *ret_height)
{
    static const size_t tries[] = {1020, IMAGE_PROBE_BYTES / 3 * 4}; /* characters, by fours */
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        _buf_ struct buf bytes = BUF_INIT(IMAGE_PROBE_BYTES);
        size_t n = MIN(len, tries[i]);
        if (base64_decode(&bytes, text, n) &&
            image_probe(bytes.data, bytes.len, ret_format, ret_width, ret_height))
            return true;
        /* Only JPEG may say its size later. */
        if (n == len || bytes.len < 3 || memcmp(bytes.data, "\xff\xd8\xff", 3) != 0)
            return false;
    }
    return false;
}

void image_fit(uint32_t width, uint32_t height, uint32_t max_width, uint32_t max_height,
               uint32_t *ret_width, uint32_t *ret_height)
{
    uint64_t w = width, h = height;
    uint64_t to_w = max_width == 0 ? w : MIN(w, (uint64_t)max_width);
    uint64_t to_h = max_height == 0 ? h : MIN(h, (uint64_t)max_height);
    /* The side that must shrink more decides about the other. */
    if (to_w * h <= to_h * w)
        to_h = to_w == w ? h : MAX(1, (to_w * h + w / 2) / w);
    else
        to_w = MAX(1, (to_h * w + h / 2) / h);
    *ret_width = (uint32_t)to_w;
    *ret_height = (uint32_t)to_h;
}
