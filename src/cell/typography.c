/* Typography in code, replaced by what Python reads. Daemon. */
#include "cell/typography.h"

#include <stdio.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum typography_kind {
    TYPOGRAPHY_SIGN,
    TYPOGRAPHY_POWER,  /* a raised digit: "**" before the first of them */
    TYPOGRAPHY_OPENER, /* a quote that only opens; its partner is the next entry */
    TYPOGRAPHY_QUOTE,  /* a quote that closes, and opens if nothing is open */
};

static const struct typography_entry {
    const char *from, *to;
    enum typography_kind kind;
    const char *name; /* for people, of what they cannot see */
} typography_map[] = {
    {"×", "*", TYPOGRAPHY_SIGN, NULL},
    {"÷", "/", TYPOGRAPHY_SIGN, NULL},
    {"−", "-", TYPOGRAPHY_SIGN, NULL},
    {"–", "-", TYPOGRAPHY_SIGN, NULL},
    {"—", "-", TYPOGRAPHY_SIGN, NULL},
    {"±", "+-", TYPOGRAPHY_SIGN, NULL},
    {"≤", "<=", TYPOGRAPHY_SIGN, NULL},
    {"≥", ">=", TYPOGRAPHY_SIGN, NULL},
    {"≠", "!=", TYPOGRAPHY_SIGN, NULL},
    {"°", "", TYPOGRAPHY_SIGN, NULL},
    {"→", "->", TYPOGRAPHY_SIGN, NULL},
    {"←", "<-", TYPOGRAPHY_SIGN, NULL},
    {"‘", "'", TYPOGRAPHY_OPENER, NULL},
    {"’", "'", TYPOGRAPHY_QUOTE, NULL},
    {"`", "'", TYPOGRAPHY_QUOTE, NULL},
    {"´", "'", TYPOGRAPHY_QUOTE, NULL},
    {"“", "\"", TYPOGRAPHY_OPENER, NULL},
    {"”", "\"", TYPOGRAPHY_QUOTE, NULL},
    {"\u00a0", " ", TYPOGRAPHY_SIGN, "no-break space"},
    {"\u2003", " ", TYPOGRAPHY_SIGN, "em space"},
    {"\u2002", " ", TYPOGRAPHY_SIGN, "en space"},
    {"\u200b", "", TYPOGRAPHY_SIGN, "zero-width space"},
    {"\u200c", "", TYPOGRAPHY_SIGN, "zero-width non-joiner"},
    {"\u200d", "", TYPOGRAPHY_SIGN, "zero-width joiner"},
    {"\ufeff", "", TYPOGRAPHY_SIGN, "byte order mark"},
    {"⁰", "0", TYPOGRAPHY_POWER, NULL},
    {"¹", "1", TYPOGRAPHY_POWER, NULL},
    {"²", "2", TYPOGRAPHY_POWER, NULL},
    {"³", "3", TYPOGRAPHY_POWER, NULL},
    {"⁴", "4", TYPOGRAPHY_POWER, NULL},
    {"⁵", "5", TYPOGRAPHY_POWER, NULL},
    {"⁶", "6", TYPOGRAPHY_POWER, NULL},
    {"⁷", "7", TYPOGRAPHY_POWER, NULL},
    {"⁸", "8", TYPOGRAPHY_POWER, NULL},
    {"⁹", "9", TYPOGRAPHY_POWER, NULL},
    {"₀", "0", TYPOGRAPHY_SIGN, NULL},
    {"₁", "1", TYPOGRAPHY_SIGN, NULL},
    {"₂", "2", TYPOGRAPHY_SIGN, NULL},
    {"₃", "3", TYPOGRAPHY_SIGN, NULL},
    {"₄", "4", TYPOGRAPHY_SIGN, NULL},
    {"₅", "5", TYPOGRAPHY_SIGN, NULL},
    {"₆", "6", TYPOGRAPHY_SIGN, NULL},
    {"₇", "7", TYPOGRAPHY_SIGN, NULL},
    {"₈", "8", TYPOGRAPHY_SIGN, NULL},
    {"₉", "9", TYPOGRAPHY_SIGN, NULL},
};

