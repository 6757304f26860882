/* Reads regular expressions, as far as they are simple. What is not understood makes a pattern odd:
 * it goes to PCRE2 as it is, line by line, and nothing is known of it. In a box, and in tests. */
#include "explore/pattern.h"

#include "base/utf8.h"
#include "explore/explore.h"
#include "explore/scan.h"

#include <ctype.h>
#include <string.h>

/* Literals of which a part of the pattern must have one; none: it may have any text. */
struct pattern_set {
    size_t n;
    struct pattern_needle needles[PATTERN_NEEDLES_MAX];
    bool is_exact; /* the part is these literals and nothing else */
};

struct pattern_reader {
    const char *at, *end;
    struct pattern *pattern;
    unsigned depth; /* of groups */
    bool is_odd;
};

enum pattern_atom {
    PATTERN_CHAR,  /* stands for itself */
    PATTERN_ANY,   /* one character or more, of some kind */
    PATTERN_PLACE, /* of no characters: an anchor, a look around */
    PATTERN_GROUP,
};

static struct pattern_set pattern_alternatives(struct pattern_reader *r);

static void pattern_emit(struct pattern_reader *r, const char *from, const char *to)
{
    buf_append(&r->pattern->text, from, (size_t)(to - from));
}

static void pattern_emit_str(struct pattern_reader *r, const char *text)
{
    buf_append_str(&r->pattern->text, text);
}

