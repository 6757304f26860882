/* TOON as JSON values, strictly: counts, indentation and names must be right. Daemon and command
 * line tool.
 *
 * The parser goes down by indentation: whoever reads lines of a depth leaves those that are less
 * deep to its caller, and nobody accepts one that is deeper than it should be. So recursion is no
 * deeper than the indentation of a line, which is limited when the line is read. */
#include "base/utf8.h"
#include "wire/json.h"
#include "wire/toon.h"
#include "wire/toon_scan.h"

#include <stdarg.h>

struct toon_line {
    struct toon_span content; /* without indentation and spaces at the end */
    size_t depth;
    size_t number; /* 1 is the first */
    size_t blank;  /* number of the last blank line before this one, or 0 */
};

struct toon_in {
    const char *at, *end;
    size_t number, blank;  /* of the last line that was looked at; the last blank one */
    struct toon_line next; /* if has_next */
    bool has_next;
    struct toon_line last; /* that was taken: what errors name */
    size_t values_left, bytes_left;
    struct err *e;
};

struct toon_header {
    bool has_key, is_keyed, has_fields;
    struct toon_span key; /* as written, with its quotes */
    size_t length;
    char delimiter;
    struct toon_span fields; /* the inside of the braces */
    struct toon_span rest;   /* after the colon */
};

static json_t *toon_read_array(struct toon_in *in, const struct toon_header *header, size_t depth);
static int toon_read_member(struct toon_in *in, json_t *object, struct toon_span content,
                            size_t depth);

