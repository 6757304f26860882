/* Files as units: languages, lines, what is comment, and which lines belong to which unit. In a
 * box, and in tests. */
#include "search/split.h"

#include "base/utf8.h"
#include "search/split_parts.h"

#include <string.h>
#include <strings.h>

static const struct split_language split_languages[] = {
    {.suffixes = " .py .pyi .pyw .pyx ",
     .kind = SPLIT_CODE,
     .how = SPLIT_INDENTED,
     .comments = {"#"},
     .quotes = "'\"",
     .long_quotes = "'\"",
     .has_triples = true},
    {.suffixes = " .rb .rake ",
     .kind = SPLIT_CODE,
     .how = SPLIT_INDENTED,
     .comments = {"#"},
     .quotes = "'\"",
     .has_ends = true},
    {.suffixes = " .lua ",
     .kind = SPLIT_CODE,
     .how = SPLIT_INDENTED,
     .comments = {"--"},
     .quotes = "'\"",
     .has_ends = true},
    {.suffixes = " .c .h .cc .cpp .cxx .hpp .hh .hxx .m .mm .cu ",
     .kind = SPLIT_CODE,
     .how = SPLIT_BRACES,
     .comments = {"//"},
     .block = {"/*", "*/"},
     .quotes = "'\"",
     .has_directives = true},
    {.suffixes = " .js .mjs .cjs .jsx .ts .tsx .mts .go ",
     .kind = SPLIT_CODE,
     .how = SPLIT_BRACES,
     .comments = {"//"},
     .block = {"/*", "*/"},
     .quotes = "'\"",
     .long_quotes = "`"},
    {.suffixes = " .java .rs .cs .kt .kts .swift .scala .dart .groovy .zig .proto .v ",
     .kind = SPLIT_CODE,
     .how = SPLIT_BRACES,
     .comments = {"//"},
     .block = {"/*", "*/"},
     .quotes = "'\""},
    {.suffixes = " .php ",
     .kind = SPLIT_CODE,
     .how = SPLIT_BRACES,
     .comments = {"//", "#"},
     .block = {"/*", "*/"},
     .quotes = "'\""},
    {.suffixes = " .sh .bash .zsh .pl .pm .awk .r ",
     .kind = SPLIT_CODE,
     .how = SPLIT_BRACES,
     .comments = {"#"},
     .quotes = "",
     .long_quotes = "'\""},
    {.suffixes =
         " .sql .yaml .yml .toml .ini .cfg .conf .css .scss .less .el .lisp .clj .hs .ml .ex "
         ".exs .erl .jl .f90 .tf .cmake .gradle .vue .svelte .asm .s .mk .nix .bat .ps1 "
         "makefile dockerfile cmakelists.txt meson.build ",
     .kind = SPLIT_CODE,
     .how = SPLIT_WINDOWS,
     .quotes = ""},
    {.suffixes = " .md .markdown .mdx .rst .txt .adoc .org .tex readme license changelog ",
     .kind = SPLIT_DOCUMENT,
     .how = SPLIT_HEADINGS,
     .quotes = ""},
    {.suffixes = " .html .htm ", .kind = SPLIT_DOCUMENT, .how = SPLIT_WINDOWS, .quotes = ""},
};

/* ---- which language -------------------------------------------------------------------------- */

static const char *split_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const struct split_language *split_language_of(const char *path)
{
    char padded[24];
    const char *name = split_file_name(path), *dot = strrchr(name, '.');
    for (int whole = 1; whole >= 0; whole--) {
        const char *word = whole ? name : dot;
        if (word == NULL || word[0] == '\0' || strlen(word) > sizeof(padded) - 3)
            continue;
        int n = snprintf(padded, sizeof(padded), " %s ", word);
        for (int i = 0; i < n; i++)
            if (padded[i] >= 'A' && padded[i] <= 'Z')
                padded[i] = (char)(padded[i] + 32);
        if (memchr(padded + 1, ' ', (size_t)n - 2) != NULL)
            continue; /* a name with a space would be two words of the table */
        for (size_t i = 0; i < ARRAY_LEN(split_languages); i++)
            if (strstr(split_languages[i].suffixes, padded) != NULL)
                return &split_languages[i];
    }
    return NULL;
}

