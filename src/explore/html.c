/* HTML to text. In the box that fetched the page, and in the fuzzer. */
#include "explore/html.h"

#include <string.h>
#include <strings.h>

enum html_kind {
    HTML_LINE,    /* begins and ends lines */
    HTML_BLOCK,   /* an empty line before and after */
    HTML_BREAK,   /* br: a line ends */
    HTML_ITEM,    /* li */
    HTML_HEADING, /* h1 to h6 */
    HTML_CELL,    /* td, th */
    HTML_PRE,
    HTML_SKIP, /* all up to its end is nothing for readers */
    HTML_TITLE,
};

static const struct {
    const char *name;
    enum html_kind kind;
} html_tags[] = {
    {"script", HTML_SKIP},     {"style", HTML_SKIP},    {"template", HTML_SKIP},
    {"svg", HTML_SKIP},        {"iframe", HTML_SKIP},   {"noscript", HTML_SKIP},
    {"title", HTML_TITLE},     {"pre", HTML_PRE},       {"li", HTML_ITEM},
    {"br", HTML_BREAK},        {"td", HTML_CELL},       {"th", HTML_CELL},
    {"h1", HTML_HEADING},      {"h2", HTML_HEADING},    {"h3", HTML_HEADING},
    {"h4", HTML_HEADING},      {"h5", HTML_HEADING},    {"h6", HTML_HEADING},
    {"p", HTML_BLOCK},         {"ul", HTML_BLOCK},      {"ol", HTML_BLOCK},
    {"dl", HTML_BLOCK},        {"table", HTML_BLOCK},   {"blockquote", HTML_BLOCK},
    {"figure", HTML_BLOCK},    {"hr", HTML_BLOCK},      {"form", HTML_BLOCK},
    {"section", HTML_BLOCK},   {"article", HTML_BLOCK}, {"header", HTML_BLOCK},
    {"footer", HTML_BLOCK},    {"nav", HTML_BLOCK},     {"main", HTML_BLOCK},
    {"aside", HTML_BLOCK},     {"div", HTML_LINE},      {"tr", HTML_LINE},
    {"dt", HTML_LINE},         {"dd", HTML_LINE},       {"option", HTML_LINE},
    {"address", HTML_LINE},    {"caption", HTML_LINE},  {"fieldset", HTML_LINE},
    {"figcaption", HTML_LINE}, {"summary", HTML_LINE},  {"details", HTML_LINE},
    {"body", HTML_LINE},       {"legend", HTML_LINE},   {"textarea", HTML_LINE},
};

static const struct {
    const char *name;
    uint32_t code;
} html_entities[] = {
    {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},      {"apos", '\''},
    {"nbsp", ' '},     {"copy", 0xa9},    {"reg", 0xae},     {"trade", 0x2122},  {"hellip", 0x2026},
    {"mdash", 0x2014}, {"ndash", 0x2013}, {"lsquo", 0x2018}, {"rsquo", 0x2019},  {"ldquo", 0x201c},
    {"rdquo", 0x201d}, {"bdquo", 0x201e}, {"bull", 0x2022},  {"middot", 0xb7},   {"euro", 0x20ac},
    {"pound", 0xa3},   {"yen", 0xa5},     {"cent", 0xa2},    {"sect", 0xa7},     {"para", 0xb6},
    {"deg", 0xb0},     {"plusmn", 0xb1},  {"times", 0xd7},   {"divide", 0xf7},   {"frac12", 0xbd},
    {"micro", 0xb5},   {"laquo", 0xab},   {"raquo", 0xbb},   {"lsaquo", 0x2039}, {"rsaquo", 0x203a},
    {"rarr", 0x2192},  {"larr", 0x2190},  {"uarr", 0x2191},  {"darr", 0x2193},   {"minus", 0x2212},
    {"le", 0x2264},    {"ge", 0x2265},    {"ne", 0x2260},    {"infin", 0x221e},  {"auml", 0xe4},
    {"ouml", 0xf6},    {"uuml", 0xfc},    {"Auml", 0xc4},    {"Ouml", 0xd6},     {"Uuml", 0xdc},
    {"szlig", 0xdf},   {"eacute", 0xe9},  {"egrave", 0xe8},  {"ecirc", 0xea},    {"euml", 0xeb},
    {"agrave", 0xe0},  {"aacute", 0xe1},  {"acirc", 0xe2},   {"atilde", 0xe3},   {"aring", 0xe5},
    {"aelig", 0xe6},   {"ccedil", 0xe7},  {"iacute", 0xed},  {"icirc", 0xee},    {"iuml", 0xef},
    {"ntilde", 0xf1},  {"oacute", 0xf3},  {"ocirc", 0xf4},   {"otilde", 0xf5},   {"oslash", 0xf8},
    {"uacute", 0xfa},  {"ugrave", 0xf9},  {"ucirc", 0xfb},   {"Eacute", 0xc9},   {"iquest", 0xbf},
    {"shy", 0},        {"zwnj", 0},       {"zwj", 0},        {"ensp", ' '},      {"emsp", ' '},
    {"thinsp", ' '},
};