PRINTF_LIKE(4, 5)
static int toon_fail(struct toon_in *in, size_t line, const char *advice, const char *fmt, ...)
{
    char why[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    err_set(in->e, ERR_INVALID, "invalid TOON at line %zu: %s", line, why);
    return err_advise(in->e, "%s", advice);
}

#define TOON_ADVICE_QUOTES                                                                         \
    "Close every quote, and write special characters inside quotes as \\\\, \\\", \\n, \\r, \\t "  \
    "or "                                                                                          \
    "\\uXXXX."
#define TOON_ADVICE_INDENT                                                                         \
    "Indent by two spaces for each level, and only what belongs to the line above."
#define TOON_ADVICE_COUNT "Correct the number in brackets, or the lines and values that it counts."
#define TOON_ADVICE_HEADER "Write headers as name[3]: or name[3]{a,b}:, without spaces inside."
#define TOON_ADVICE_MEMBER "Write members as \"name: value\", and give every name once."

/* ---- lines ----------------------------------------------------------------------------------- */

/* Looks for the next line that says something. 0 at the end of the text, 1 if there is one. */
static int toon_peek(struct toon_in *in)
{
    while (!in->has_next && in->at < in->end) {
        const char *stop = memchr(in->at, '\n', (size_t)(in->end - in->at));
        struct toon_span raw = {in->at, (size_t)((stop != NULL ? stop : in->end) - in->at)};
        in->at = stop != NULL ? stop + 1 : in->end;
        in->number++;
        if (raw.len > 0 && raw.s[raw.len - 1] == '\r')
            raw.len--;
        size_t indent = 0;
        while (indent < raw.len && raw.s[indent] == ' ')
            indent++;
        struct toon_span content = toon_trim(raw);
        if (content.len == 0) {
            in->blank = in->number;
            continue;
        }
        if (content.s[0] == '#')
            continue;
        if (content.s[0] == '\t')
            return toon_fail(in, in->number, TOON_ADVICE_INDENT, "a tab in the indentation");
        if (indent % 2 != 0)
            return toon_fail(in, in->number, TOON_ADVICE_INDENT,
                             "indented by %zu spaces, which is not a multiple of 2", indent);
        if (indent / 2 > TOON_DEPTH_MAX)
            return toon_fail(in, in->number, "Send a flatter structure, or the data as text.",
                             "nested deeper than %d levels", TOON_DEPTH_MAX);
        in->next = (struct toon_line){content, indent / 2, in->number, in->blank};
        in->has_next = true;
    }
    return in->has_next;
}

static void toon_take(struct toon_in *in)
{
    in->last = in->next;
    in->has_next = false;
}

/* The next line if it is deeper than `depth`, which it may be by one level only: 1. 0 if there is
 * none. */
static int toon_peek_below(struct toon_in *in, size_t depth)
{
    int r = toon_peek(in);
    if (r <= 0 || in->next.depth <= depth)
        return MIN(r, 0);
    if (in->next.depth > depth + 1)
        return toon_fail(in, in->next.number, TOON_ADVICE_INDENT,
                         "indented by %zu levels, where %zu were expected", in->next.depth,
                         depth + 1);
    return 1;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Each value, and each name, is paid for before it is made. */
static int toon_pay(struct toon_in *in, size_t bytes)
{
    enum { VALUE_BYTES = 80 }; /* that jansson and the allocator take for one */
    bytes += VALUE_BYTES;
    if (in->values_left == 0 || in->bytes_left < bytes) {
        err_set(
            in->e, ERR_TOO_LARGE,
            "the TOON at line %zu holds more than %d values or takes more than %zu MiB of memory",
            in->last.number, TOON_VALUES_MAX, TOON_MEMORY_MAX / MIB);
        return err_advise(in->e, "Send the data as one text, or in parts.");
    }
    in->values_left--;
    in->bytes_left -= bytes;
    return 0;
}

static json_t *toon_read_scalar(struct toon_in *in, struct toon_span t)
{
    t = toon_trim(t);
    if (toon_pay(in, t.len) < 0)
        return NULL;
    if (toon_is(t, "null"))
        return json_null();
    if (toon_is(t, "true") || toon_is(t, "false"))
        return json_boolean(t.s[0] == 't');
    bool is_real;
    if (toon_is_number(t, &is_real)) {
        json_t *number = toon_read_number(t, is_real);
        if (number != NULL)
            return number;
    }
    if (t.len == 0 || t.s[0] != '"')
        return json_stringn_nocheck(t.len > 0 ? t.s : "", t.len);
    _buf_ struct buf text = BUF_INIT(t.len);
    const char *fault = toon_unquote(t, &text);
    if (fault != NULL) {
        toon_fail(in, in->last.number, TOON_ADVICE_QUOTES, "%s", fault);
        return NULL;
    }
    return json_stringn_nocheck(buf_str(&text), text.len);
}

/* Puts a value that is stolen, NULL if reading it failed. */
static int toon_put_new(struct toon_in *in, json_t *object, const char *key, json_t *value)
{
    if (value == NULL || toon_pay(in, strlen(key)) < 0) {
        json_decref(value);
        return -1;
    }
    return json_object_set_new_nocheck(object, key, value);
}

/* The name into `out`; it must be new in the object. */
static int toon_read_name(struct toon_in *in, const json_t *object, struct toon_span t,
                          struct buf *out)
{
    const char *fault = toon_unquote(t, out);
    if (fault != NULL)
        return toon_fail(in, in->last.number, TOON_ADVICE_QUOTES, "%s", fault);
    if (strlen(buf_str(out)) != out->len)
        return toon_fail(in, in->last.number, "Remove the NUL character.", "a NUL in a name");
    if (json_object_get(object, buf_str(out)) != NULL)
        return toon_fail(in, in->last.number, TOON_ADVICE_MEMBER, "the name \"%.100s\" comes twice",
                         buf_str(out));
    return 0;
}

/* ---- headers and tables ---------------------------------------------------------------------- */

/* What is between the brackets: digits, a colon if it counts members, a delimiter if it is no
 * comma. */
static bool toon_read_bracket(struct toon_span t, struct toon_header *header)
{
    header->delimiter = ',';
    if (t.len > 0 && (t.s[t.len - 1] == '\t' || t.s[t.len - 1] == '|'))
        header->delimiter = t.s[--t.len];
    header->is_keyed = t.len > 0 && t.s[t.len - 1] == ':';
    t.len -= header->is_keyed;
    if (t.len == 0 || (t.len > 1 && t.s[0] == '0'))
        return false;
    for (size_t i = 0; i < t.len; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return false;
        /* Where it is larger than any text, how much larger does not matter. */
        if (header->length < SIZE_MAX / 16)
            header->length = header->length * 10 + (size_t)(t.s[i] - '0');
    }
    return true;
}

/* 1 if the content is a header, 0 if it is something else. */
static int toon_read_header(struct toon_in *in, struct toon_span content, struct toon_header *ret)
{
    *ret = (struct toon_header){0};
    size_t bracket = toon_find(content, '[', 0);
    if (content.s[0] == '"') {
        bracket = toon_find_quote(content) + 1;
        if (bracket >= content.len || content.s[bracket] != '[')
            return 0;
    }
    size_t colon = toon_find(content, ':', 0);
    if (bracket >= content.len || colon == content.len || colon < bracket)
        return 0;
    ret->has_key = bracket > 0;
    ret->key = (struct toon_span){content.s, bracket};
    if (bracket > 0 && (content.s[bracket - 1] == ' ' || content.s[bracket - 1] == '\t'))
        return toon_fail(in, in->last.number, TOON_ADVICE_HEADER, "space before a bracket");
    size_t at = toon_find(content, ']', bracket);
    struct toon_span inside = {content.s + bracket + 1, at - bracket - 1};
    if (at == content.len || !toon_read_bracket(inside, ret))
        return toon_fail(in, in->last.number, TOON_ADVICE_HEADER, "no plain number in brackets");
    at++;
    if (at < content.len && content.s[at] == '{') {
        size_t brace = toon_find_brace(content, at);
        ret->has_fields = true;
        ret->fields = (struct toon_span){content.s + at + 1, brace - at - 1};
        at = brace + 1;
    }
    if (at >= content.len || content.s[at] != ':')
        return toon_fail(in, in->last.number, TOON_ADVICE_HEADER, "a header without its colon");
    ret->rest = toon_trim(toon_from(content, at + 1));
    if (ret->has_fields ? ret->rest.len > 0 : ret->is_keyed)
        return toon_fail(in, in->last.number, TOON_ADVICE_HEADER,
                         ret->has_fields ? "something after a table's header"
                                         : "a keyed header without fields");
    return 1;
}

/* The fields of a table as an object that is like each of its rows, with null for each cell. */
static json_t *toon_read_fields(struct toon_in *in, struct toon_span t, char delimiter,
                                size_t depth)
{
    _json_ json_t *schema = json_object();
    if (depth > TOON_DEPTH_MAX) {
        toon_fail(in, in->last.number, "Send a flatter structure, or the data as text.",
                  "fields nested deeper than %d levels", TOON_DEPTH_MAX);
        return NULL;
    }
    for (size_t at = 0; at <= t.len; at++) {
        size_t begin = at, brace;
        bool is_quoted = false;
        for (; at < t.len && (is_quoted || t.s[at] != delimiter); at++) {
            if (t.s[at] == '"')
                is_quoted = !is_quoted;
            else if (t.s[at] == '\\' && is_quoted)
                at++;
            else if (t.s[at] == '{' && !is_quoted)
                at = toon_find_brace(t, at);
            else if (!is_quoted && (t.s[at] == ',' || t.s[at] == '\t' || t.s[at] == '|')) {
                toon_fail(in, in->last.number, TOON_ADVICE_HEADER,
                          "fields are separated otherwise than the brackets say");
                return NULL;
            }
        }
        at = MIN(at, t.len);
        struct toon_span name = toon_trim((struct toon_span){t.s + begin, at - begin}),
                         group = name;
        brace = toon_find(name, '{', 0);
        name.len = brace;
        bool is_group = brace < group.len;
        if (name.len == 0 || name.s[name.len - 1] == ' ' ||
            (is_group && toon_find_brace(group, brace) != group.len - 1)) {
            toon_fail(in, in->last.number, TOON_ADVICE_HEADER,
                      "a field without a name, or not closed");
            return NULL;
        }
        _buf_ struct buf key = BUF_INIT(name.len);
        if (toon_read_name(in, schema, name, &key) < 0)
            return NULL;
        group = (struct toon_span){group.s + brace + 1, is_group ? group.len - brace - 2 : 0};
        json_t *value = is_group ? toon_read_fields(in, group, delimiter, depth + 1) : json_null();
        if (toon_put_new(in, schema, buf_str(&key), value) < 0)
            return NULL;
    }
    return take_ptr(schema);
}

/* Takes the next value of a row from its front; false if there is none. */
static bool toon_next_cell(struct toon_span *row, char delimiter, struct toon_span *ret_cell)
{
    if (row->s == NULL)
        return false;
    size_t end = toon_find(*row, delimiter, 0);
    *ret_cell = (struct toon_span){row->s, end};
    *row = end < row->len ? toon_from(*row, end + 1) : (struct toon_span){0};
    return true;
}

/* A row as the schema has it. What is left of the row stays there. */
static json_t *toon_read_cells(struct toon_in *in, const json_t *schema, struct toon_span *row,
                               char delimiter)
{
    _json_ json_t *object = json_object();
    const char *key;
    json_t *field;
    if (toon_pay(in, 0) < 0)
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)schema, key, field) {
        struct toon_span cell;
        json_t *value = NULL;
        if (json_is_object(field))
            value = toon_read_cells(in, field, row, delimiter);
        else if (toon_next_cell(row, delimiter, &cell))
            value = toon_read_scalar(in, cell);
        else
            toon_fail(in, in->last.number, TOON_ADVICE_COUNT, "a row has fewer values than fields");
        if (toon_put_new(in, object, key, value) < 0)
            return NULL;
    }
    return take_ptr(object);
}

