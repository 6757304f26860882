/* Text as formats have it: joined lines, references of HTML, what a terminal leaves of carriage
 * returns. Daemon and command line tool. */
#include "notebook/text.h"

#include <ctype.h>

json_t *text_join(const json_t *multiline)
{
    if (json_is_string(multiline))
        return json_incref((json_t *)(uintptr_t)multiline);
    if (!json_is_array(multiline))
        return NULL;
    _buf_ struct buf whole = BUF_INIT(SIZE_MAX / 4);
    size_t i;
    const json_t *line;
    json_array_foreach(multiline, i, line) {
        if (!json_is_string(line))
            return NULL;
        buf_append(&whole, json_string_value(line), json_string_length(line));
    }
    return json_stringn_nocheck(buf_str(&whole), whole.len);
}

json_t *text_lines(const char *text, size_t len)
{
    json_t *lines = json_array();
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) + 1 : len;
        json_array_append_new(lines, json_stringn_nocheck(text, n));
        text += n;
        len -= n;
    }
    return lines;
}

/* Length of what stands before the next white space. */
static size_t word_len(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && !isspace((unsigned char)text[n]))
        n++;
    return n;
}

json_t *text_without_spaces(const json_t *text)
{
    const char *s = json_string_value(text);
    size_t len = json_string_length(text);
    if (word_len(s, len) == len)
        return json_incref((json_t *)(uintptr_t)text);
    _buf_ struct buf kept = BUF_INIT(len + 1);
    for (size_t at = 0; at < len; at++) {
        size_t n = word_len(s + at, len - at);
        buf_append(&kept, s + at, n);
        at += n;
    }
    return json_stringn_nocheck(buf_str(&kept), kept.len);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

void text_append_html(struct buf *out, const char *text, size_t len)
{
    /* HTML refuses the controls of ASCII but tab and newline. */
    static const char refused[] = "\xef\xbf\xbd";
    static const char *const references[256] = {
        [0x00 ... 0x08] = refused,
        [0x0b ... 0x0c] = refused,
        ['\r'] = "&#13;",
        [0x0e ... 0x1f] = refused,
        ['"'] = "&quot;",
        ['&'] = "&amp;",
        ['\''] = "&#39;",
        ['<'] = "&lt;",
        ['>'] = "&gt;",
        [0x7f] = refused,
    };
    size_t start = 0;
    for (size_t i = 0; i < len; i++) {
        const char *reference = references[(unsigned char)text[i]];
        if (reference == NULL)
            continue;
        buf_append(out, text + start, i - start);
        buf_append_str(out, reference);
        start = i + 1;
    }
    buf_append(out, text + start, len - start);
}

/* ---- terminals ------------------------------------------------------------------------------- */

/* Length of the escape sequence at text[0] == ESC: CSI, OSC or two characters. */
static size_t escape_len(const char *text, size_t len)
{
    if (len < 2)
        return len;
    size_t at = 2;
    if (text[1] == '[') {
        while (at < len && (unsigned char)text[at] >= 0x20 && (unsigned char)text[at] < 0x40)
            at++;
        return at < len && (unsigned char)text[at] < 0x7f ? at + 1 : at;
    }
    if (text[1] == ']') {
        while (at < len && text[at] != '\a' && text[at] != '\x1b' && text[at] != '\n')
            at++;
        if (at + 1 < len && text[at] == '\x1b' && text[at + 1] == '\\')
            return at + 2;
        return at < len && text[at] == '\a' ? at + 1 : at;
    }
    return (unsigned char)text[1] < 0x80 && text[1] != '\n' ? 2 : 1;
}

void text_append_settled(struct buf *out, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        /* What was written over by a carriage return is left out, unless nothing followed. */
        const char *at = text;
        size_t left = n;
        while (left > 0 && at[left - 1] == '\r')
            left--;
        const char *last = left > 0 ? memrchr(at, '\r', left) : NULL;
        if (last != NULL) {
            left -= (size_t)(last + 1 - at);
            at = last + 1;
        }
        while (left > 0) {
            const char *escape = memchr(at, '\x1b', left);
            size_t run = escape != NULL ? (size_t)(escape - at) : left;
            buf_append(out, at, run);
            if (escape != NULL)
                run += escape_len(escape, left - run);
            at += run;
            left -= run;
        }
        if (end != NULL) {
            buf_append_char(out, '\n');
            n++;
        }
        text += n;
        len -= n;
    }
}