struct html_reader {
    const char *at, *end;
    struct html_text *out;
    int n_newlines;   /* that the text ends with; 2 at its beginning */
    int wants_lines;  /* before the next character */
    bool wants_space; /* likewise */
    bool is_pre;
    const char *prefix; /* "- ", "# ": before the next character */
    uint64_t endless;   /* a bit for each of html_tags that has no end tag from here on */
};

/* ---- what comes out -------------------------------------------------------------------------- */

void html_take_text(struct html_text *t, const char *text, size_t len)
{
    size_t fits = 0;
    for (; fits < len; fits++) {
        bool is_first = ((unsigned char)text[fits] & 0xc0) != 0x80;
        if (is_first && t->n_chars >= t->max_chars)
            break;
        t->n_chars += is_first;
    }
    buf_append(&t->text, text, fits);
    for (; fits < len; fits++)
        t->n_chars += ((unsigned char)text[fits] & 0xc0) != 0x80;
}

static void html_put(struct html_reader *r, const char *text, size_t len)
{
    for (; r->n_newlines < r->wants_lines; r->n_newlines++)
        html_take_text(r->out, "\n", 1);
    if (r->wants_space && r->wants_lines == 0 && r->n_newlines == 0)
        html_take_text(r->out, " ", 1);
    r->wants_lines = 0;
    r->wants_space = false;
    if (r->prefix != NULL)
        html_take_text(r->out, r->prefix, strlen(r->prefix));
    r->prefix = NULL;
    html_take_text(r->out, text, len);
    r->n_newlines = len > 0 && text[len - 1] == '\n' ? 1 : 0;
}

static void html_want_lines(struct html_reader *r, int lines)
{
    r->wants_lines = MAX(r->wants_lines, lines);
    r->prefix = NULL;
}

/* ---- characters ------------------------------------------------------------------------------ */

