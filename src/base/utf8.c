/* Bytes checked as UTF-8. Every process that reads a stranger's text. */
#include "base/utf8.h"

/* Bytes of the character at s, 0 if it is invalid, or -1 if `len` ends inside a valid beginning. */
static int char_length(const unsigned char *s, size_t len)
{
    unsigned char c = s[0];
    if (c < 0x80)
        return 1;
    int n;
    unsigned char low = 0x80, high = 0xbf; /* of the second byte */
    if (c >= 0xc2 && c <= 0xdf) {
        n = 2;
    } else if (c >= 0xe0 && c <= 0xef) {
        n = 3;
        low = c == 0xe0 ? 0xa0 : 0x80;
        high = c == 0xed ? 0x9f : 0xbf;
    } else if (c >= 0xf0 && c <= 0xf4) {
        n = 4;
        low = c == 0xf0 ? 0x90 : 0x80;
        high = c == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    for (int i = 1; i < n; i++) {
        if ((size_t)i == len)
            return -1;
        if (s[i] < low || s[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return n;
}

size_t utf8_valid_prefix(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t i = 0;
    while (i < len) {
        /* Eight ASCII bytes at a time: nearly all text is. */
        uint64_t word;
        while (len - i >= sizeof(word)) {
            memcpy(&word, u + i, sizeof(word));
            if (word & 0x8080808080808080u)
                break;
            i += sizeof(word);
        }
        if (i == len)
            break;
        int n = char_length(u + i, len - i);
        if (n <= 0)
            break;
        i += (size_t)n;
    }
    return i;
}

bool utf8_is_valid(const char *s, size_t len)
{
    return utf8_valid_prefix(s, len) == len;
}

bool utf8_is_partial(const char *s, size_t len)
{
    size_t valid = utf8_valid_prefix(s, len);
    return valid < len && char_length((const unsigned char *)s + valid, len - valid) < 0;
}

size_t utf8_count(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

bool utf8_append_lossy(struct buf *out, const char *s, size_t len)
{
    while (len > 0) {
        size_t valid = utf8_valid_prefix(s, len);
        if (!buf_append(out, s, valid))
            return false;
        s += valid;
        len -= valid;
        if (len > 0) {
            if (!buf_append(out, "\xef\xbf\xbd", 3))
                return false;
            s++;
            len--;
        }
    }
    return true;
}
