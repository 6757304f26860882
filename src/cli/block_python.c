#include "cli/block.h"

#include <ctype.h>

struct python_scan {
    const char *at, *end;
    size_t depth;        /* of open brackets */
    bool is_unbalanced;  /* more were closed than opened: Python will say so */
    bool is_open_string; /* a triple-quoted one, or one with a backslash at the line's end */
    bool is_continued;   /* the last line ends in a backslash */
    bool has_suite;      /* some logical line ended in ':' or began with '@', or is indented */
    char last;           /* the last significant character of the logical line, 0 if none */
};

static bool block_python_starts_with(const char *at, const char *end, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

/* Reads a string whose quote is at s->at, prefix or not: escapes are skipped in raw ones too, where
 * a backslash cannot end the string either. */
static void block_python_skip_string(struct python_scan *s)
{
    char quote = *s->at;
    char triple[] = {quote, quote, quote, '\0'};
    bool is_triple = block_python_starts_with(s->at, s->end, triple);
    bool is_line_escaped = false;
    s->at += is_triple ? 3 : 1;
    while (s->at < s->end) {
        if (*s->at == '\\' && s->at + 1 < s->end) {
            is_line_escaped = s->at[1] == '\n' && s->at + 2 == s->end;
            s->at += 2;
        } else if (is_triple && block_python_starts_with(s->at, s->end, triple)) {
            s->at += 3;
            return;
        } else if (!is_triple && *s->at == quote) {
            s->at++;
            return;
        } else if (!is_triple && *s->at == '\n') {
            return; /* unterminated: Python will say so */
        } else {
            s->at++;
        }
    }
    s->is_open_string = is_triple || is_line_escaped;
}

static void block_python_close_bracket(struct python_scan *s)
{
    if (s->depth == 0)
        s->is_unbalanced = true;
    else
        s->depth--;
}

static void end_logical_line(struct python_scan *s)
{
    if (s->last == ':')
        s->has_suite = true;
    s->last = 0;
}

/* One character outside strings. */
static void block_python_take_char(struct python_scan *s)
{
    char c = *s->at++;
    if (c == '\n') {
        if (s->depth == 0)
            end_logical_line(s);
        return;
    }
    if (c == '\\' && (s->at == s->end || *s->at == '\n')) {
        s->at += s->at < s->end;
        s->is_continued = s->at == s->end;
        return;
    }
    if (isspace((unsigned char)c))
        return;
    s->last = c;
    if (c == '(' || c == '[' || c == '{')
        s->depth++;
    else if (c == ')' || c == ']' || c == '}')
        block_python_close_bracket(s);
}

/* At the first character of a line outside strings and brackets. `try: x` on one line needs its
 * except, so it waits as the longer form does. */
static void look_at_line_start(struct python_scan *s)
{
    const char *at = s->at;
    while (at < s->end && (*at == ' ' || *at == '\t'))
        at++;
    bool is_blank = at == s->end || *at == '\n' || *at == '#' || *at == '\r';
    if (is_blank)
        return;
    if (at > s->at || *at == '@' || block_python_starts_with(at, s->end, "try:"))
        s->has_suite = true;
}

static void block_python_skip_comment(struct python_scan *s)
{
    while (s->at < s->end && *s->at != '\n')
        s->at++;
}

enum cli_block cli_block_python(const char *text, size_t len)
{
    struct python_scan s = {.at = text, .end = text + len};
    bool is_line_start = true;
    while (s.at < s.end) {
        if (is_line_start && s.depth == 0)
            look_at_line_start(&s);
        const char *from = s.at;
        if (*s.at == '#') {
            block_python_skip_comment(&s);
        } else if (*s.at == '"' || *s.at == '\'') {
            s.last = *s.at;
            block_python_skip_string(&s);
        } else {
            block_python_take_char(&s);
        }
        /* A continued line is no new one, though a line end came before it. */
        is_line_start = s.at == from + 1 && *from == '\n';
    }
    end_logical_line(&s);
    if (s.is_unbalanced)
        return CLI_BLOCK_WHOLE;
    if (s.is_open_string || s.depth > 0 || s.is_continued)
        return CLI_BLOCK_OPEN;
    return s.has_suite ? CLI_BLOCK_SUITE : CLI_BLOCK_WHOLE;
}

/* "else:" and its like belong to what stands above. */
static bool is_clause(const char *line, const char *end)
{
    static const char *const words[] = {"else", "elif", "except", "finally"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *behind = line + strlen(words[i]);
        if (block_python_starts_with(line, end, words[i]) &&
            (behind == end || (!isalnum((unsigned char)*behind) && *behind != '_')))
            return true;
    }
    return false;
}

static const char *last_line(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '\n')
        len--;
    const char *before = len > 0 ? memrchr(text, '\n', len) : NULL;
    return before != NULL ? before + 1 : text;
}

bool cli_block_python_ends_before(const char *text, size_t len, const char *line, size_t line_len)
{
    if (cli_block_python(text, len) != CLI_BLOCK_SUITE)
        return false;
    bool is_inside = line_len == 0 || isspace((unsigned char)line[0]) || line[0] == '#';
    bool is_decorated = *last_line(text, len) == '@';
    return !is_inside && !is_decorated && !is_clause(line, line + line_len);
}
