/* Base64 in and out, strictly. Daemon and command line tool. */
#include "wire/base64.h"

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Value + 1, so that what is not named here is 0. */
static const unsigned char values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

size_t base64_encoded_len(size_t len)
{
    return (len + 2) / 3 * 4;
}

size_t base64_decoded_max(size_t len)
{
    return len / 4 * 3 + 3;
}

bool base64_encode(struct buf *out, const void *data, size_t len)
{
    const unsigned char *in = data;
    if (!buf_reserve(out, base64_encoded_len(len)))
        return false;
    char *at = out->data + out->len;
    size_t i = 0;
    for (; i + 3 <= len; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
        *at++ = base64_digits[v >> 18];
        *at++ = base64_digits[v >> 12 & 63];
        *at++ = base64_digits[v >> 6 & 63];
        *at++ = base64_digits[v & 63];
    }
    if (i < len) {
        bool has_two = len - i == 2;
        uint32_t v = (uint32_t)in[i] << 16 | (has_two ? (uint32_t)in[i + 1] << 8 : 0);
        *at++ = base64_digits[v >> 18];
        *at++ = base64_digits[v >> 12 & 63];
        *at++ = has_two ? base64_digits[v >> 6 & 63] : '=';
        *at++ = '=';
    }
    out->len = (size_t)(at - out->data);
    *at = '\0';
    return true;
}

/* Whole groups without anything between them, as long as there are such. Returns how many
 * characters that were. */
static size_t decode_groups(unsigned char *to, const char *text, size_t len)
{
    const unsigned char *in = (const unsigned char *)text;
    size_t at = 0;
    for (; len - at >= 4; at += 4, to += 3) {
        unsigned a = values[in[at]], b = values[in[at + 1]], c = values[in[at + 2]],
                 d = values[in[at + 3]];
        if (a == 0 || b == 0 || c == 0 || d == 0)
            break;
        uint32_t bits = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
        to[0] = (unsigned char)(bits >> 16);
        to[1] = (unsigned char)(bits >> 8);
        to[2] = (unsigned char)bits;
    }
    return at;
}

bool base64_decode(struct buf *out, const char *text, size_t len)
{
    uint32_t bits = 0;
    unsigned n = 0, padding = 0;
    size_t whole = 0;
    if (len / 4 * 3 <= out->max - out->len && buf_reserve(out, len / 4 * 3)) {
        whole = decode_groups((unsigned char *)out->data + out->len, text, len);
        out->len += whole / 4 * 3;
        out->data[out->len] = '\0';
    }
    for (size_t i = whole; i < len; i++) {
        unsigned value = values[(unsigned char)text[i]];
        if (text[i] == '\r' || text[i] == '\n')
            continue;
        if (text[i] == '=' && ++padding <= 2)
            continue;
        if (value == 0 || padding > 0)
            return false;
        bits = bits << 6 | (value - 1);
        if (++n < 4)
            continue;
        char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        if (!buf_append(out, bytes, sizeof(bytes)))
            return false;
        bits = n = 0;
    }
    /* The last bytes: `n` digits of a group of four, the rest padding. */
    if (n == 0)
        return padding == 0;
    if (n == 1 || n + padding != 4)
        return false;
    bits <<= 6 * (4 - n);
    /* Bits that belong to no byte must be zero: one text for one value. */
    if ((bits & (n == 2 ? 0xffff : 0xff)) != 0)
        return false;
    return buf_append_char(out, (char)(bits >> 16)) &&
           (n == 2 || buf_append_char(out, (char)(bits >> 8 & 255)));
}

static unsigned base64_url_value(char c)
{
    if (c == '+' || c == '/')
        return 0;
    return values[(unsigned char)(c == '-' ? '+' : c == '_' ? '/' : c)];
}

bool base64_decode_url(struct buf *out, const char *text, size_t len)
{
    uint32_t bits = 0;
    unsigned n = 0; /* bits that no byte has yet */
    for (size_t i = 0; i < len; i++) {
        unsigned value = base64_url_value(text[i]);
        if (value == 0)
            return false;
        bits = bits << 6 | (value - 1);
        n += 6;
        if (n < 8)
            continue;
        n -= 8;
        if (!buf_append_char(out, (char)(bits >> n & 255)))
            return false;
    }
    /* One digit alone says nothing, and stray bits would make two texts of one value. */
    return len % 4 != 1 && (bits & ((1U << n) - 1)) == 0;
}
