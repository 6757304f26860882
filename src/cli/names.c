/* A session's names as people read them: a table with types and sizes. Command line tool. */
#include "cli/names.h"

#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/terminal.h"

enum { NAME_WIDTH_MAX = 32, TYPE_WIDTH_MAX = 24, ELEMENTS_WIDTH = 12, TABLE_MAX = 4 << 20 };

static void append_padded(struct buf *out, const char *text, size_t width)
{
    size_t n = cli_width(text);
    buf_append_str(out, text);
    buf_printf(out, "%*s", (int)(n < width ? width - n : 0) + 2, "");
}

static void names_append_member(struct buf *out, const json_t *item, const char *member,
                                size_t width)
{
    size_t len = 0;
    const char *text = cli_json_text(item, member, &len);
    _buf_ struct buf safe = BUF_INIT(64 * KIB);
    if (text != NULL)
        cli_append_safe(&safe, text, len, false);
    append_padded(out, buf_str(&safe), width);
}

static size_t widest(const json_t *items, const char *member, size_t least, size_t most)
{
    size_t width = least;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *text = cli_json_text(json_array_get(items, i), member, NULL);
        width = MAX(width, text != NULL ? cli_width(text) : 0);
    }
    return MIN(width, most);
}

/* "added: a, b" */
static void append_changes(struct buf *out, const json_t *names, const char *member)
{
    const json_t *list = json_object_get(names, member);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        buf_append_str(out, i == 0 ? member : ",");
        buf_append_str(out, i == 0 ? ": " : " ");
        cli_append_safe(out, text != NULL ? text : "?", text != NULL ? strlen(text) : 1, false);
    }
    if (json_array_size(list) > 0)
        buf_append_char(out, '\n');
}

void cli_show_names(int fd, const json_t *names)
{
    _buf_ struct buf out = BUF_INIT(TABLE_MAX);
    const json_t *items = json_object_get(names, "items");
    long long total = (long long)cli_json_int(names, "total", 0);
    long long shown = (long long)json_array_size(items);
    if (shown > 0) {
        size_t name_width = widest(items, "name", strlen("NAME"), NAME_WIDTH_MAX);
        size_t type_width = widest(items, "type", strlen("TYPE"), TYPE_WIDTH_MAX);
        append_padded(&out, "NAME", name_width);
        append_padded(&out, "TYPE", type_width);
        append_padded(&out, "SIZE", ELEMENTS_WIDTH);
        buf_append_str(&out, "VALUE\n");
        for (size_t i = 0; i < json_array_size(items); i++) {
            const json_t *item = json_array_get(items, i);
            names_append_member(&out, item, "name", name_width);
            names_append_member(&out, item, "type", type_width);
            /* "3x2", the number of elements, or the bytes, whichever says most. */
            _buf_ struct buf size = BUF_INIT(1 * KIB);
            const json_t *shape = json_object_get(item, "shape");
            for (size_t k = 0; k < json_array_size(shape) && k < 16; k++)
                buf_printf(&size, "%s%lld", k > 0 ? "x" : "",
                           (long long)json_integer_value(json_array_get(shape, k)));
            int64_t len = cli_json_int(item, "len", -1), bytes = cli_json_int(item, "bytes", -1);
            if (size.len == 0 && len >= 0)
                buf_printf(&size, "%lld", (long long)len);
            else if (size.len == 0 && bytes >= 0)
                cli_describe_size(&size, (uint64_t)bytes);
            append_padded(&out, size.len > 0 ? buf_str(&size) : "-", ELEMENTS_WIDTH);
            names_append_member(&out, item, "text", 0);
            while (out.len > 0 && out.data[out.len - 1] == ' ')
                out.len--;
            buf_append_char(&out, '\n');
        }
    }
    if (total > shown)
        buf_printf(&out, "%lld names%s\n", total, shown > 0 ? " in all" : "");
    append_changes(&out, names, "added");
    append_changes(&out, names, "changed");
    append_changes(&out, names, "removed");
    fd_write_all(fd, buf_str(&out), out.len);
}