/* ---- comments -------------------------------------------------------------------------------- */

void text_append_prefixed(struct buf *out, const char *prefix, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        size_t prefix_len = strlen(prefix);
        while (n == 0 && prefix_len > 0 && prefix[prefix_len - 1] == ' ')
            prefix_len--;
        buf_append(out, prefix, prefix_len);
        buf_append(out, text, n);
        buf_append_char(out, '\n');
        n += end != NULL;
        text += n;
        len -= n;
    }
}

bool text_append_unprefixed(struct buf *out, const char *prefix, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len, skipped = strlen(prefix);
        while (skipped > 0 && prefix[skipped - 1] == ' ' && n < skipped)
            skipped--;
        if (n < skipped || memcmp(text, prefix, skipped) != 0)
            return false;
        buf_append(out, text + skipped, n - skipped);
        if (end != NULL)
            buf_append_char(out, '\n');
        n += end != NULL;
        text += n;
        len -= n;
    }
    return true;
}

/* True if this line, being a comment, would mark a cell; also if it is a comment itself. */
static bool is_like_mark(const char *prefix, const char *line, size_t len)
{
    const char *end = line + len;
    size_t n = strlen(prefix) - 1; /* without the space */
    while ((size_t)(end - line) >= n && memcmp(line, prefix, n) == 0)
        for (line += n; line < end && *line == ' ';)
            line++;
    while (line < end && *line == ' ')
        line++;
    return end - line >= 2 && line[0] == '%' && line[1] == '%' &&
           (end - line == 2 || isspace((unsigned char)line[2]) || line[2] == '[');
}

void text_append_commented(struct buf *out, const char *prefix, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        if (is_like_mark(prefix, text, n))
            buf_append_str(out, prefix);
        n += end != NULL;
        text_append_prefixed(out, prefix, text, n);
        text += n;
        len -= n;
    }
}

void text_append_uncommented(struct buf *out, const char *prefix, const char *text, size_t len)
{
    size_t skipped = strlen(prefix);
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) + 1 : len;
        bool is_twice =
            n >= skipped && memcmp(text, prefix, skipped) == 0 && is_like_mark(prefix, text, n);
        buf_append(out, text + (is_twice ? skipped : 0), n - (is_twice ? skipped : 0));
        text += n;
        len -= n;
    }
}

size_t text_longest_run(const char *text, size_t len, char c)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < len; i++) {
        run = text[i] == c ? run + 1 : 0;
        longest = MAX(longest, run);
    }
    return longest;
}

bool text_append_base64(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!isalnum(c) && !isspace(c) && c != '+' && c != '/' && c != '=')
            return false;
    }
    for (size_t at = 0; at < len; at++) {
        size_t n = word_len(text + at, len - at);
        buf_append(out, text + at, n);
        at += n;
    }
    return true;
}

static bool is_image_mime(const char *mime)
{
    if (strncmp(mime, "image/", 6) != 0 || mime[6] == '\0')
        return false;
    for (const char *c = mime + 6; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.' && *c != '+')
            return false;
    return true;
}

bool text_append_attachment(struct buf *out, const json_t *attachments, const char *name)
{
    json_t *bundle = json_object_get(attachments, name), *data;
    const char *mime;
    json_object_foreach(bundle, mime, data) {
        size_t start = out->len;
        if (!is_image_mime(mime) || !json_is_string(data))
            continue;
        buf_printf(out, "data:%s;base64,", mime);
        if (text_append_base64(out, json_string_value(data), json_string_length(data)))
            return true;
        out->len = start;
    }
    return false;
}
