/* Tables of text with aligned columns. Command line tool. */
#include "cli/table.h"

#include "base/utf8.h"

enum { TABLE_COLUMNS_MAX = 32 };

static const char *text_at(const json_t *row, size_t column)
{
    const char *text = json_string_value(json_array_get(row, column));
    return text != NULL ? text : "";
}

size_t cli_width(const char *text)
{
    return utf8_count(text, strlen(text));
}

void cli_append_table(struct buf *out, const json_t *rows, const char *sides)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0}, n = MIN(strlen(sides), (size_t)TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t k = 0; k < n; k++)
            widths[k] = MAX(widths[k], cli_width(text_at(json_array_get(rows, i), k)));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        for (size_t k = 0; k < n; k++) {
            const char *text = text_at(json_array_get(rows, i), k);
            int gap = (int)(widths[k] - cli_width(text));
            bool is_last = k + 1 == n;
            buf_printf(out, "%*s%s%*s%s", sides[k] == 'r' ? gap : 0, "", text,
                       sides[k] == 'l' && !is_last ? gap : 0, "", is_last ? "\n" : " ");
        }
    }
}