static size_t html_utf8(uint32_t code, char ret[4])
{
    if (code < 0x80) {
        ret[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        ret[0] = (char)(0xc0 | code >> 6);
        ret[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        ret[0] = (char)(0xe0 | code >> 12);
        ret[1] = (char)(0x80 | (code >> 6 & 0x3f));
        ret[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    ret[0] = (char)(0xf0 | code >> 18);
    ret[1] = (char)(0x80 | (code >> 12 & 0x3f));
    ret[2] = (char)(0x80 | (code >> 6 & 0x3f));
    ret[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* The number behind "&#"; 0xfffd for what is no character. */
static uint32_t html_number(const char *text, size_t len)
{
    bool is_hex = len > 0 && (text[0] == 'x' || text[0] == 'X');
    uint32_t code = 0;
    for (size_t i = is_hex; i < len; i++) {
        char c = text[i];
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                         : is_hex && (c | 32) >= 'a' && (c | 32) <= 'f'
                             ? (uint32_t)((c | 32) - 'a' + 10)
                             : 99;
        if (digit == 99 || code > 0x10ffff)
            return 0xfffd;
        code = code * (is_hex ? 16 : 10) + digit;
    }
    bool is_character = code >= ' ' && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return is_character ? code : code == '\n' || code == '\t' ? ' ' : 0xfffd;
}

/* One character at `at`, which is '&': its bytes, and how many of the page it took. */
static size_t html_entity(const char *at, const char *end, char ret[4], size_t *ret_len)
{
    enum { LONGEST = 12 };
    size_t most = MIN((size_t)(end - at), (size_t)LONGEST);
    const char *stop = memchr(at, ';', most);
    if (stop != NULL && stop > at + 2 && at[1] == '#') {
        *ret_len = html_utf8(html_number(at + 2, (size_t)(stop - at - 2)), ret);
        return (size_t)(stop - at) + 1;
    }
    for (size_t i = 0; stop != NULL && i < ARRAY_LEN(html_entities); i++) {
        size_t len = strlen(html_entities[i].name);
        if (len == (size_t)(stop - at - 1) && memcmp(at + 1, html_entities[i].name, len) == 0) {
            *ret_len = html_entities[i].code == 0 ? 0 : html_utf8(html_entities[i].code, ret);
            return len + 2;
        }
    }
    ret[0] = '&';
    *ret_len = 1;
    return 1;
}

static bool html_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Text up to the next tag. */
static void html_read_text(struct html_reader *r)
{
    while (r->at < r->end && *r->at != '<') {
        char character[4];
        size_t len, took = 1;
        if (*r->at == '&') {
            took = html_entity(r->at, r->end, character, &len);
            if (len == 1 && character[0] == ' ')
                r->wants_space = true;
            else if (len > 0)
                html_put(r, character, len);
            r->at += took;
        } else if (!r->is_pre && html_is_space(*r->at)) {
            r->wants_space = true;
            r->at++;
        } else {
            const char *from = r->at++;
            while (r->at < r->end && *r->at != '<' && *r->at != '&' &&
                   (r->is_pre || !html_is_space(*r->at)))
                r->at++;
            html_put(r, from, (size_t)(r->at - from));
        }
    }
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* Where the end tag begins, and what follows it; NULL if there is none. */
static const char *html_find_end(struct html_reader *r, size_t tag, const char **ret_after)
{
    const char *name = html_tags[tag].name;
    size_t len = strlen(name);
    const char *at = r->endless >> tag & 1 ? NULL : r->at;
    for (; at != NULL && (at = memchr(at, '<', (size_t)(r->end - at))) != NULL; at++) {
        if ((size_t)(r->end - at) < len + 2 || at[1] != '/' || strncasecmp(at + 2, name, len) != 0)
            continue;
        const char *close = memchr(at, '>', (size_t)(r->end - at));
        *ret_after = close == NULL ? r->end : close + 1;
        return at;
    }
    r->endless |= (uint64_t)1 << tag; /* nobody looks for it again: a page may have a million */
    return NULL;
}

static void html_read_title(struct html_reader *r, const char *end)
{
    struct html_text title = {.text = BUF_INIT(r->out->title.max), .max_chars = 300};
    struct html_reader inner = {.at = r->at, .end = end, .out = &title, .n_newlines = 2};
    if (r->out->title.len == 0) {
        html_read_text(&inner);
        buf_append(&r->out->title, buf_str(&title.text), title.text.len);
    }
    buf_free(&title.text);
}

/* Past the attributes, whose values may hold '>'. */
static void html_skip_attributes(struct html_reader *r)
{
    while (r->at < r->end && *r->at != '>') {
        char quote = *r->at++;
        if (quote != '"' && quote != '\'')
            continue;
        /* A quote opens a value only behind '='; elsewhere it is a mistake of the page. */
        if (r->at[-2] != '=' && !html_is_space(r->at[-2]))
            continue;
        const char *close = memchr(r->at, quote, (size_t)(r->end - r->at));
        r->at = close == NULL ? r->at : close + 1;
    }
    r->at += r->at < r->end;
}

static void html_apply(struct html_reader *r, size_t tag, bool is_end)
{
    static const char *const marks[] = {"# ", "## ", "### ", "#### ", "##### ", "###### "};
    const char *end, *after;
    switch (html_tags[tag].kind) {
    case HTML_LINE:
        html_want_lines(r, 1);
        break;
    case HTML_BREAK:
        html_want_lines(r, MIN(r->wants_lines + 1, 2));
        break;
    case HTML_BLOCK:
        html_want_lines(r, 2);
        break;
    case HTML_ITEM:
        html_want_lines(r, 1);
        r->prefix = is_end ? NULL : "- ";
        break;
    case HTML_HEADING:
        html_want_lines(r, 2);
        r->prefix = is_end ? NULL : marks[html_tags[tag].name[1] - '1'];
        break;
    case HTML_CELL:
        if (!is_end && r->wants_lines == 0 && r->n_newlines == 0) {
            r->wants_space = true;
            html_put(r, "|", 1);
        }
        r->wants_space = true;
        break;
    case HTML_PRE:
        html_want_lines(r, 2);
        r->is_pre = !is_end;
        break;
    case HTML_SKIP:
    case HTML_TITLE:
        end = is_end ? NULL : html_find_end(r, tag, &after);
        if (end != NULL && html_tags[tag].kind == HTML_TITLE)
            html_read_title(r, end);
        if (end != NULL)
            r->at = after;
        break;
    }
}

/* At '<': a comment, a declaration, a tag, or just that character. */
static void html_read_tag(struct html_reader *r)
{
    const char *from = r->at + 1;
    if ((size_t)(r->end - from) >= 3 && memcmp(from, "!--", 3) == 0) {
        const char *close = memmem(from + 3, (size_t)(r->end - from - 3), "-->", 3);
        r->at = close == NULL ? r->end : close + 3;
        return;
    }
    if (from < r->end && (*from == '!' || *from == '?')) {
        const char *close = memchr(from, '>', (size_t)(r->end - from));
        r->at = close == NULL ? r->end : close + 1;
        return;
    }
    bool is_end = from < r->end && *from == '/';
    from += is_end;
    char name[16];
    size_t len = 0;
    while (from + len < r->end && len < sizeof(name) - 1 &&
           ((((unsigned char)from[len] | 32) >= 'a' && ((unsigned char)from[len] | 32) <= 'z') ||
            (len > 0 && from[len] >= '0' && from[len] <= '9'))) {
        name[len] = from[len] >= '0' && from[len] <= '9' ? from[len] : (char)(from[len] | 32);
        len++;
    }
    name[len] = '\0';
    if (len == 0) {
        html_put(r, "<", 1);
        r->at++;
        return;
    }
    r->at = from + len;
    html_skip_attributes(r);
    for (size_t i = 0; i < ARRAY_LEN(html_tags); i++)
        if (strcmp(html_tags[i].name, name) == 0)
            html_apply(r, i, is_end);
}

_Static_assert(ARRAY_LEN(html_tags) <= 64, "html_reader.endless has a bit for each");

void html_to_text(const char *html, size_t len, struct html_text *ret)
{
    struct html_reader r = {.at = html, .end = html + len, .out = ret, .n_newlines = 2};
    while (r.at < r.end) {
        html_read_text(&r);
        if (r.at < r.end)
            html_read_tag(&r);
    }
}
