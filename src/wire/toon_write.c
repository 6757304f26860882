/* JSON values as TOON. Daemon and command line tool. */
#include "wire/json.h"
#include "wire/toon.h"

#include <math.h>

struct toon_out {
    struct buf *buf;
    bool has_lines;
    bool is_too_deep;
};

static void toon_put_member(struct toon_out *o, const char *key, const json_t *value, size_t depth);
static void toon_put_item(struct toon_out *o, const json_t *value, size_t depth);

/* Starts a line. False if it would be indented too deep: the whole text is given up then. */
static bool toon_put_line(struct toon_out *o, size_t depth)
{
    static const char spaces[2 * TOON_DEPTH_MAX + 1] = {[0 ... 2 * TOON_DEPTH_MAX - 1] = ' '};
    if (depth > TOON_DEPTH_MAX) {
        o->is_too_deep = true;
        return false;
    }
    if (o->has_lines)
        buf_append_char(o->buf, '\n');
    o->has_lines = true;
    return buf_append(o->buf, spaces, 2 * depth);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The fewest decimal digits that read as this number, as text "d.ddde+x". */
static void toon_shortest(double value, char *text, size_t size)
{
    /* Whatever has up to 15 digits comes back from a double with them, unless it is so small that
     * doubles have fewer bits. */
    int digits = value < 0x1p-1022 ? 1 : 15;
    for (; digits <= 17; digits++) {
        snprintf(text, size, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value)
            return;
        /* The numbers that read as a power of two reach twice as far up as down, so that the next
         * decimal above may do though the nearest, below, does not. */
        int exponent;
        if (digits == 16 && frexp(value, &exponent) == 0.5 && text[digits] != '9') {
            text[digits]++;
            if (strtod(text, NULL) == value)
                return;
        }
    }
}

static void toon_put_integer(struct buf *out, int64_t value)
{
    struct json_out o = JSON_OUT(out);
    json_put_int(&o, value);
}

static void toon_put_real(struct buf *out, double value)
{
    if (value == 0 || !isfinite(value)) {
        buf_append_str(out, value == 0 ? "0" : "null");
        return;
    }
    if (fabs(value) < 0x1p53 && value == (double)(int64_t)value) {
        toon_put_integer(out, (int64_t)value); /* most reals that are not measured */
        return;
    }
    char text[40], digits[24];
    size_t n = 0;
    toon_shortest(fabs(value), text, sizeof(text));
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at != '.')
            digits[n++] = *at;
    long point = strtol(at + 1, NULL, 10) + 1; /* digits before the decimal point */
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (value < 0)
        buf_append_char(out, '-');
    if (point > 21 || point < -5) {
        buf_append(out, digits, 1);
        if (n > 1)
            buf_printf(out, ".%.*s", (int)n - 1, digits + 1);
        buf_printf(out, "e%+ld", point - 1);
    } else if (point <= 0) {
        buf_printf(out, "0.%.*s%.*s", (int)-point, "00000", (int)n, digits);
    } else if ((size_t)point >= n) {
        buf_printf(out, "%.*s%.*s", (int)n, digits, (int)((size_t)point - n),
                   "00000000000000000000");
    } else {
        buf_printf(out, "%.*s.%.*s", (int)point, digits, (int)(n - (size_t)point), digits + point);
    }
}

/* ---- texts and names ------------------------------------------------------------------------- */

static void toon_put_quoted(struct buf *out, const char *s, size_t len)
{
    buf_append_char(out, '"');
    size_t begin = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buf_append(out, s + begin, i - begin);
        begin = i + 1;
        if (c == '\n' || c == '\r' || c == '\t')
            buf_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c < 0x20)
            buf_printf(out, "\\u%04x", c);
        else
            buf_printf(out, "\\%c", c);
    }
    buf_append(out, s + begin, len - begin);
    buf_append_char(out, '"');
}

static bool toon_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t toon_skip_digits(const char *s, size_t len, size_t at)
{
    while (at < len && toon_is_digit(s[at]))
        at++;
    return at;
}

/* True if a reader might take the text for a number, with leading zeros or a plus too. */
static bool toon_is_like_number(const char *s, size_t len)
{
    size_t at = s[0] == '+' || s[0] == '-';
    size_t end = toon_skip_digits(s, len, at);
    if (end == at)
        return false;
    if (end < len && s[end] == '.') {
        at = end + 1;
        end = toon_skip_digits(s, len, at);
        if (end == at)
            return false;
    }
    if (end < len && (s[end] == 'e' || s[end] == 'E')) {
        at = end + 1;
        at += at < len && (s[at] == '+' || s[at] == '-');
        end = toon_skip_digits(s, len, at);
        if (end == at)
            return false;
    }
    return end == len;
}

