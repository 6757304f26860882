/* A plain program, its cells marked by "%%" comments as editors know them. What is no code is a
 * comment; so are IPython's commands in Python, which no other Python understands, and cells
 * that were undone: what is run again shall do what was done, and no more. Daemon and command
 * line tool. */
#include "notebook/formats.h"
#include "notebook/text.h"

#include <ctype.h>

/* What a line of Python begins in. */
struct script_place {
    char quote;        /* of the string of three quotes that is open, or 0 */
    size_t depth;      /* open brackets */
    bool is_continued; /* the line before ended in a backslash */
};

static bool is_triple(const char *s, size_t len, char quote)
{
    return len >= 3 && s[0] == quote && s[1] == quote && s[2] == quote;
}

static void scan_line(struct script_place *p, const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = line[i];
        if (p->quote != 0) {
            if (c == '\\') {
                i++;
            } else if (is_triple(line + i, len - i, p->quote)) {
                p->quote = 0;
                i += 2;
            }
        } else if (c == '#') {
            p->is_continued = false;
            return;
        } else if ((c == '"' || c == '\'') && is_triple(line + i, len - i, c)) {
            p->quote = c;
            i += 2;
        } else if (c == '"' || c == '\'') {
            for (i++; i < len && line[i] != c;)
                i += line[i] == '\\' ? 2 : 1;
        } else if (c == '(' || c == '[' || c == '{') {
            p->depth++;
        } else if ((c == ')' || c == ']' || c == '}') && p->depth > 0) {
            p->depth--;
        }
    }
    p->is_continued = p->quote == 0 && len > 0 && line[len - 1] == '\\';
}

/* "len?", "pd.DataFrame??": nothing but a name before it. */
static bool is_question(const char *line, size_t len)
{
    size_t i = 0;
    while (i < len && (isalnum((unsigned char)line[i]) || line[i] == '_' || line[i] == '.'))
        i++;
    return i > 0 && i < len && (i + 1 == len || (i + 2 == len && line[i + 1] == '?')) &&
           line[i] == '?';
}

/* "pip install numpy", "cd data": what a name and another cannot be in Python. */
static bool is_bare_command(const char *line, size_t len)
{
    static const char *const words[] = {"pip ", "conda ", "cd "};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);
        if (len > n && memcmp(line, words[i], n) == 0)
            return isalnum((unsigned char)line[n]) || strchr("./~", line[n]) != NULL;
    }
    return false;
}

/* "%time f()", "!ls", "?len", "len?". */
static bool is_command(const char *line, size_t len)
{
    while (len > 0 && isspace((unsigned char)line[len - 1]))
        len--;
    if (len < 2)
        return false;
    unsigned char next = (unsigned char)line[1];
    return (line[0] == '%' && (isalpha(next) || next == '%')) || (line[0] == '!' && next != '=') ||
           line[0] == '?' || is_question(line, len) || is_bare_command(line, len);
}

/* "files = !ls", "t = %timeit -o f()". */
static bool is_assigned_command(const char *line, size_t len)
{
    size_t i = 0;
    while (i < len &&
           (isalnum((unsigned char)line[i]) || line[i] == '_' || line[i] == ',' || line[i] == ' '))
        i++;
    if (i == 0 || i >= len || line[i] != '=')
        return false;
    do {
        i++;
    } while (i < len && line[i] == ' ');
    return i + 1 < len && (line[i] == '!' || line[i] == '%') && line[i + 1] != '=' &&
           !isspace((unsigned char)line[i + 1]);
}

static void put_python_line(struct buf *out, struct script_place *p, const char *line, size_t len)
{
    size_t indent = 0;
    while (indent < len && (line[indent] == ' ' || line[indent] == '\t'))
        indent++;
    const char *rest = line + indent;
    bool begins = p->quote == 0 && p->depth == 0 && !p->is_continued;
    if (begins && (is_command(rest, len - indent) || is_assigned_command(rest, len - indent))) {
        buf_append(out, line, indent);
        buf_append_str(out, indent > 0 ? "pass  " : ""); /* a block must not become empty */
        text_append_commented(out, "# ", rest, len - indent);
    } else {
        buf_append(out, line, len);
        scan_line(p, line, len);
        buf_append_char(out, '\n');
    }
}

static bool is_cell_command(const char *source, size_t len)
{
    while (len > 0 && isspace((unsigned char)*source)) {
        source++;
        len--;
    }
    return len >= 3 && source[0] == '%' && source[1] == '%' && source[2] != '\n';
}

static void script_put_code(struct buf *out, const struct document *doc, const char *source,
                            size_t len)
{
    struct script_place place = {0};
    if (strcmp(doc->runtime, "python") != 0) {
        buf_append(out, source, len);
        if (len > 0 && source[len - 1] != '\n')
            buf_append_char(out, '\n');
        return;
    }
    if (is_cell_command(source, len)) {
        text_append_commented(out, "# ", source, len);
        return;
    }
    while (len > 0) {
        const char *end = memchr(source, '\n', len);
        size_t n = end != NULL ? (size_t)(end - source) : len;
        put_python_line(out, &place, source, n);
        n += end != NULL;
        source += n;
        len -= n;
    }
}

void notebook_write_script(const struct document *doc, struct buf *out)
{
    for (size_t i = 0; i < doc->n_cells && !out->overflowed; i++) {
        const struct notebook_cell *cell = &doc->cells[i];
        static const char *const marks[] = {
            [CELL_CODE] = "", [CELL_MARKDOWN] = " [markdown]", [CELL_RAW] = " [raw]"};
        const char *comment = notebook_language(doc)->comment;
        char prefix[8];
        snprintf(prefix, sizeof(prefix), "%s ", comment);
        if (out->len > 0)
            buf_append_char(out, '\n');
        buf_printf(out, "%s %%%%%s\n", comment, marks[cell->kind]);
        bool is_undone = cell->kind == CELL_CODE && cell->is_undone;
        if (is_undone)
            buf_printf(out, "%s undone, so it is a comment here\n", comment);
        if (cell->kind == CELL_CODE && !is_undone)
            script_put_code(out, doc, cell->source, cell->source_len);
        else
            text_append_commented(out, prefix, cell->source, cell->source_len);
    }
}