static bool pattern_begins(const struct pattern_reader *r, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(r->end - r->at) >= len && memcmp(r->at, with, len) == 0;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* The longer the better, and the fewer; of equals, the rarer. */
static int pattern_worth(const struct pattern_set *set)
{
    enum { EQUAL = 1000 };
    size_t least = SIZE_MAX;
    unsigned rarity = EQUAL - 1;
    if (set->n == 0)
        return -EQUAL * EQUAL;
    for (size_t i = 0; i < set->n; i++) {
        least = MIN(least, set->needles[i].len);
        rarity = MIN(rarity, scan_rarity(set->needles[i].text, set->needles[i].len));
    }
    return EQUAL * (2 * (int)MIN(least, (size_t)64) - (int)set->n) + (int)rarity;
}

static void pattern_take_run(struct pattern_reader *r, struct buf *run, struct pattern_set *best)
{
    struct pattern_set set = {.n = 1};
    if (run->len == 0)
        return;
    set.needles[0].text = arena_copy(&r->pattern->arena, run->data, run->len);
    set.needles[0].len = run->len;
    if (pattern_worth(&set) > pattern_worth(best))
        *best = set;
    buf_clear(run);
}

static struct pattern_set pattern_either(const struct pattern_set *a, const struct pattern_set *b)
{
    struct pattern_set both = *a;
    if (a->n == 0 || b->n == 0 || a->n + b->n > PATTERN_NEEDLES_MAX)
        return (struct pattern_set){0};
    memcpy(both.needles + a->n, b->needles, b->n * sizeof(b->needles[0]));
    both.n = a->n + b->n;
    both.is_exact = a->is_exact && b->is_exact;
    return both;
}

/* ---- characters ------------------------------------------------------------------------------ */

/* Characters of scripts that have no upper and lower case: their bytes can be looked for. */
static bool pattern_is_caseless(const unsigned char *s)
{
    unsigned code = (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    return (code >= 0x2e80 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4);
}

static size_t pattern_char_len(const char *at, const char *end)
{
    unsigned char lead = (unsigned char)*at;
    size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return MIN(n, (size_t)(end - at));
}

/* The character at s becomes part of a run of literals, if its bytes can be looked for. */
static bool pattern_add_char(const struct pattern *p, struct buf *run, const char *s, size_t len)
{
    char lower = *s >= 'A' && *s <= 'Z' ? (char)(*s | 0x20) : *s;
    if (p->is_cased)
        return buf_append(run, s, len);
    if (len == 1 && (unsigned char)*s < 0x80)
        return buf_append_char(run, lower);
    return len == 3 && pattern_is_caseless((const unsigned char *)s) && buf_append(run, s, len);
}

static int pattern_hex(const char *at, const char *end, size_t n)
{
    int value = 0;
    if ((size_t)(end - at) < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        value =
            value * 16 + (isdigit((unsigned char)at[i]) ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
    }
    return value;
}

/* \xHH, \uHHHH or \0 with octal digits, passed on: its value, or -1 if it has none. */
static int pattern_numbered(struct pattern_reader *r)
{
    const char *from = r->at++;
    char kind = *r->at++;
    int value = 0;
    if (kind == '0') {
        for (int i = 0; i < 2 && r->at < r->end && *r->at >= '0' && *r->at <= '7'; i++)
            value = value * 8 + *r->at++ - '0';
    } else {
        size_t n = kind == 'x' ? 2 : 4;
        value = pattern_hex(r->at, r->end, n);
        r->at += value >= 0 ? n : 0;
    }
    r->is_odd = r->is_odd || value < 0;
    r->pattern->has_non_ascii = r->pattern->has_non_ascii || value > 0x7f;
    pattern_emit(r, from, r->at);
    return value;
}

/* What begins with a backslash, outside of classes. */
static enum pattern_atom pattern_escape(struct pattern_reader *r, struct buf *one)
{
    static const struct {
        char letter;
        const char *text;
        enum pattern_atom atom;
    } known[] = {
        {'d', "\\d", PATTERN_ANY},       {'D', "[^\\d\\n]", PATTERN_ANY},
        {'w', "\\w", PATTERN_ANY},       {'W', "[^\\w\\n]", PATTERN_ANY},
        {'s', "[^\\S\\n]", PATTERN_ANY}, {'S', "\\S", PATTERN_ANY},
        {'t', "\\t", PATTERN_ANY},       {'f', "\\f", PATTERN_ANY},
        {'v', "\\x0b", PATTERN_ANY},     {'a', "\\a", PATTERN_ANY},
        {'b', "\\b", PATTERN_PLACE},     {'B', "\\B", PATTERN_PLACE},
        {'A', "^", PATTERN_PLACE},       {'Z', "$", PATTERN_PLACE},
        {'z', "$", PATTERN_PLACE},
    };
    char letter = r->end - r->at > 1 ? r->at[1] : '\n';
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i].letter == letter) {
            pattern_emit_str(r, known[i].text);
            r->at += 2;
            return known[i].atom;
        }
    }
    if (letter == 'x' || letter == 'u' || letter == '0') {
        int value = pattern_numbered(r);
        r->is_odd = r->is_odd || value == '\n' || value == '\r';
        return PATTERN_ANY;
    }
    if (letter >= '1' && letter <= '9') { /* what a group had */
        r->is_odd = r->is_odd || (r->end - r->at > 2 && isdigit((unsigned char)r->at[2]));
        pattern_emit(r, r->at, r->at + 2);
        r->at += 2;
        return PATTERN_ANY;
    }
    if (!ispunct((unsigned char)letter) && letter != ' ') {
        r->is_odd = true;
        return PATTERN_ANY;
    }
    buf_append_char(one, letter);
    pattern_emit(r, r->at, r->at + 2);
    r->at += 2;
    return PATTERN_CHAR;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* One character or escape of a class. True if it may be, or begin a range to, a line end. */
static bool pattern_class_item(struct pattern_reader *r)
{
    char c = *r->at;
    if (c == '[') { /* Python knows no [:alpha:] */
        pattern_emit_str(r, "\\[");
        r->at++;
        return false;
    }
    if (c != '\\') {
        size_t n = pattern_char_len(r->at, r->end);
        r->pattern->has_non_ascii = r->pattern->has_non_ascii || n > 1;
        pattern_emit(r, r->at, r->at + n);
        r->at += n;
        return (unsigned char)c < ' ';
    }
    char letter = r->end - r->at > 1 ? r->at[1] : '\0';
    if (letter == 'x' || letter == 'u' || letter == '0') {
        pattern_numbered(r);
        return true;
    }
    if (letter == '\0') {
        r->is_odd = true;
        return false;
    }
    r->at += 2;
    if (letter == 'v')
        pattern_emit_str(r, "\\x0b");
    else if (isalnum((unsigned char)letter) && strchr("dDwWsSnrtfab", letter) == NULL)
        r->is_odd = true;
    else if ((unsigned char)letter < ' ' || (unsigned char)letter >= 0x7f)
        r->is_odd = true;
    else
        pattern_emit(r, r->at - 2, r->at);
    return strchr("DWsnrtfabv", letter) != NULL;
}

static enum pattern_atom pattern_class(struct pattern_reader *r)
{
    struct buf *out = &r->pattern->text;
    size_t mark = out->len;
    bool is_first = true, may_end_line = false;
    r->at++;
    bool is_negated = r->at < r->end && *r->at == '^';
    r->at += is_negated;
    pattern_emit_str(r, is_negated ? "[^\\n" : "[");
    for (; r->at < r->end && (*r->at != ']' || is_first) && !r->is_odd; is_first = false) {
        if (*r->at == ']') {
            pattern_emit_str(r, "\\]");
            r->at++;
        } else {
            may_end_line |= pattern_class_item(r);
        }
    }
    if (r->at >= r->end) {
        r->is_odd = true; /* PCRE2 says what is wrong */
        return PATTERN_ANY;
    }
    r->at++;
    pattern_emit_str(r, "]");
    if (!is_negated && may_end_line) {
        size_t len = out->len - mark;
        const char *class = arena_copy(&r->pattern->arena, buf_str(out) + mark, len);
        out->len = mark;
        pattern_emit_str(r, "(?:(?!\\n)");
        pattern_emit(r, class, class + len);
        pattern_emit_str(r, ")");
    }
    return PATTERN_ANY;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The beginning of a group; `ret_atom` says what it is as a whole. */
static void pattern_open_group(struct pattern_reader *r, enum pattern_atom *ret_atom)
{
    static const char *const places[] = {"(?=", "(?!", "(?<=", "(?<!"};
    static const char *const plain[] = {"(?:", "(?>", "(?m:", "(?i:"};
    /* Where case counts, needles must not be of a group in which it does not. */
    size_t n_plain = ARRAY_LEN(plain) - r->pattern->is_cased;
    const char *from = r->at;
    *ret_atom = PATTERN_GROUP;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (pattern_begins(r, places[i])) {
            *ret_atom = PATTERN_PLACE;
            r->at += strlen(places[i]);
            pattern_emit(r, from, r->at);
            return;
        }
    }
    for (size_t i = 0; i < n_plain; i++) {
        if (pattern_begins(r, plain[i])) {
            r->at += strlen(plain[i]);
            pattern_emit(r, from, r->at);
            return;
        }
    }
    if (pattern_begins(r, "(?P<")) {
        while (r->at < r->end && *r->at != '>')
            r->at++;
        r->is_odd = r->is_odd || r->at == r->end;
        r->at += r->at < r->end;
    } else if (pattern_begins(r, "(?")) {
        r->is_odd = true;
    } else {
        r->at++;
    }
    pattern_emit(r, from, r->at);
}

static enum pattern_atom pattern_group(struct pattern_reader *r, struct pattern_set *ret_set)
{
    enum { DEPTH_MAX = 100 };
    enum pattern_atom atom;
    pattern_open_group(r, &atom);
    if (r->is_odd || ++r->depth > DEPTH_MAX) {
        r->is_odd = true;
        return PATTERN_ANY;
    }
    *ret_set = pattern_alternatives(r);
    r->depth--;
    if (r->at == r->end)
        r->is_odd = true;
    else
        r->at++;
    pattern_emit_str(r, ")");
    return atom;
}

/* ---- sequences ------------------------------------------------------------------------------- */

struct pattern_times {
    bool is_given;
    bool may_be_none;
};

/* {n}, {n,}, {,m} or {n,m}: where it ends, and whether n is 0. NULL if it is something else, which
 * stands for itself. */
static const char *pattern_braces(const struct pattern_reader *r, bool *ret_may_be_none)
{
    const char *first = r->at + 1, *at = first;
    *ret_may_be_none = true;
    for (; at < r->end && isdigit((unsigned char)*at); at++)
        *ret_may_be_none = *ret_may_be_none && *at == '0';
    bool has_least = at > first;
    at += at < r->end && *at == ',';
    const char *second = at;
    while (at < r->end && isdigit((unsigned char)*at))
        at++;
    bool is_given = at < r->end && *at == '}' && (has_least || at > second);
    return is_given ? at + 1 : NULL;
}

static struct pattern_times pattern_times(struct pattern_reader *r)
{
    struct pattern_times times = {0};
    const char *after = r->at + 1;
    if (r->at == r->end || *r->at == '\0' || strchr("*+?{", *r->at) == NULL)
        return times;
    times.may_be_none = *r->at != '+';
    if (*r->at == '{' && (after = pattern_braces(r, &times.may_be_none)) == NULL)
        return (struct pattern_times){0};
    times.is_given = true;
    if (pattern_begins(r, "{,")) { /* of PCRE2 it is none */
        pattern_emit_str(r, "{0");
        r->at++;
    }
    after += after < r->end && (*after == '?' || *after == '+');
    pattern_emit(r, r->at, after);
    r->at = after;
    return times;
}

/* The next atom without what says how often. A character is left in `one`. */
static enum pattern_atom pattern_atom(struct pattern_reader *r, struct buf *one,
                                      struct pattern_set *ret_set)
{
    char c = *r->at;
    if (c == '\\')
        return pattern_escape(r, one);
    if (c == '[')
        return pattern_class(r);
    if (c == '(')
        return pattern_group(r, ret_set);
    size_t n = pattern_char_len(r->at, r->end);
    pattern_emit(r, r->at, r->at + n);
    const char *from = r->at;
    r->at += n;
    if (c == '.')
        return PATTERN_ANY;
    if (c == '^' || c == '$')
        return PATTERN_PLACE;
    /* A quantifier after nothing or after another is PCRE2's to complain about. */
    r->at = from;
    bool ignored, is_brace = c == '{' && pattern_braces(r, &ignored) != NULL;
    r->at += n;
    if (c == '\n' || c == '\r' || c == '\0' || c == '*' || c == '+' || c == '?' || is_brace)
        r->is_odd = true;
    r->pattern->has_non_ascii = r->pattern->has_non_ascii || n > 1;
    return pattern_add_char(r->pattern, one, from, n) ? PATTERN_CHAR : PATTERN_ANY;
}

static struct pattern_set pattern_sequence(struct pattern_reader *r)
{
    _buf_ struct buf run = BUF_INIT(EXPLORE_PATTERN_MAX), one = BUF_INIT(KIB);
    struct pattern_set best = {0};
    bool is_exact = true;
    while (r->at < r->end && *r->at != '|' && *r->at != ')' && !r->is_odd) {
        struct pattern_set set = {0};
        buf_clear(&one);
        enum pattern_atom atom = pattern_atom(r, &one, &set);
        struct pattern_times times = pattern_times(r);
        is_exact = is_exact && atom == PATTERN_CHAR && !times.is_given;
        if (atom == PATTERN_PLACE)
            continue;
        if (atom == PATTERN_CHAR && !times.may_be_none)
            buf_append(&run, one.data, one.len);
        if (atom == PATTERN_CHAR && !times.is_given)
            continue;
        pattern_take_run(r, &run, &best);
        set.is_exact = false;
        if (atom == PATTERN_GROUP && !times.may_be_none &&
            pattern_worth(&set) > pattern_worth(&best))
            best = set;
    }
    pattern_take_run(r, &run, &best);
    best.is_exact = is_exact && best.n == 1;
    return best;
}

static struct pattern_set pattern_alternatives(struct pattern_reader *r)
{
    struct pattern_set all = pattern_sequence(r);
    while (r->at < r->end && *r->at == '|' && !r->is_odd) {
        pattern_emit_str(r, "|");
        r->at++;
        struct pattern_set other = pattern_sequence(r);
        all = pattern_either(&all, &other);
    }
    return all;
}

/* ---- whole patterns -------------------------------------------------------------------------- */

/* Verbs and calls out of a pattern are PCRE2's own, change limits, and are not Python's. */
static int pattern_refuse(const char *text, size_t len, struct err *e)
{
    bool is_class = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '[' || text[i] == ']')
            is_class = text[i] == '[';
        else if (!is_class && text[i] == '(' && len - i > 2 &&
                 (text[i + 1] == '*' || (text[i + 1] == '?' && text[i + 2] == 'C'))) {
            err_set(e, ERR_INVALID, "the pattern has %s at position %zu, which is not allowed",
                    text[i + 1] == '*' ? "a verb, (*" : "a callout, (?C", i);
            return err_advise(e,
                              "Escape the bracket to search for it, \\(, or ask with \"literal\".");
        }
    }
    return 0;
}