static bool toon_needs_quotes(const char *s, size_t len)
{
    static const bool toon_special[256] = {
        [0 ... 0x1f] = true, [','] = true, [':'] = true, ['"'] = true, ['\\'] = true,
        ['['] = true,        [']'] = true, ['{'] = true, ['}'] = true,
    };
    if (len == 0 || s[0] == ' ' || s[len - 1] == ' ' || s[0] == '-' || s[0] == '#')
        return true;
    for (size_t i = 0; i < len; i++)
        if (toon_special[(unsigned char)s[i]])
            return true;
    if (len <= 5 && (strcmp(s, "true") == 0 || strcmp(s, "false") == 0 || strcmp(s, "null") == 0))
        return true;
    return toon_is_like_number(s, len);
}

static bool toon_is_bare_name(const char *key)
{
    if (toon_is_digit(key[0]) || key[0] == '.' || key[0] == '\0')
        return false;
    for (const char *at = key; *at != '\0'; at++) {
        bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!is_letter && !toon_is_digit(*at) && *at != '_' && *at != '.')
            return false;
    }
    return true;
}

static void toon_put_name(struct buf *out, const char *key)
{
    if (toon_is_bare_name(key))
        buf_append_str(out, key);
    else
        toon_put_quoted(out, key, strlen(key));
}

static void toon_put_scalar(struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        const char *s = json_string_value(value);
        size_t len = json_string_length(value);
        if (toon_needs_quotes(s, len))
            toon_put_quoted(out, s, len);
        else
            buf_append(out, s, len);
    } else if (json_is_integer(value)) {
        toon_put_integer(out, json_integer_value(value));
    } else if (json_is_real(value)) {
        toon_put_real(out, json_real_value(value));
    } else {
        buf_append_str(out, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    }
}

/* ---- tables ------------------------------------------------------------------------------------
 *
 * A table's first row is its schema: the other rows have its names, in whatever order, and where it
 * has an object they have one with the same names. */

static bool toon_is_scalar(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

static bool toon_is_row(const json_t *schema, const json_t *row, size_t depth)
{
    if (!json_is_object(row) || !json_is_object(schema) || depth > TOON_DEPTH_MAX ||
        json_object_size(row) == 0 || json_object_size(row) != json_object_size(schema))
        return false;
    const char *key;
    json_t *sample;
    json_object_foreach((json_t *)(uintptr_t)schema, key, sample) {
        const json_t *cell = json_object_get(row, key);
        if (cell == NULL)
            return false;
        bool fits =
            toon_is_scalar(sample) ? toon_is_scalar(cell) : toon_is_row(sample, cell, depth + 1);
        if (!fits)
            return false;
    }
    return true;
}

static bool toon_is_table(const json_t *array)
{
    const json_t *schema = json_array_get(array, 0);
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!toon_is_row(schema, json_array_get(array, i), 0))
            return false;
    return schema != NULL;
}

/* The first row of an object whose members are the rows of a table, two at least; else NULL. */
static const json_t *toon_keyed_schema(const json_t *object)
{
    const json_t *schema = NULL;
    const char *key;
    json_t *row;
    if (json_object_size(object) < 2)
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)object, key, row) {
        if (schema == NULL)
            schema = row;
        if (!toon_is_row(schema, row, 0))
            return NULL;
    }
    return schema;
}

static void toon_put_fields(struct buf *out, const json_t *schema)
{
    const char *key;
    json_t *sample;
    char before = '{';
    json_object_foreach((json_t *)(uintptr_t)schema, key, sample) {
        buf_append_char(out, before);
        before = ',';
        toon_put_name(out, key);
        if (json_is_object(sample))
            toon_put_fields(out, sample);
    }
    buf_append_char(out, '}');
}

static void toon_put_cells(struct buf *out, const json_t *schema, const json_t *row)
{
    const char *key;
    json_t *sample;
    bool needs_comma = false;
    json_object_foreach((json_t *)(uintptr_t)schema, key, sample) {
        const json_t *cell = json_object_get(row, key);
        if (needs_comma)
            buf_append_char(out, ',');
        needs_comma = true;
        if (json_is_object(sample))
            toon_put_cells(out, sample, cell);
        else
            toon_put_scalar(out, cell);
    }
}

/* ---- values ------------------------------------------------------------------------------------
 *
 * The caller has begun the line, with a list's hyphen or not. What belongs to the value and has
 * lines of its own is one level deeper than `depth`. */

static void toon_put_keyed(struct toon_out *o, const json_t *object, const json_t *schema,
                           size_t depth)
{
    const char *key;
    json_t *row;
    buf_printf(o->buf, "[%zu:]", json_object_size(object));
    toon_put_fields(o->buf, schema);
    buf_append_char(o->buf, ':');
    json_object_foreach((json_t *)(uintptr_t)object, key, row) {
        if (!toon_put_line(o, depth + 1))
            return;
        toon_put_name(o->buf, key);
        buf_append_str(o->buf, ": ");
        toon_put_cells(o->buf, schema, row);
    }
}