enum split_kind split_kind_of(const char *path)
{
    const struct split_language *language = split_language_of(path);
    return language != NULL ? language->kind : SPLIT_NEITHER;
}

/* ---- code without comments and strings ------------------------------------------------------- */

static bool split_begins(const struct split *s, size_t at, const char *what)
{
    size_t len = what != NULL ? strlen(what) : 0;
    return len > 0 && s->len - at >= len && memcmp(s->data + at, what, len) == 0;
}

/* Newlines stay, so that lines are the same. Returns `to`. */
static size_t split_blank(struct split *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (s->code[i] != '\n')
            s->code[i] = ' ';
    return to;
}

static size_t split_line_end(const struct split *s, size_t at)
{
    const char *end = memchr(s->data + at, '\n', s->len - at);
    return end != NULL ? (size_t)(end - s->data) : s->len;
}

static size_t split_skip_block(struct split *s, size_t at)
{
    const char *close = s->language->block[1];
    size_t from = at + strlen(s->language->block[0]);
    const char *end =
        from < s->len ? memmem(s->data + from, s->len - from, close, strlen(close)) : NULL;
    return split_blank(s, at, end != NULL ? (size_t)(end - s->data) + strlen(close) : s->len);
}

/* After the string that begins at `at`; its quotes stay. */
static size_t split_skip_string(struct split *s, size_t at)
{
    enum { CHARACTER_MAX = 12 };
    const struct split_language *l = s->language;
    char quote = s->data[at];
    bool is_triple =
        l->has_triples && s->len - at >= 3 && s->data[at + 1] == quote && s->data[at + 2] == quote;
    bool is_long = l->long_quotes != NULL && strchr(l->long_quotes, quote) != NULL &&
                   (is_triple || !l->has_triples);
    /* An apostrophe that closes nothing after one character is none: a lifetime of Rust. */
    bool is_character =
        quote == '\'' && l->how == SPLIT_BRACES && l->block[0] != NULL && l->long_quotes == NULL;
    size_t width = is_triple ? 3 : 1, i = at + width, end = s->len;
    if (!is_long)
        end = split_line_end(s, at);
    bool is_plain =
        s->len - at > 2 && s->data[at + 1] != '\\' && (unsigned char)s->data[at + 1] < 0x80;
    if (is_character && is_plain && s->data[at + 2] != '\'')
        return at + 1;
    if (is_character)
        end = MIN(end, at + CHARACTER_MAX);
    for (; i < end; i++) {
        if (s->data[i] == '\\') {
            /* A string of one line goes on where its end is escaped. */
            i++;
            if (i == end && end < s->len && !is_long && l->how == SPLIT_INDENTED)
                end = split_line_end(s, i + 1);
            continue;
        }
        if (s->data[i] == quote &&
            (!is_triple || (s->len - i >= 3 && s->data[i + 1] == quote && s->data[i + 2] == quote)))
            break;
    }
    bool is_closed = i < end;
    if (!is_closed && is_character)
        return at + 1;
    split_blank(s, MIN(at + width, end), MIN(i, end));
    return is_closed ? i + width : end;
}

static void split_mask(struct split *s)
{
    const struct split_language *l = s->language;
    bool begins_line = true;
    for (size_t i = 0; i < s->len;) {
        char c = s->data[i];
        bool is_directive = l->has_directives && begins_line && c == '#';
        if (c != ' ' && c != '\t')
            begins_line = c == '\n';
        if (is_directive) {
            size_t end = split_line_end(s, i);
            while (end < s->len && end > i && s->data[end - 1] == '\\')
                end = split_line_end(s, end + 1);
            i = split_blank(s, i, end);
        } else if (split_begins(s, i, l->comments[0]) || split_begins(s, i, l->comments[1])) {
            i = split_blank(s, i, split_line_end(s, i));
        } else if (split_begins(s, i, l->block[0])) {
            i = split_skip_block(s, i);
        } else if (c != '\0' && (strchr(l->quotes, c) != NULL ||
                                 (l->long_quotes != NULL && strchr(l->long_quotes, c) != NULL))) {
            i = split_skip_string(s, i);
        } else {
            i++;
        }
    }
}