static void pattern_read_literal(struct pattern *p, const char *text, size_t len)
{
    _buf_ struct buf run = BUF_INIT(EXPLORE_PATTERN_MAX);
    struct pattern_reader r = {.pattern = p};
    struct pattern_set best = {0};
    const char *end = text + len;
    bool is_exact = len > 0;
    for (const char *at = text; at < end;) {
        size_t n = pattern_char_len(at, end);
        p->has_non_ascii = p->has_non_ascii || n > 1;
        if (!pattern_add_char(p, &run, at, n)) {
            pattern_take_run(&r, &run, &best);
            is_exact = false;
        }
        at += n;
    }
    pattern_take_run(&r, &run, &best);
    buf_append(&p->text, text, len);
    p->is_quoted = true;
    p->is_blockwise =
        len == 0 || (memchr(text, '\n', len) == NULL && memchr(text, '\r', len) == NULL);
    p->n_needles = best.n;
    p->needles[0] = best.needles[0];
    p->is_exact = is_exact && p->is_blockwise;
}

int pattern_read(struct pattern *p, const char *text, size_t len, bool is_literal, bool is_cased,
                 struct err *e)
{
    *p = (struct pattern){.text = BUF_INIT(8 * EXPLORE_PATTERN_MAX), .is_cased = is_cased};
    if (len > EXPLORE_PATTERN_MAX) {
        err_set(e, ERR_TOO_LARGE, "the pattern has %zu bytes; %zu are allowed", len,
                EXPLORE_PATTERN_MAX);
        return err_advise(e, "Search for parts of it, one after the other.");
    }
    size_t valid = utf8_valid_prefix(text, len);
    if (valid < len) {
        err_set(e, ERR_INVALID, "the pattern is no UTF-8 from byte %zu on", valid);
        return err_advise(e, "Send it as UTF-8; \\xNN stands for a character by its number.");
    }
    if (is_literal) {
        pattern_read_literal(p, text, len);
        return 0;
    }
    if (pattern_refuse(text, len, e) < 0)
        return -1;
    struct pattern_reader r = {.at = text, .end = text + len, .pattern = p};
    if (pattern_begins(&r, "(?i)") || pattern_begins(&r, "(?-i)")) {
        p->is_cased = text[2] == '-';
        r.at += p->is_cased ? 5 : 4;
    }
    struct pattern_set set = pattern_alternatives(&r);
    p->is_blockwise = !r.is_odd && r.at == r.end && !p->text.overflowed;
    if (!p->is_blockwise) {
        buf_free(&p->text);
        buf_append(&p->text, text, len);
        for (size_t i = 0; i < len; i++)
            p->has_non_ascii = p->has_non_ascii || (unsigned char)text[i] > 0x7f;
        return 0;
    }
    p->n_needles = set.n;
    memcpy(p->needles, set.needles, sizeof(p->needles));
    p->is_exact = set.n > 0 && set.is_exact;
    return 0;
}

void pattern_free(struct pattern *p)
{
    buf_free(&p->text);
    arena_free(&p->arena);
}