static bool toon_is_inline(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!toon_is_scalar(json_array_get(array, i)))
            return false;
    return true;
}

/* An array that is not empty, or an item of a list, from its bracket on. Items of lists are never
 * tables: their header has no name. */
static void toon_put_array(struct toon_out *o, const json_t *array, size_t depth, bool is_item)
{
    size_t n = json_array_size(array);
    buf_printf(o->buf, "[%zu]", n);
    if (toon_is_inline(array)) {
        buf_append_char(o->buf, ':');
        for (size_t i = 0; i < n; i++) {
            buf_append_char(o->buf, i == 0 ? ' ' : ',');
            toon_put_scalar(o->buf, json_array_get(array, i));
        }
    } else if (!is_item && toon_is_table(array)) {
        const json_t *schema = json_array_get(array, 0);
        toon_put_fields(o->buf, schema);
        buf_append_char(o->buf, ':');
        for (size_t i = 0; i < n && toon_put_line(o, depth + 1); i++)
            toon_put_cells(o->buf, schema, json_array_get(array, i));
    } else {
        buf_append_char(o->buf, ':');
        for (size_t i = 0; i < n && toon_put_line(o, depth + 1); i++)
            toon_put_item(o, json_array_get(array, i), depth + 1);
    }
}

static void toon_put_members(struct toon_out *o, const json_t *object, size_t depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!toon_put_line(o, depth))
            return;
        toon_put_member(o, key, value, depth);
    }
}

static void toon_put_member(struct toon_out *o, const char *key, const json_t *value, size_t depth)
{
    toon_put_name(o->buf, key);
    if (json_is_array(value) && json_array_size(value) > 0) {
        toon_put_array(o, value, depth, false);
    } else if (json_is_object(value)) {
        const json_t *schema = toon_keyed_schema(value);
        if (schema != NULL) {
            toon_put_keyed(o, value, schema, depth);
        } else {
            buf_append_char(o->buf, ':');
            toon_put_members(o, value, depth + 1);
        }
    } else {
        buf_append_str(o->buf, ": ");
        if (json_is_array(value))
            buf_append_str(o->buf, "[]");
        else
            toon_put_scalar(o->buf, value);
    }
}

/* An object's first member stands on the line of the hyphen, the others below it. */
static void toon_put_item(struct toon_out *o, const json_t *value, size_t depth)
{
    const char *key;
    json_t *member;
    bool is_first = true;
    buf_append_char(o->buf, '-');
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, member) {
            if (is_first)
                buf_append_char(o->buf, ' ');
            else if (!toon_put_line(o, depth + 1))
                return;
            is_first = false;
            toon_put_member(o, key, member, depth + 1);
        }
        return;
    }
    buf_append_char(o->buf, ' ');
    if (json_is_array(value))
        toon_put_array(o, value, depth, true);
    else
        toon_put_scalar(o->buf, value);
}

static void toon_put_root(struct toon_out *o, const json_t *value)
{
    if (json_is_object(value)) {
        const json_t *schema = toon_keyed_schema(value);
        if (schema != NULL && toon_put_line(o, 0))
            toon_put_keyed(o, value, schema, 0);
        else
            toon_put_members(o, value, 0);
        return;
    }
    toon_put_line(o, 0);
    const char *text = json_string_value(value);
    if (json_is_array(value) && json_array_size(value) == 0)
        buf_append_str(o->buf, "[]");
    else if (json_is_array(value))
        toon_put_array(o, value, 0, false);
    else if (text != NULL && strncmp(text, "\xef\xbb\xbf", 3) == 0)
        toon_put_quoted(o->buf, text, json_string_length(value)); /* not the mark of a file */
    else
        toon_put_scalar(o->buf, value);
}

static void toon_give_up(struct buf *out, size_t before)
{
    out->len = before;
    if (out->data != NULL)
        out->data[before] = '\0';
}

bool toon_encode(const json_t *value, struct buf *out)
{
    struct toon_out o = {.buf = out};
    size_t before = out->len;
    toon_put_root(&o, value);
    if (!o.is_too_deep && !out->overflowed)
        return true;
    toon_give_up(out, before);
    return false;
}

bool toon_encode_if_shorter(const json_t *value, struct buf *out)
{
    size_t before = out->len;
    bool had_overflowed = out->overflowed;
    if (!toon_encode(value, out)) {
        out->overflowed = had_overflowed;
        return false;
    }
    /* JSON is written until it has as many bytes: more would say nothing more. */
    size_t len = out->len - before;
    _buf_ struct buf json = BUF_INIT(len);
    struct json_out o = JSON_OUT(&json);
    json_put_value(&o, value);
    if (len > 0 && json.overflowed)
        return true;
    toon_give_up(out, before);
    return false;
}