struct typography_scan {
    const char *begin, *at, *end;
    struct buf *out;
    size_t counts[ARRAY_LEN(typography_map)];
    size_t depth; /* of f-strings in each other */
    /* Bytes that may still be looked at in search of closing quotes: those that nothing closes
     * would be searched for again and again, each time to the end of a line that may be all there
     * is. */
    size_t work_left;
};

enum { TYPOGRAPHY_DEPTH_MAX = 16 }; /* of f-strings; deeper ones are strings like others */

static bool typography_code(struct typography_scan *s, bool is_field, bool is_one_line);

/* ---- all ASCII? ------------------------------------------------------------------------------ */

static bool typography_is_plain_byte(char c)
{
    return (unsigned char)c < 0x80 && c != '`';
}

#ifdef __SSE2__
enum { TYPOGRAPHY_STEP = 64 };

/* The highest bit is set in bytes that are not ASCII; comparing sets it for backticks. */
static bool typography_is_plain_step(const char *at)
{
    const __m128i tick = _mm_set1_epi8('`'), *in = (const __m128i *)(const void *)at;
    __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    __m128i high = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
    __m128i ticks = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(a, tick), _mm_cmpeq_epi8(b, tick)),
                                 _mm_or_si128(_mm_cmpeq_epi8(c, tick), _mm_cmpeq_epi8(d, tick)));
    return _mm_movemask_epi8(_mm_or_si128(high, ticks)) == 0;
}
#else
enum { TYPOGRAPHY_STEP = 8 };

static bool typography_is_plain_step(const char *at)
{
    uint64_t word, ticks;
    memcpy(&word, at, sizeof(word));
    ticks = word ^ 0x6060606060606060u; /* a backtick becomes a zero, which borrows */
    return ((word | ((ticks - 0x0101010101010101u) & ~ticks)) & 0x8080808080808080u) == 0;
}
#endif

bool typography_is_plain(const char *code, size_t len)
{
    size_t at = 0;
    for (; len - at >= TYPOGRAPHY_STEP; at += TYPOGRAPHY_STEP)
        if (!typography_is_plain_step(code + at))
            return false;
    for (; at < len; at++)
        if (!typography_is_plain_byte(code[at]))
            return false;
    return true;
}

/* ---- characters ------------------------------------------------------------------------------ */

/* What stands here if it is in the map, else NULL. */
static const struct typography_entry *typography_find(const char *at, const char *end)
{
    if (at >= end || typography_is_plain_byte(*at) || strchr("`\xc2\xc3\xe2\xef", *at) == NULL)
        return NULL; /* what every entry begins with */
    for (size_t i = 0; i < ARRAY_LEN(typography_map); i++) {
        size_t len = strlen(typography_map[i].from);
        if ((size_t)(end - at) >= len && memcmp(at, typography_map[i].from, len) == 0)
            return &typography_map[i];
    }
    return NULL;
}

static bool typography_is_quote(const struct typography_entry *entry)
{
    return entry != NULL && (entry->kind == TYPOGRAPHY_OPENER || entry->kind == TYPOGRAPHY_QUOTE);
}

/* The quote that this character is or becomes, else 0. */
static char typography_quote_at(const char *at, const char *end)
{
    const struct typography_entry *entry = typography_find(at, end);
    if (typography_is_quote(entry))
        return entry->to[0];
    return at < end && (*at == '"' || *at == '\'') ? *at : 0;
}

static size_t typography_len(const char *at, const char *end)
{
    const struct typography_entry *entry = typography_find(at, end);
    return entry != NULL ? strlen(entry->from) : 1;
}

static bool typography_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static void typography_copy(struct typography_scan *s, const char *to)
{
    buf_append(s->out, s->at, (size_t)(to - s->at));
    s->at = to;
}

static void typography_count(struct typography_scan *s, const struct typography_entry *entry)
{
    s->counts[entry - typography_map]++;
}