static json_t *toon_read_row(struct toon_in *in, const json_t *schema, struct toon_span row,
                             char delimiter)
{
    _json_ json_t *object = toon_read_cells(in, schema, &row, delimiter);
    if (object != NULL && row.s != NULL) {
        toon_fail(in, in->last.number, TOON_ADVICE_COUNT, "a row has more values than fields");
        return NULL;
    }
    return take_ptr(object);
}

/* What an array or a keyed table has, after its last line: as many as its header says, and no
 * blank lines among them. `first` is the number of the first line, if there was one. */
static int toon_check_count(struct toon_in *in, size_t n, const struct toon_header *header,
                            size_t first)
{
    if (n != header->length)
        return toon_fail(in, in->last.number, TOON_ADVICE_COUNT,
                         "%zu values, where the header says %zu", n, header->length);
    if (n > 0 && in->last.blank > first)
        return toon_fail(in, in->last.blank, "Remove the blank line.",
                         "a blank line inside an array or a table");
    return 0;
}

/* Splits "name: value" of a line. The name keeps its quotes. */
static int toon_split_member(struct toon_in *in, struct toon_span content,
                             struct toon_span *ret_name, struct toon_span *ret_value)
{
    size_t colon;
    if (content.s[0] == '"') {
        size_t quote = toon_find_quote(content);
        if (quote == content.len)
            return toon_fail(in, in->last.number, TOON_ADVICE_QUOTES, "a quote that is not closed");
        for (colon = quote + 1; colon < content.len && content.s[colon] == ' '; colon++)
            ;
        if (colon < content.len && content.s[colon] != ':')
            colon = content.len;
        *ret_name = (struct toon_span){content.s, quote + 1};
    } else {
        colon = toon_find(content, ':', 0);
        *ret_name = toon_trim((struct toon_span){content.s, colon});
    }
    if (colon == content.len)
        return toon_fail(in, in->last.number, TOON_ADVICE_MEMBER, "no colon after a name");
    *ret_value = toon_trim(toon_from(content, colon + 1));
    return 0;
}

