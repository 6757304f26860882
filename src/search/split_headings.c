/* Documents by their headings: "# Title" of Markdown, "== Title" of AsciiDoc, "* Title" of Org,
 * titles with a line of signs below them. In a box, and in tests. */
#include "search/split_parts.h"

#include <string.h>

enum { HEADING_LEVELS = 16, HEADING_MAX = 300 };

struct heading {
    size_t level; /* 1 is the highest; 0: none */
    size_t from, to;
};

struct headings {
    struct split *s;
    bool is_markdown, is_org, is_adoc, is_tex;
    char underlines[HEADING_LEVELS]; /* in the order in which they came */
    size_t n_underlines;
    size_t open[HEADING_LEVELS + 1]; /* the span of each level; SIZE_MAX: none */
    char fence;                      /* of code that is open; 0: none */
    size_t fence_len;
};

static bool heading_is_file(const char *path, const char *suffix)
{
    size_t len = strlen(path), n = strlen(suffix);
    return len > n && strcmp(path + len - n, suffix) == 0;
}

static size_t heading_run(const struct split *s, size_t at, size_t end)
{
    size_t n = 0;
    while (at + n < end && s->data[at + n] == s->data[at])
        n++;
    return n;
}

static size_t heading_trim(const struct split *s, size_t from, size_t to)
{
    while (to > from && strchr(" \t\r#=", s->data[to - 1]) != NULL && s->data[to - 1] != '\0')
        to--;
    return to;
}

/* Whether the line is of code that is shown, whose signs mean nothing. */
static bool heading_is_fenced(struct headings *h, const struct split_line *l)
{
    size_t at = l->from;
    while (at < l->to && at < l->from + 3 && h->s->data[at] == ' ')
        at++;
    char c = at < l->to ? h->s->data[at] : ' ';
    size_t n = c == '`' || c == '~' ? heading_run(h->s, at, l->to) : 0;
    if (h->fence != 0) {
        if (c == h->fence && n >= h->fence_len)
            h->fence = 0;
        return true;
    }
    if (n < 3 || !h->is_markdown)
        return false;
    h->fence = c;
    h->fence_len = n;
    return true;
}

static bool heading_is_marked(const struct headings *h, const struct split_line *l,
                              struct heading *ret)
{
    static const char tex[] = "\\section{\\subsection{\\chapter{";
    const struct split *s = h->s;
    char sign = h->is_org ? '*' : h->is_adoc ? '=' : '#';
    if (h->is_tex) {
        const char *brace = memchr(s->data + l->from, '{', l->to - l->from);
        size_t word = brace != NULL ? (size_t)(brace - s->data) - l->from + 1 : 0;
        if (word < 9 || memmem(tex, sizeof(tex) - 1, s->data + l->from, word) == NULL)
            return false;
        const char *close = memchr(brace, '}', s->data + l->to - brace);
        *ret = (struct heading){.level = s->data[l->from + 1] == 'c' ? 1
                                         : word > 9                  ? 3
                                                                     : 2,
                                .from = l->from + word,
                                .to = close != NULL ? (size_t)(close - s->data) : l->to};
        return ret->to > ret->from;
    }
    if (l->from == l->to || s->data[l->from] != sign ||
        !(h->is_markdown || h->is_org || h->is_adoc))
        return false;
    size_t n = heading_run(s, l->from, l->to), at = l->from + n;
    if (n > 6 || at == l->to || (s->data[at] != ' ' && s->data[at] != '\t'))
        return false;
    while (at < l->to && (s->data[at] == ' ' || s->data[at] == '\t'))
        at++;
    *ret = (struct heading){.level = n, .from = at, .to = heading_trim(s, at, l->to)};
    return ret->to > ret->from;
}

/* A title and, in the next line, signs at least as long. */
static bool heading_is_underlined(struct headings *h, size_t line, struct heading *ret)
{
    const struct split *s = h->s;
    const struct split_line *title = &s->lines[line], *l = title + 1;
    if (line + 1 >= s->n_lines)
        return false;
    size_t to = heading_trim(s, title->from, title->to), end = l->to;
    if (to == title->from || to - title->from > HEADING_MAX || s->data[title->from] == ' ' ||
        l->from == l->to)
        return false;
    char c = s->data[l->from];
    while (end > l->from && (s->data[end - 1] == '\r' || s->data[end - 1] == ' '))
        end--;
    bool is_sign =
        h->is_markdown ? c == '=' || c == '-' : c != '\0' && strchr("=-~^\"'`*+#:._", c) != NULL;
    if (!is_sign || heading_run(s, l->from, end) != end - l->from ||
        end - l->from < MIN(to - title->from, (size_t)(h->is_markdown ? 3 : 4)) ||
        (!h->is_markdown && end - l->from < to - title->from) ||
        strchr("-=*|>", s->data[title->from]) != NULL)
        return false;
    size_t level = 0;
    if (h->is_markdown) {
        level = c == '=' ? 0 : 1;
    } else {
        while (level < h->n_underlines && h->underlines[level] != c)
            level++;
        if (level == h->n_underlines && level < HEADING_LEVELS)
            h->underlines[h->n_underlines++] = c;
    }
    *ret = (struct heading){
        .level = MIN(level + 1, (size_t)HEADING_LEVELS), .from = title->from, .to = to};
    return true;
}

static void heading_open(struct headings *h, size_t line, const struct heading *found)
{
    struct split *s = h->s;
    size_t parent = SIZE_MAX;
    for (size_t level = 1; level <= HEADING_LEVELS; level++) {
        if (level < found->level && h->open[level] != SIZE_MAX)
            parent = h->open[level];
        if (level >= found->level)
            h->open[level] = SIZE_MAX;
    }
    /* A section ends where any other begins: what is below a heading of its own is another. */
    if (s->n_spans > 0)
        s->spans[s->n_spans - 1].last = line > 0 ? line - 1 : 0;
    struct split_span *span = split_add(s);
    if (span == NULL) {
        s->spans[s->n_spans - 1].last = s->n_lines - 1;
        return;
    }
    *span = (struct split_span){.type = "section",
                                .name = found->from,
                                .name_len = found->to - found->from,
                                .head = found->from,
                                .head_end = found->to,
                                .first = line,
                                .last = s->n_lines - 1,
                                .parent = parent,
                                .is_container = true};
    h->open[found->level] = s->n_spans - 1;
}

void split_by_headings(struct split *s)
{
    struct headings h = {.s = s,
                         .is_markdown = heading_is_file(s->path, ".md") ||
                                        heading_is_file(s->path, ".markdown") ||
                                        heading_is_file(s->path, ".mdx"),
                         .is_org = heading_is_file(s->path, ".org"),
                         .is_adoc = heading_is_file(s->path, ".adoc"),
                         .is_tex = heading_is_file(s->path, ".tex")};
    for (size_t level = 0; level <= HEADING_LEVELS; level++)
        h.open[level] = SIZE_MAX;
    for (size_t line = 0; line < s->n_lines; line++) {
        struct heading found;
        if (heading_is_fenced(&h, &s->lines[line]))
            continue;
        if (heading_is_marked(&h, &s->lines[line], &found)) {
            heading_open(&h, line, &found);
        } else if (!h.is_org && !h.is_tex && heading_is_underlined(&h, line, &found)) {
            heading_open(&h, line, &found);
            line++; /* the signs */
        }
    }
    /* The last line of a section that is not blank is its last. */
    for (size_t i = 0; i < s->n_spans; i++) {
        struct split_span *span = &s->spans[i];
        while (span->last > span->first && s->lines[span->last].from == s->lines[span->last].to)
            span->last--;
    }
}