/* ---- what is told ---------------------------------------------------------------------------- */

/* The bytes of the character that begins there; 0 if none does. */
static size_t split_char(const char *text, size_t len)
{
    unsigned char lead = (unsigned char)text[0];
    size_t width = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return width <= len && utf8_is_valid(text, width) ? width : 0;
}

/* One line of valid UTF-8: runs of space become one, at most so many characters. */
static void split_clean(const char *text, size_t len, size_t chars, char *ret, size_t size)
{
    size_t out = 0, n = 0;
    bool has_gap = false;
    for (size_t i = 0; i < len && n < chars;) {
        size_t width = split_char(text + i, len - i);
        if (width == 0 || (unsigned char)text[i] <= ' ' || text[i] == 0x7f) {
            has_gap = out > 0;
            i++;
            continue;
        }
        if (out + width + 1 >= size || (has_gap && n + 1 == chars))
            break;
        if (has_gap) {
            ret[out++] = ' ';
            n++;
        }
        has_gap = false;
        memcpy(ret + out, text + i, width);
        out += width;
        i += width;
        n++;
    }
    ret[out] = '\0';
}

/* "Class.method" of a span in a class, "A > B" of a section in a section. */
static void split_qualify(const struct split *s, size_t at, const char *between, char *ret,
                          size_t size)
{
    size_t chain[SPLIT_DEPTH_MAX], n = 0, len = 0;
    for (size_t i = at; i != SIZE_MAX && n < ARRAY_LEN(chain); i = s->spans[i].parent)
        if (i == at || s->spans[i].is_container)
            chain[n++] = i;
    ret[0] = '\0';
    while (n-- > 0 && len + 1 < size) {
        const struct split_span *span = &s->spans[chain[n]];
        if (len > 0)
            len += (size_t)snprintf(ret + len, size - len, "%s", between);
        if (len + 1 < size)
            split_clean(s->data + span->name, span->name_len, SIZE_MAX, ret + len, size - len);
        len = strlen(ret);
    }
}

/* Each line belongs to the innermost span that has it. */
static size_t *split_owners(const struct split *s)
{
    size_t *owners = mem_alloc((s->n_lines + 1) * sizeof(*owners));
    for (size_t line = 0; line < s->n_lines; line++)
        owners[line] = SIZE_MAX;
    for (size_t i = 0; i < s->n_spans; i++) /* those inside come after those around them */
        for (size_t line = s->spans[i].first; line <= s->spans[i].last && line < s->n_lines; line++)
            owners[line] = i;
    return owners;
}

static void split_put_line(const struct split *s, size_t line, struct buf *text)
{
    const struct split_line *l = &s->lines[line];
    size_t room = text->max - text->len;
    if (room > 1)
        buf_append(text, s->data + l->from, MIN(l->to - l->from, room - 1));
    if (text->len < text->max)
        buf_append_char(text, '\n');
}