static json_t *toon_read_keyed(struct toon_in *in, const struct toon_header *header,
                               const json_t *schema, size_t depth)
{
    _json_ json_t *object = json_object();
    size_t n = 0, first = 0;
    int r;
    while ((r = toon_peek_below(in, depth)) > 0) {
        struct toon_span name, row;
        toon_take(in);
        if (n++ == 0)
            first = in->last.number;
        if (toon_split_member(in, in->last.content, &name, &row) < 0)
            return NULL;
        _buf_ struct buf key = BUF_INIT(name.len);
        if (toon_read_name(in, object, name, &key) < 0)
            return NULL;
        if (row.len == 0)
            row.s = NULL;
        json_t *value = toon_read_row(in, schema, row, header->delimiter);
        if (toon_put_new(in, object, buf_str(&key), value) < 0)
            return NULL;
    }
    if (r < 0 || toon_check_count(in, n, header, first) < 0)
        return NULL;
    return take_ptr(object);
}

/* True if a line in a table's scope is a row, not a member of what is around the table. */
static bool toon_is_data(struct toon_span content, char delimiter)
{
    size_t colon = toon_find(content, ':', 0);
    return colon == content.len || toon_find(content, delimiter, 0) < colon;
}

static json_t *toon_read_table(struct toon_in *in, const struct toon_header *header,
                               const json_t *schema, size_t depth)
{
    _json_ json_t *array = json_array();
    size_t n = 0, first = 0;
    int r;
    while ((r = toon_peek_below(in, depth)) > 0) {
        struct toon_span row = in->next.content;
        if (!toon_is_data(row, header->delimiter))
            break;
        toon_take(in);
        if (n++ == 0)
            first = in->last.number;
        if (n > header->length)
            break;
        json_t *value = toon_read_row(in, schema, row, header->delimiter);
        if (value == NULL || json_array_append_new(array, value) < 0)
            return NULL;
    }
    if (r < 0 || toon_check_count(in, n, header, first) < 0)
        return NULL;
    return take_ptr(array);
}

