/* JSON out, into a buffer. Daemon and command line tool. */
#include "base/utf8.h"
#include "wire/json.h"

#include <math.h>

/* What a byte becomes inside a string: 0 itself, 'u' a \u00xx, '?' needs the UTF-8 check, else the
 * letter after a backslash. DEL stays as it is: JSON allows it. */
static const char escape_of[256] = {
    [0x00 ... 0x07] = 'u', ['\b'] = 'b',          ['\t'] = 't',          ['\n'] = 'n',
    [0x0b] = 'u',          ['\f'] = 'f',          ['\r'] = 'r',          ['"'] = '"',
    ['\\'] = '\\',         [0x0e ... 0x1f] = 'u', [0x80 ... 0xff] = '?',
};

void json_append_escaped(struct buf *out, const char *s, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    while (len > 0) {
        size_t n = 0;
        while (n < len && escape_of[(unsigned char)s[n]] == 0)
            n++;
        if (n > 0) {
            buf_append(out, s, n);
        } else if ((unsigned char)*s >= 0x80) {
            /* Only the run of non-ASCII bytes: the rest still has to be looked at for escapes. */
            while (n < len && (unsigned char)s[n] >= 0x80)
                n++;
            utf8_append_lossy(out, s, n);
        } else {
            unsigned char c = (unsigned char)*s;
            if (escape_of[c] == 'u') {
                char text[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
                buf_append(out, text, sizeof(text));
            } else {
                char text[2] = {'\\', escape_of[c]};
                buf_append(out, text, sizeof(text));
            }
            n = 1;
        }
        s += n;
        len -= n;
    }
}

static void separate(struct json_out *o)
{
    if (o->needs_comma)
        buf_append_char(o->buf, ',');
    o->needs_comma = true;
}

static void open_with(struct json_out *o, char bracket)
{
    separate(o);
    buf_append_char(o->buf, bracket);
    o->needs_comma = false;
}

static void close_with(struct json_out *o, char bracket)
{
    buf_append_char(o->buf, bracket);
    o->needs_comma = true;
}

void json_put_object(struct json_out *o)
{
    open_with(o, '{');
}

void json_put_object_end(struct json_out *o)
{
    close_with(o, '}');
}

void json_put_array(struct json_out *o)
{
    open_with(o, '[');
}

void json_put_array_end(struct json_out *o)
{
    close_with(o, ']');
}

void json_put_key(struct json_out *o, const char *key)
{
    separate(o);
    size_t len = strlen(key);
    if (buf_reserve(o->buf, len + 3)) {
        char *at = o->buf->data + o->buf->len;
        at[0] = '"';
        memcpy(at + 1, key, len);
        memcpy(at + 1 + len, "\":", 3);
        o->buf->len += len + 3;
    }
    o->needs_comma = false;
}

void json_put_text(struct json_out *o, const char *s, size_t len)
{
    separate(o);
    buf_append_char(o->buf, '"');
    json_append_escaped(o->buf, s, len);
    buf_append_char(o->buf, '"');
}

void json_put_str(struct json_out *o, const char *s)
{
    if (s == NULL)
        json_put_null(o);
    else
        json_put_text(o, s, strlen(s));
}

void json_put_int(struct json_out *o, int64_t value)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--at = '-';
    json_put_raw(o, at, (size_t)(digits + sizeof(digits) - at));
}

void json_put_real(struct json_out *o, double value, int decimals)
{
    if (!isfinite(value)) {
        json_put_null(o);
        return;
    }
    char text[352]; /* DBL_MAX has 309 digits before the point */
    int n = snprintf(text, sizeof(text), "%.*f", decimals, value);
    json_put_raw(o, text, (size_t)n);
}

static void json_put_bool(struct json_out *o, bool value)
{
    if (value)
        json_put_raw(o, "true", 4);
    else
        json_put_raw(o, "false", 5);
}

void json_put_null(struct json_out *o)
{
    json_put_raw(o, "null", 4);
}

void json_put_raw(struct json_out *o, const char *json, size_t len)
{
    separate(o);
    buf_append(o->buf, json, len);
}

void json_append_real(struct buf *out, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_append_str(out, text);
    if (strpbrk(text, ".eE") == NULL)
        buf_append_str(out, ".0");
}

void json_put_value(struct json_out *o, const json_t *value)
{
    const char *key;
    json_t *member;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        json_put_object(o);
        json_object_foreach((json_t *)(uintptr_t)value, key, member) {
            json_put_str(o, key);
            buf_append_char(o->buf, ':');
            o->needs_comma = false;
            json_put_value(o, member);
        }
        json_put_object_end(o);
        break;
    case JSON_ARRAY:
        json_put_array(o);
        for (size_t i = 0; i < json_array_size(value); i++)
            json_put_value(o, json_array_get(value, i));
        json_put_array_end(o);
        break;
    case JSON_STRING:
        json_put_text(o, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        json_put_int(o, json_integer_value(value));
        break;
    case JSON_REAL:
        separate(o);
        json_append_real(o->buf, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        json_put_bool(o, json_is_true(value));
        break;
    case JSON_NULL:
        json_put_null(o);
        break;
    }
}

void json_put_member_text(struct json_out *o, const char *key, const char *s, size_t len)
{
    json_put_key(o, key);
    json_put_text(o, s, len);
}

void json_put_member_str(struct json_out *o, const char *key, const char *s)
{
    if (s == NULL)
        return;
    json_put_key(o, key);
    json_put_str(o, s);
}

void json_put_member_int(struct json_out *o, const char *key, int64_t value)
{
    json_put_key(o, key);
    json_put_int(o, value);
}

void json_put_member_real(struct json_out *o, const char *key, double value, int decimals)
{
    json_put_key(o, key);
    json_put_real(o, value, decimals);
}

void json_put_member_bool(struct json_out *o, const char *key, bool value)
{
    json_put_key(o, key);
    json_put_bool(o, value);
}

void json_put_member_some(struct json_out *o, const char *key, int64_t value)
{
    if (value != 0)
        json_put_member_int(o, key, value);
}

void json_put_member_true(struct json_out *o, const char *key, bool value)
{
    if (value)
        json_put_member_bool(o, key, true);
}

void json_put_member_null(struct json_out *o, const char *key)
{
    json_put_key(o, key);
    json_put_null(o);
}

void json_put_member_error(struct json_out *o, const struct err *e)
{
    json_put_key(o, "error");
    json_put_object(o);
    json_put_member_str(o, "code", err_code_name(e->code));
    json_put_member_str(o, "message", e->message);
    json_put_member_str(o, "advice", e->advice);
    json_put_object_end(o);
}

void json_put_error(struct json_out *o, const struct err *e)
{
    json_put_object(o);
    json_put_member_error(o, e);
    json_put_object_end(o);
}