static void split_tell(const struct split *s, size_t at, const size_t *owners, split_fn fn,
                       void *context)
{
    const struct split_span *span = &s->spans[at];
    struct split_unit unit = {.type = span->type, .first = span->first + 1, .last = span->last + 1};
    _buf_ struct buf text = BUF_INIT(SPLIT_TEXT_MAX);
    bool is_section = s->language->kind == SPLIT_DOCUMENT;
    for (size_t line = span->first; line <= span->last && text.len < text.max; line++)
        if (owners[line] == at)
            split_put_line(s, line, &text);
    if (is_section) {
        split_clean(s->data + span->name, span->name_len, SPLIT_SIGNATURE_CHARS, unit.name,
                    sizeof(unit.name));
        char path[sizeof(unit.signature)];
        split_qualify(s, at, " > ", path, sizeof(path));
        split_clean(path, strlen(path), SPLIT_SIGNATURE_CHARS, unit.signature,
                    sizeof(unit.signature));
    } else {
        split_qualify(s, at, ".", unit.name, sizeof(unit.name));
        split_clean(s->data + span->head, span->head_end - span->head, SPLIT_SIGNATURE_CHARS,
                    unit.signature, sizeof(unit.signature));
    }
    unit.text = buf_str(&text);
    unit.len = text.len;
    fn(context, &unit);
}

/* Lines that belong to no span, in windows; those without a letter are left out. */
static void split_tell_window(const struct split *s, size_t first, size_t last, split_fn fn,
                              void *context)
{
    const char *name = split_file_name(s->path);
    struct split_unit unit = {.type = s->language->kind == SPLIT_CODE ? "block" : "section",
                              .first = first + 1,
                              .last = last + 1};
    _buf_ struct buf text = BUF_INIT(SPLIT_TEXT_MAX);
    size_t letters = 0;
    for (size_t line = first; line <= last && text.len < text.max; line++)
        split_put_line(s, line, &text);
    for (size_t i = 0; i < text.len; i++)
        letters += split_is_name(text.data[i]);
    if (letters < 2)
        return;
    split_clean(name, strlen(name), SPLIT_SIGNATURE_CHARS, unit.name, sizeof(unit.name));
    split_clean(text.data, text.len, SPLIT_SIGNATURE_CHARS, unit.signature, sizeof(unit.signature));
    unit.text = buf_str(&text);
    unit.len = text.len;
    fn(context, &unit);
}

static void split_tell_all(const struct split *s, split_fn fn, void *context)
{
    size_t *owners = split_owners(s), next = 0;
    for (size_t line = 0; line < s->n_lines; line++) {
        for (; next < s->n_spans && s->spans[next].first <= line; next++)
            split_tell(s, next, owners, fn, context);
        if (owners[line] != SIZE_MAX || split_is_blank(s->data, &s->lines[line]))
            continue;
        size_t last = line;
        while (last + 1 < s->n_lines && owners[last + 1] == SIZE_MAX &&
               last + 1 - line < SPLIT_WINDOW_LINES)
            last++;
        size_t end = last;
        while (end > line && split_is_blank(s->data, &s->lines[end]))
            end--;
        split_tell_window(s, line, end, fn, context);
        line = last;
    }
    for (; next < s->n_spans; next++)
        split_tell(s, next, owners, fn, context);
    free(owners);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void split_find_lines(struct split *s)
{
    size_t n = 1;
    for (size_t i = 0; i < s->len; i++)
        n += s->data[i] == '\n';
    s->lines = mem_alloc(n * sizeof(*s->lines));
    for (size_t at = 0; at < s->len || s->n_lines == 0;) {
        size_t end = split_line_end(s, at);
        s->lines[s->n_lines++] = (struct split_line){at, end};
        at = end + 1;
    }
}

void split_file(const char *path, const char *data, size_t len, split_fn fn, void *context)
{
    static void (*const ways[])(struct split * s) = {
        [SPLIT_INDENTED] = split_by_indentation,
        [SPLIT_BRACES] = split_by_braces,
        [SPLIT_HEADINGS] = split_by_headings,
        [SPLIT_WINDOWS] = NULL,
    };
    struct split s = {.path = path, .language = split_language_of(path), .data = data, .len = len};
    if (s.language == NULL || len == 0)
        return;
    split_find_lines(&s);
    s.code = mem_copy(data, len);
    if (s.language->kind == SPLIT_CODE)
        split_mask(&s);
    if (ways[s.language->how] != NULL)
        ways[s.language->how](&s);
    split_tell_all(&s, fn, context);
    free(s.spans);
    free(s.lines);
    free(s.code);
}
