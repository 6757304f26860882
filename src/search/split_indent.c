/* Code whose blocks are told by indentation: Python; and, as it is nearly always written, Ruby and
 * Lua. In a box, and in tests. */
#include "search/split_parts.h"

#include <string.h>

struct indent_open {
    size_t span, indent;
};

struct indent {
    struct split *s;
    struct indent_open open[SPLIT_DEPTH_MAX];
    size_t n_open;
    size_t depth; /* of brackets */
    size_t last;  /* the last line that is not blank, before this one */
};

static size_t indent_skip_space(const struct split *s, size_t at, size_t end)
{
    while (at < end && (s->code[at] == ' ' || s->code[at] == '\t'))
        at++;
    return at;
}

/* A tab is worth eight, as Python has it. */
static size_t indent_of(const struct split *s, const struct split_line *line, size_t *ret_at)
{
    size_t indent = 0, at = line->from;
    for (; at < line->to && (s->data[at] == ' ' || s->data[at] == '\t'); at++)
        indent = s->data[at] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
    *ret_at = at;
    return indent;
}

static void indent_count_brackets(struct indent *in, const struct split_line *line)
{
    for (size_t i = line->from; i < line->to; i++) {
        char c = in->s->code[i];
        if (c == '(' || c == '[' || c == '{')
            in->depth++;
        else if ((c == ')' || c == ']' || c == '}') && in->depth > 0)
            in->depth--;
    }
}

/* The name after `def` or the like; false if the line begins no unit. */
static bool indent_begins(const struct split *s, size_t at, size_t end, struct split_span *ret)
{
    static const char *const words[] = {"def", "class", "module", "function"};
    for (bool again = true; again;) {
        again = false;
        static const char *const before[] = {"async", "local", "private", "public", "protected"};
        for (size_t i = 0; i < ARRAY_LEN(before); i++) {
            if (!split_has_word(s->code, at, end, before[i]))
                continue;
            at = indent_skip_space(s, at + strlen(before[i]), end);
            again = at < end;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(words) && at < end; i++) {
        if (!split_has_word(s->code, at, end, words[i]))
            continue;
        if (i >= 2 && !s->language->has_ends)
            return false;
        size_t name = indent_skip_space(s, at + strlen(words[i]), end), to = name;
        while (to < end && (split_is_name(s->code[to]) || strchr(".:?!", s->code[to]) != NULL) &&
               (s->code[to] != ':' || s->language->has_ends))
            to++;
        ret->name = name;
        ret->name_len = to - name;
        ret->is_function = i == 0 || i == 3;
        ret->is_container = !ret->is_function;
        ret->type = ret->is_function ? "function" : words[i];
        return to > name;
    }
    return false;
}

/* To the colon that ends it, over lines that brackets hold together. */
static size_t indent_head_end(const struct split *s, size_t at)
{
    enum { HEAD_MAX = 4096 };
    size_t depth = 0, i = at;
    for (; i < MIN(s->len, at + HEAD_MAX); i++) {
        char c = s->code[i];
        depth += c == '(' || c == '[' || c == '{';
        if ((c == ')' || c == ']' || c == '}') && depth > 0)
            depth--;
        if (depth == 0 && (c == '\n' || (c == ':' && !s->language->has_ends)))
            break;
    }
    return i;
}

/* Decorators right above it belong to it. */
static size_t indent_first_line(const struct split *s, size_t line, size_t indent)
{
    enum { DECORATOR_LINES = 30 };
    size_t at, least = line > DECORATOR_LINES ? line - DECORATOR_LINES : 0;
    for (size_t above = line; above > least; above--) {
        size_t deep = indent_of(s, &s->lines[above - 1], &at);
        if (at >= s->lines[above - 1].to || (deep <= indent && s->data[at] != '@'))
            break;
        if (deep == indent && s->data[at] == '@')
            line = above - 1;
    }
    return split_comment_above(s, line);
}

static void indent_close(struct indent *in, size_t indent)
{
    while (in->n_open > 0 && in->open[in->n_open - 1].indent >= indent) {
        struct split_span *span = &in->s->spans[in->open[--in->n_open].span];
        span->last = MAX(in->last, span->first);
    }
}

static void indent_open(struct indent *in, size_t line, size_t at, size_t indent,
                        const struct split_span *found)
{
    struct split *s = in->s;
    size_t parent = in->n_open > 0 ? in->open[in->n_open - 1].span : SIZE_MAX;
    if (in->n_open == SPLIT_DEPTH_MAX || (parent != SIZE_MAX && s->spans[parent].is_function))
        return; /* what is in a function is a part of it */
    size_t first = indent_first_line(s, line, indent);
    if (parent != SIZE_MAX)
        first = MAX(first, split_line_of(s, s->spans[parent].head) + 1);
    struct split_span *span = split_add(s);
    if (span == NULL)
        return;
    *span = *found;
    span->parent = parent;
    if (span->is_function && parent != SIZE_MAX)
        span->type = "method";
    span->head = at;
    span->head_end = indent_head_end(s, at);
    span->first = MIN(first, line);
    span->last = s->n_lines - 1;
    in->open[in->n_open++] = (struct indent_open){s->n_spans - 1, indent};
}

void split_by_indentation(struct split *s)
{
    struct indent in = {.s = s};
    for (size_t line = 0; line < s->n_lines; line++) {
        const struct split_line *l = &s->lines[line];
        size_t at, indent = indent_of(s, l, &at), code = indent_skip_space(s, l->from, l->to);
        struct split_span found = {0};
        bool is_blank = code >= l->to || s->code[code] == '\r';
        bool is_inside = in.depth > 0;
        /* What begins at the left is new, whatever is still open: brackets of broken code. */
        if (is_inside && !is_blank && indent == 0 &&
            indent_begins(s, code, l->to, &(struct split_span){0})) {
            in.depth = 0;
            is_inside = false;
        }
        if (!is_blank && !is_inside && code == at) {
            bool is_end = s->language->has_ends && split_has_word(s->code, at, l->to, "end");
            if (is_end)
                in.last = line;
            indent_close(&in, indent);
            if (indent_begins(s, at, l->to, &found))
                indent_open(&in, line, at, indent, &found);
        }
        if (!is_blank)
            in.last = line;
        indent_count_brackets(&in, l);
    }
    indent_close(&in, 0);
}
