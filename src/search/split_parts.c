/* What the ways to split share: lines, names, room for units. In a box, and in tests. */
#include "search/split_parts.h"

#include <string.h>

bool split_is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

bool split_has_word(const char *code, size_t at, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len - at >= n && memcmp(code + at, word, n) == 0 &&
           (len - at == n || !split_is_name(code[at + n]));
}

struct split_span *split_add(struct split *s)
{
    if (s->n_spans == SPLIT_UNITS_MAX)
        return NULL;
    if (s->n_spans == s->cap_spans) {
        s->cap_spans = s->cap_spans == 0 ? 64 : 2 * s->cap_spans;
        s->spans = mem_realloc(s->spans, s->cap_spans * sizeof(*s->spans));
    }
    struct split_span *span = &s->spans[s->n_spans++];
    *span = (struct split_span){.parent = SIZE_MAX};
    return span;
}

size_t split_line_of(const struct split *s, size_t at)
{
    size_t low = 0, high = s->n_lines;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->lines[middle].from <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool split_is_blank(const char *text, const struct split_line *line)
{
    for (size_t i = line->from; i < line->to; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

size_t split_comment_above(const struct split *s, size_t line)
{
    enum { COMMENT_LINES = 100 };
    size_t least = line > COMMENT_LINES ? line - COMMENT_LINES : 0;
    while (line > least && split_is_blank(s->code, &s->lines[line - 1]) &&
           !split_is_blank(s->data, &s->lines[line - 1]) &&
           !(s->language->has_directives && s->data[s->lines[line - 1].from] == '#'))
        line--;
    return line;
}