static void typography_put_sign(struct typography_scan *s, const struct typography_entry *entry,
                                const struct typography_entry *before)
{
    if (entry->kind == TYPOGRAPHY_POWER && (before == NULL || before->kind != TYPOGRAPHY_POWER))
        buf_append_str(s->out, "**");
    buf_append_str(s->out, entry->to);
    typography_count(s, entry);
    s->at += strlen(entry->from);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* How far to look for the end of a string whose inside begins here. */
static const char *typography_reach(const struct typography_scan *s, const char *from,
                                    const char *end)
{
    return (size_t)(end - from) > s->work_left ? from + s->work_left : end;
}

static void typography_pay(struct typography_scan *s, const char *from, const char *to)
{
    s->work_left -= MIN((size_t)(to - from), s->work_left);
}

static const char *typography_line_end(const struct typography_scan *s, const char *at)
{
    const char *stop = at < s->end ? memchr(at, '\n', (size_t)(s->end - at)) : NULL;
    return stop != NULL ? stop : s->end;
}

/* True if letters before the quote make it an f-string's (or a template's). */
static bool typography_is_format(const struct typography_scan *s)
{
    const char *at = s->at;
    bool is_format = false;
    while (at > s->begin && s->at - at < 2 && at[-1] != '\0' &&
           strchr("rRbBuUfFtT", at[-1]) != NULL)
        is_format |= strchr("fFtT", *--at) != NULL;
    return is_format && (at == s->begin || !typography_is_word(at[-1]));
}

/* An apostrophe: between two letters, as in "it’s". */
static bool typography_is_apostrophe(const char *begin, const char *at, const char *end)
{
    const char *after = at + typography_len(at, end);
    return at > begin && typography_is_word(at[-1]) && after < end && typography_is_word(*after) &&
           typography_find(after, end) == NULL;
}

/* Where the string ends whose inside begins at `begin`, on this line: at a quote of the same kind
 * that is no apostrophe, if there is one. NULL if there is none. `opener` is NULL if an ASCII quote
 * opened the string. */
static const char *typography_closer(struct typography_scan *s, const char *begin, char quote,
                                     const struct typography_entry *opener)
{
    const char *ascii = NULL, *apostrophe = NULL, *at;
    const char *end = typography_reach(s, begin, typography_line_end(s, begin));
    size_t n_ascii = 0;
    bool has_opener = false;
    for (at = begin; at < end; at += *at == '\\' ? 2 : typography_len(at, end)) {
        const struct typography_entry *entry = typography_find(at, end);
        if (*at == quote && quote == '\'' && typography_is_apostrophe(begin, at, end)) {
            apostrophe = apostrophe == NULL ? at : apostrophe;
        } else if (*at == quote) {
            ascii = n_ascii++ == 0 ? at : ascii;
        } else if (typography_is_quote(entry) && entry->to[0] == quote) {
            has_opener |= entry->kind == TYPOGRAPHY_OPENER;
            bool is_partner = opener == NULL || entry == opener ||
                              (entry == opener + 1 && opener->kind == TYPOGRAPHY_OPENER) ||
                              (strcmp(opener->from, "`") == 0 && entry == opener + 1);
            if (!is_partner || entry->kind == TYPOGRAPHY_OPENER)
                continue;
            if (quote == '\'' && typography_is_apostrophe(begin, at, end))
                apostrophe = apostrophe == NULL ? at : apostrophe;
            else
                break;
        }
    }
    typography_pay(s, begin, at);
    /* ASCII quotes in pairs belong to what is inside, as in “say "hi"”; another opener before the
     * partner, or one ASCII quote alone, say that this string has ended before. */
    if (at < end && (ascii == NULL || (n_ascii % 2 == 0 && !has_opener)))
        return at;
    return ascii != NULL ? ascii : apostrophe;
}

/* Writes a quote of a string, which is ASCII or becomes so. */
static void typography_put_quote(struct typography_scan *s, char quote)
{
    const struct typography_entry *entry = typography_find(s->at, s->end);
    if (entry != NULL)
        typography_count(s, entry);
    buf_append_char(s->out, quote);
    s->at += typography_len(s->at, s->end);
}

/* Three of the same quote from here on, ASCII or not. */
static bool typography_is_triple(const char *at, const char *end, char quote)
{
    for (int i = 0; i < 3; i++, at += typography_len(at, end))
        if (at >= end || typography_quote_at(at, end) != quote)
            return false;
    return true;
}

/* “““ … ”””: over lines. Without an end it stays. */
static void typography_triple(struct typography_scan *s, char quote)
{
    const char *inside = s->at + 3 * typography_len(s->at, s->end), *stop = inside;
    const char *end = typography_reach(s, inside, s->end);
    while (stop < end && !typography_is_triple(stop, s->end, quote))
        stop += *stop == '\\' ? 2 : 1;
    typography_pay(s, inside, stop);
    if (stop >= end) {
        typography_copy(s, inside);
        return;
    }
    for (int i = 0; i < 3; i++)
        typography_put_quote(s, quote);
    typography_copy(s, stop);
    for (int i = 0; i < 3; i++)
        typography_put_quote(s, quote);
}

/* True if an ASCII quote of this kind is inside, without a backslash. */
static bool typography_has_quote(const char *at, const char *end, char quote)
{
    for (; at < end; at += *at == '\\' ? 2 : 1)
        if (*at == quote)
            return true;
    return false;
}

/* A string that a curly quote opens. */
static void typography_curly(struct typography_scan *s, const struct typography_entry *opener)
{
    char quote = opener->to[0];
    size_t len = strlen(opener->from);
    const char *inside = s->at + len;
    bool is_thrice = (size_t)(s->end - s->at) >= 3 * len && memcmp(inside, s->at, len) == 0 &&
                     memcmp(inside + len, s->at, len) == 0;
    if (is_thrice && *s->at == '`') {
        typography_copy(s, inside + 2); /* a fence of Markdown: as a string it would do nothing */
        return;
    }
    if (is_thrice) {
        typography_triple(s, quote);
        return;
    }
    const char *stop = typography_closer(s, inside, quote, opener);
    if (stop == NULL) {
        typography_copy(s, inside);
        return;
    }
    char written = quote, other = quote == '"' ? '\'' : '"';
    bool has_same = typography_has_quote(inside, stop, quote);
    if (has_same && !typography_has_quote(inside, stop, other))
        written = other;
    typography_put_quote(s, written);
    while (s->at < stop) {
        if (has_same && written == quote && *s->at == quote)
            buf_append_char(s->out, '\\');
        typography_copy(s, MIN(s->at + (*s->at == '\\' ? 2 : 1), stop));
    }
    typography_put_quote(s, written);
}

static bool typography_is_end(const struct typography_scan *s, const char *at, char quote,
                              bool is_triple)
{
    return *at == quote && (!is_triple || (s->end - at >= 3 && at[1] == quote && at[2] == quote));
}

/* The inside of an f-string up to its end, or up to the end of the line; braces have code. */
static void typography_format(struct typography_scan *s, char quote, bool is_triple)
{
    s->depth++;
    while (s->at < s->end && (is_triple || *s->at != '\n')) {
        char c = *s->at;
        if (typography_is_end(s, s->at, quote, is_triple)) {
            typography_copy(s, s->at + (is_triple ? 3 : 1));
            break;
        }
        bool is_pair = s->end - s->at > 1 && (c == '\\' || (c == '{' && s->at[1] == '{'));
        typography_copy(s, s->at + (is_pair ? 2 : 1));
        if (c == '{' && !is_pair && !typography_code(s, true, !is_triple))
            break;
    }
    s->depth--;
}

/* A string that an ASCII quote opens. */
static void typography_string(struct typography_scan *s)
{
    char quote = *s->at;
    bool is_triple = typography_is_end(s, s->at, quote, true);
    bool is_format = s->depth < TYPOGRAPHY_DEPTH_MAX && typography_is_format(s);
    const char *inside = s->at + (is_triple ? 3 : 1), *stop = inside;
    typography_copy(s, inside);
    for (; stop < s->end && (is_triple || *stop != '\n'); stop += *stop == '\\' ? 2 : 1)
        if (typography_is_end(s, stop, quote, is_triple))
            break;
    bool is_closed = stop < s->end && *stop == quote;
    if (is_closed && is_format) {
        typography_format(s, quote, is_triple);
    } else if (is_closed || is_triple) {
        typography_copy(s, MIN(stop + (is_triple ? 3 : 1), s->end));
    } else {
        /* It may be that a curly quote was meant to close it. */
        stop = typography_closer(s, inside, quote, NULL);
        typography_copy(s, stop != NULL ? stop : typography_line_end(s, inside));
        if (stop != NULL)
            typography_put_quote(s, quote);
    }
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Code up to the end, or up to the brace that closes a field of an f-string. False if the field was
 * not closed: on its line, if that is all it has. */
static bool typography_code(struct typography_scan *s, bool is_field, bool is_one_line)
{
    const struct typography_entry *before = NULL;
    size_t n_open = 0; /* brackets inside the field */
    while (s->at < s->end) {
        const struct typography_entry *entry = typography_find(s->at, s->end);
        char c = *s->at;
        if (typography_is_quote(entry)) {
            typography_curly(s, entry);
        } else if (entry != NULL) {
            typography_put_sign(s, entry, before);
        } else if (c == '"' || c == '\'') {
            typography_string(s);
        } else if (c == '#' && !is_field) {
            typography_copy(s, typography_line_end(s, s->at));
        } else if (is_field && is_one_line && c == '\n') {
            return false;
        } else if (is_field && n_open == 0 && (c == '}' || c == ':')) {
            typography_copy(s, s->at + 1);
            /* What follows a colon is text again, up to the brace; its braces have code. */
            while (c == ':' && s->at < s->end && *s->at != '}') {
                if (*s->at == '\n' && is_one_line)
                    return false;
                bool is_inner = *s->at == '{';
                typography_copy(s, s->at + 1);
                if (is_inner) {
                    bool is_deep = ++s->depth > TYPOGRAPHY_DEPTH_MAX;
                    bool is_closed = !is_deep && typography_code(s, true, is_one_line);
                    s->depth--;
                    if (!is_closed)
                        return false;
                }
            }
            if (c == ':' && s->at < s->end)
                typography_copy(s, s->at + 1);
            return true;
        } else {
            n_open += c == '(' || c == '[' || c == '{';
            n_open -= n_open > 0 && (c == ')' || c == ']' || c == '}');
            typography_copy(s, s->at + 1);
        }
        before = entry;
    }
    return !is_field;
}

static bool typography_is_alike(const struct typography_entry *a, const struct typography_entry *b)
{
    return strcmp(a->to, b->to) == 0 &&
           (a->kind == TYPOGRAPHY_POWER) == (b->kind == TYPOGRAPHY_POWER);
}

/* "replaced × by * (2), …": characters that became the same are told together. */
static void typography_tell(const struct typography_scan *s, struct typography_note *note)
{
    _buf_ struct buf text = BUF_INIT(8 * KIB);
    bool is_told[ARRAY_LEN(typography_map)] = {false};
    for (size_t i = 0; i < ARRAY_LEN(typography_map); i++) {
        const struct typography_entry *entry = &typography_map[i];
        size_t n = 0;
        if (s->counts[i] == 0 || is_told[i])
            continue;
        buf_append_str(&text, text.len == 0 ? "replaced" : ",");
        for (size_t j = i; j < ARRAY_LEN(typography_map); j++) {
            const struct typography_entry *other = &typography_map[j];
            if (s->counts[j] == 0 || !typography_is_alike(entry, other))
                continue;
            is_told[j] = true;
            n += s->counts[j];
            buf_printf(&text, " %s", other->name != NULL ? other->name : other->from);
        }
        const char *to = entry->to[0] == '\0'  ? "nothing"
                         : entry->to[0] == ' ' ? "space"
                                               : entry->to;
        buf_printf(&text, " by %s%s (%zu)", entry->kind == TYPOGRAPHY_POWER ? "**" : "", to, n);
        note->count += n;
    }
    snprintf(note->text, sizeof(note->text), "%s", buf_str(&text));
}

bool typography_replace(const char *code, size_t len, struct buf *out,
                        struct typography_note *ret_note)
{
    struct typography_scan s = {
        .begin = code, .at = code, .end = code + len, .out = out, .work_left = 8 * len + KIB};
    size_t before = out->len;
    bool had_overflowed = out->overflowed;
    *ret_note = (struct typography_note){0};
    typography_code(&s, false, false);
    typography_tell(&s, ret_note);
    if (ret_note->count > 0 && !out->overflowed)
        return true;
    *ret_note = (struct typography_note){0};
    out->len = before;
    out->overflowed = had_overflowed;
    if (out->data != NULL)
        out->data[before] = '\0';
    return false;
}
