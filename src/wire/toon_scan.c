/* What is on a line of TOON: spans of text, quotes, numbers. Daemon and command line tool. */
#include "wire/toon_scan.h"

#include <errno.h>
#include <math.h>

struct toon_span toon_trim(struct toon_span t)
{
    while (t.len > 0 && t.s[0] == ' ') {
        t.s++;
        t.len--;
    }
    while (t.len > 0 && t.s[t.len - 1] == ' ')
        t.len--;
    return t;
}

struct toon_span toon_from(struct toon_span t, size_t at)
{
    return (struct toon_span){t.s + at, t.len - at};
}

bool toon_is(struct toon_span t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.s, word, t.len) == 0;
}

size_t toon_find(struct toon_span t, char c, size_t at)
{
    bool is_quoted = false;
    for (; at < t.len; at++) {
        if (t.s[at] == '\\' && is_quoted)
            at++;
        else if (t.s[at] == '"')
            is_quoted = !is_quoted;
        else if (t.s[at] == c && !is_quoted)
            return at;
    }
    return t.len;
}

size_t toon_find_quote(struct toon_span t)
{
    size_t at = 1;
    while (at < t.len && t.s[at] != '"')
        at += t.s[at] == '\\' ? 2 : 1;
    return MIN(at, t.len);
}

size_t toon_find_brace(struct toon_span t, size_t at)
{
    size_t depth = 0;
    bool is_quoted = false;
    for (; at < t.len; at++) {
        if (t.s[at] == '\\' && is_quoted)
            at++;
        else if (t.s[at] == '"')
            is_quoted = !is_quoted;
        else if (t.s[at] == '{' && !is_quoted)
            depth++;
        else if (t.s[at] == '}' && !is_quoted && --depth == 0)
            return at;
    }
    return t.len;
}

/* Appends the character of a \uXXXX whose four digits are here. */
static bool toon_unescape_code(struct buf *out, const char *s, size_t len)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    uint32_t code = 0;
    if (len < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = strchr(digits, s[i]);
        if (digit == NULL || s[i] == '\0')
            return false;
        uint32_t value = (uint32_t)(digit - digits);
        code = code << 4 | (value > 15 ? value - 6 : value);
    }
    if (code >= 0xd800 && code <= 0xdfff)
        return false;
    char text[3] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
                    (char)(0x80 | (code & 0x3f))};
    if (code < 0x80)
        text[2] = (char)code;
    else if (code < 0x800)
        text[1] = (char)(0xc0 | code >> 6);
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    return buf_append(out, text + 3 - n, n);
}

const char *toon_unquote(struct toon_span t, struct buf *out)
{
    if (t.len == 0 || t.s[0] != '"') {
        buf_append(out, t.s, t.len);
        return NULL;
    }
    size_t quote = toon_find_quote(t);
    if (quote != t.len - 1)
        return quote == t.len ? "a quote that is not closed" : "something after a closing quote";
    for (size_t at = 1; at < quote; at++) {
        size_t begin = at;
        while (at < quote && t.s[at] != '\\')
            at++;
        buf_append(out, t.s + begin, at - begin);
        if (at++ == quote)
            break;
        /* toon_find_quote has seen that a character follows. */
        static const char letters[] = "nrt\\\"", characters[] = "\n\r\t\\\"";
        const char *letter = t.s[at] != '\0' ? strchr(letters, t.s[at]) : NULL;
        if (letter != NULL)
            buf_append_char(out, characters[letter - letters]);
        else if (t.s[at] == 'u' && toon_unescape_code(out, t.s + at + 1, quote - at - 1))
            at += 4;
        else
            return "an unknown escape in quotes";
    }
    return NULL;
}

bool toon_is_number(struct toon_span t, bool *ret_is_real)
{
    size_t at = t.len > 0 && t.s[0] == '-';
    size_t begin = at;
    *ret_is_real = false;
    while (at < t.len && t.s[at] >= '0' && t.s[at] <= '9')
        at++;
    if (at == begin || (t.s[begin] == '0' && at > begin + 1))
        return false;
    for (int part = 0; part < 2 && at < t.len; part++) {
        bool is_point = part == 0 && t.s[at] == '.';
        bool is_exponent = part == 1 && (t.s[at] == 'e' || t.s[at] == 'E');
        if (!is_point && !is_exponent)
            continue;
        at++;
        if (is_exponent && at < t.len && (t.s[at] == '+' || t.s[at] == '-'))
            at++;
        begin = at;
        while (at < t.len && t.s[at] >= '0' && t.s[at] <= '9')
            at++;
        if (at == begin)
            return false;
        *ret_is_real = true;
    }
    return at == t.len;
}

json_t *toon_read_number(struct toon_span t, bool is_real)
{
    char small[64];
    _free_ char *large = NULL;
    char *text = small;
    if (t.len >= sizeof(small))
        text = large = mem_alloc(t.len + 1);
    memcpy(text, t.s, t.len);
    text[t.len] = '\0';
    if (!is_real && t.len <= 20) {
        errno = 0;
        long long value = strtoll(text, NULL, 10);
        if (errno == 0)
            return json_integer(value);
    }
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return NULL;
    return json_real(value == 0 ? 0 : value);
}
