/* Characters of texts that are shown in part. In the daemon. */
#include "explore/chars.h"

#include "base/utf8.h"

enum { CHARS_REPLACEMENT = 0xfffd };

size_t chars_next(const char *s, size_t len, uint32_t *ret_char)
{
    const unsigned char *u = (const unsigned char *)s;
    uint32_t c = u[0];
    *ret_char = c;
    if (c < 0x80)
        return 1;
    *ret_char = CHARS_REPLACEMENT;
    if (c < 0xc2 || c > 0xf4)
        return 1;
    size_t n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    /* Of the second byte: neither overlong forms, nor surrogates, nor what is beyond U+10FFFF. */
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    c &= 0x7fu >> n;
    for (size_t i = 1; i < n; i++) {
        if (i == len || u[i] < low || u[i] > high)
            return i;
        c = c << 6 | (u[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    *ret_char = c;
    return n;
}

size_t chars_prefix(const char *s, size_t len, size_t max, size_t *ret_chars)
{
    size_t at = 0, n = 0;
    uint32_t ignored;
    for (; at < len && n < max; n++)
        at += chars_next(s + at, len - at, &ignored);
    *ret_chars = n;
    return at;
}

struct chars_range {
    uint32_t first, last;
};

static bool chars_are_in(const struct chars_range *ranges, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n && ranges[i].first <= c; i++) {
        if (c <= ranges[i].last)
            return true;
    }
    return false;
}

/* As str.split() has it. */
static bool chars_is_space(uint32_t c)
{
    static const struct chars_range spaces[] = {
        {0x09, 0x0d},     {0x1c, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
        {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
    };
    return chars_are_in(spaces, ARRAY_LEN(spaces), c);
}

bool chars_is_word(uint32_t c)
{
    static const struct chars_range others[] = {
        {0x00, 0x2f},       {0x3a, 0x40},     {0x5b, 0x5e},     {0x60, 0x60},     {0x7b, 0xa9},
        {0xab, 0xb1},       {0xb4, 0xb4},     {0xb6, 0xb8},     {0xbb, 0xbb},     {0xbf, 0xbf},
        {0xd7, 0xd7},       {0xf7, 0xf7},     {0x2000, 0x206f}, {0x20a0, 0x20c0}, {0x2190, 0x245f},
        {0x2500, 0x2775},   {0x2794, 0x2bff}, {0x3000, 0x3004}, {0x3008, 0x3020}, {0xfe10, 0xfe6f},
        {0xff01, 0xff0f},   {0xff1a, 0xff20}, {0xff3b, 0xff40}, {0xff5b, 0xff65}, {0xfff9, 0xfffd},
        {0x1f300, 0x1faff},
    };
    return !chars_are_in(others, ARRAY_LEN(others), c);
}

static bool chars_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

bool chars_is_line(const char *s, size_t len, size_t max)
{
    size_t n = 0;
    for (size_t at = 0; at < len; n++) {
        uint32_t c;
        at += chars_next(s + at, len - at, &c);
        if (n == max || chars_is_control(c))
            return false;
    }
    return utf8_is_valid(s, len);
}

/* `s` and `n`: the bytes of which `c` was read. */
static void chars_append_one(struct buf *out, uint32_t c, const char *s, size_t n)
{
    if (chars_is_control(c))
        buf_append_char(out, ' ');
    else if (c == CHARS_REPLACEMENT)
        buf_append_str(out, "\xef\xbf\xbd");
    else
        buf_append(out, s, n);
}

size_t chars_append_line(struct buf *out, const char *s, size_t len, size_t max)
{
    size_t at = 0;
    for (size_t n = 0; at < len && n < max; n++) {
        uint32_t c;
        size_t taken = chars_next(s + at, len - at, &c);
        chars_append_one(out, c, s + at, taken);
        at += taken;
    }
    return at;
}

void chars_append_preview(struct buf *out, const char *s, size_t len, size_t max)
{
    if (chars_append_line(out, s, len, max) < len)
        buf_append_str(out, "...");
}

bool chars_append_squeezed(struct buf *out, const char *s, size_t len, size_t max)
{
    size_t n = 0;
    bool has_gap = false;
    for (size_t at = 0, taken; at < len; at += taken) {
        uint32_t c;
        taken = chars_next(s + at, len - at, &c);
        if (chars_is_space(c) || chars_is_control(c)) {
            has_gap = n > 0;
            continue;
        }
        if (n + has_gap >= max)
            return true;
        if (has_gap)
            buf_append_char(out, ' ');
        chars_append_one(out, c, s + at, taken);
        n += 1 + has_gap;
        has_gap = false;
    }
    return false;
}