/* ---- arrays and objects ---------------------------------------------------------------------- */

static json_t *toon_read_inline(struct toon_in *in, const struct toon_header *header)
{
    _json_ json_t *array = json_array();
    struct toon_span row = header->rest, cell;
    while (toon_next_cell(&row, header->delimiter, &cell)) {
        json_t *value = toon_read_scalar(in, cell);
        if (value == NULL || json_array_append_new(array, value) < 0)
            return NULL;
    }
    if (toon_check_count(in, json_array_size(array), header, in->last.number) < 0)
        return NULL;
    return take_ptr(array);
}

/* Members at this depth, as many as follow. */
static int toon_read_members(struct toon_in *in, json_t *object, size_t depth)
{
    int r;
    while ((r = toon_peek(in)) > 0 && in->next.depth >= depth) {
        if (in->next.depth > depth)
            return toon_fail(in, in->next.number, TOON_ADVICE_INDENT,
                             "indented by %zu levels, where %zu were expected", in->next.depth,
                             depth);
        toon_take(in);
        if (toon_read_member(in, object, in->last.content, depth) < 0)
            return -1;
    }
    return MIN(r, 0);
}

/* One item of a list, whose line was taken. */
static json_t *toon_read_item(struct toon_in *in, size_t depth)
{
    struct toon_span content = toon_trim(toon_from(in->last.content, 1));
    if (toon_pay(in, 0) < 0)
        return NULL;
    if (content.len == 0)
        return json_object();
    if (toon_is(content, "[]"))
        return json_array();
    if (toon_find(content, ':', 0) == content.len)
        return toon_read_scalar(in, content);
    if (content.s[0] == '[') {
        struct toon_header header;
        if (toon_read_header(in, content, &header) < 0)
            return NULL;
        if (!header.has_fields)
            return toon_read_array(in, &header, depth);
        toon_fail(in, in->last.number, TOON_ADVICE_HEADER, "a table without a name inside a list");
        return NULL;
    }
    _json_ json_t *object = json_object();
    if (toon_read_member(in, object, content, depth + 1) < 0 ||
        toon_read_members(in, object, depth + 1) < 0)
        return NULL;
    return take_ptr(object);
}

static json_t *toon_read_list(struct toon_in *in, const struct toon_header *header, size_t depth)
{
    _json_ json_t *array = json_array();
    size_t n = 0, first = 0;
    int r;
    while ((r = toon_peek_below(in, depth)) > 0) {
        struct toon_span content = in->next.content;
        if (content.s[0] != '-' || (content.len > 1 && content.s[1] != ' '))
            break;
        toon_take(in);
        if (n++ == 0)
            first = in->last.number;
        if (n > header->length)
            break;
        json_t *value = toon_read_item(in, depth + 1);
        if (value == NULL || json_array_append_new(array, value) < 0)
            return NULL;
    }
    if (r < 0 || toon_check_count(in, n, header, first) < 0)
        return NULL;
    return take_ptr(array);
}

/* What a header at this depth announces. */
static json_t *toon_read_array(struct toon_in *in, const struct toon_header *header, size_t depth)
{
    if (header->rest.len > 0)
        return toon_read_inline(in, header);
    if (!header->has_fields)
        return toon_read_list(in, header, depth);
    _json_ json_t *schema = toon_read_fields(in, header->fields, header->delimiter, 0);
    if (schema == NULL)
        return NULL;
    return header->is_keyed ? toon_read_keyed(in, header, schema, depth)
                            : toon_read_table(in, header, schema, depth);
}

/* The value of a member, and the lines below that belong to it. */
static json_t *toon_read_value(struct toon_in *in, struct toon_span t, size_t depth)
{
    if (t.len > 0 && !toon_is(t, "[]"))
        return toon_read_scalar(in, t);
    if (toon_pay(in, 0) < 0)
        return NULL;
    if (t.len > 0)
        return json_array();
    _json_ json_t *object = json_object();
    int r = toon_peek_below(in, depth);
    if (r < 0 || (r > 0 && toon_read_members(in, object, depth + 1) < 0))
        return NULL;
    return take_ptr(object);
}

/* A member of an object from its line, which was taken. */
static int toon_read_member(struct toon_in *in, json_t *object, struct toon_span content,
                            size_t depth)
{
    struct toon_header header;
    struct toon_span name, value = {0};
    int is_header = toon_read_header(in, content, &header);
    if (is_header > 0 && !header.has_key)
        return toon_fail(in, in->last.number, TOON_ADVICE_HEADER, "an array without a name");
    if (is_header > 0)
        name = header.key;
    else if (is_header < 0 || toon_split_member(in, content, &name, &value) < 0)
        return -1;
    _buf_ struct buf key = BUF_INIT(name.len);
    if (toon_read_name(in, object, name, &key) < 0)
        return -1;
    return toon_put_new(in, object, buf_str(&key),
                        is_header ? toon_read_array(in, &header, depth)
                                  : toon_read_value(in, value, depth));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static json_t *toon_read_object(struct toon_in *in)
{
    _json_ json_t *object = json_object();
    if (toon_read_member(in, object, in->last.content, 0) < 0 ||
        toon_read_members(in, object, 0) < 0)
        return NULL;
    return take_ptr(object);
}

static json_t *toon_read_root(struct toon_in *in)
{
    int r = toon_peek(in);
    if (r <= 0)
        return r < 0 ? NULL : json_object();
    if (in->next.depth > 0) {
        toon_fail(in, in->next.number, TOON_ADVICE_INDENT, "the first line is indented");
        return NULL;
    }
    toon_take(in);
    struct toon_span content = in->last.content;
    bool has_colon = toon_find(content, ':', 0) < content.len;
    if (toon_is(content, "[]"))
        return json_array();
    if (content.s[0] == '[' && has_colon) {
        struct toon_header header;
        return toon_read_header(in, content, &header) < 0 ? NULL : toon_read_array(in, &header, 0);
    }
    if (!has_colon && (r = toon_peek(in)) <= 0)
        return r < 0 ? NULL : toon_read_scalar(in, content);
    return toon_read_object(in);
}

json_t *toon_decode(const char *text, size_t len, struct err *e)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of files, not of the text */
    struct toon_in in = {
        .at = text,
        .end = text + len,
        .values_left = TOON_VALUES_MAX,
        .bytes_left = TOON_MEMORY_MAX,
        .e = e,
    };
    size_t valid = utf8_valid_prefix(text, len);
    if (valid < len) {
        size_t line = 1;
        for (size_t i = 0; i < valid; i++)
            line += text[i] == '\n';
        toon_fail(&in, line, "Encode the text as UTF-8.", "bytes that are not UTF-8");
        return NULL;
    }
    if (len >= 3 && memcmp(text, mark, 3) == 0)
        in.at += 3;
    _json_ json_t *value = toon_read_root(&in);
    int r = value != NULL ? toon_peek(&in) : 0;
    if (r > 0)
        toon_fail(&in, in.next.number, "Send one value: its lines are not indented less than it.",
                  "something after the value");
    return r == 0 ? take_ptr(value) : NULL;
}
