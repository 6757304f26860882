/* Words of texts and of questions. In a box, and in tests. */
#include "search/words.h"

#include <string.h>

enum { WORD_MAX = 64, WORD_PARTS_MAX = 16, QUERY_WORDS_MAX = 48 };

enum word_class { WORD_NONE, WORD_LOWER, WORD_UPPER, WORD_DIGIT, WORD_JOINT };

static enum word_class word_class_of(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || c >= 0x80)
        return WORD_LOWER;
    if (c >= 'A' && c <= 'Z')
        return WORD_UPPER;
    if (c >= '0' && c <= '9')
        return WORD_DIGIT;
    return c == '_' ? WORD_JOINT : WORD_NONE;
}

static void word_put(struct buf *out, const char *text, size_t len)
{
    if (len == 0 || out->max - out->len < len + 2)
        return;
    if (out->len > 0)
        buf_append_char(out, ' ');
    buf_append(out, text, len);
    for (char *c = out->data + out->len - len; c < out->data + out->len; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
}

/* Where the part ends that begins at `at`: fooBar|, HTTP|Header, x|12. */
static size_t word_part_end(const char *text, size_t at, size_t len)
{
    enum word_class first = word_class_of((unsigned char)text[at]);
    size_t end = at + 1;
    while (end < len) {
        enum word_class c = word_class_of((unsigned char)text[end]);
        if (c == WORD_JOINT || (c == WORD_DIGIT) != (first == WORD_DIGIT))
            break;
        bool is_small = word_class_of((unsigned char)text[end - 1]) == WORD_LOWER;
        if (c == WORD_UPPER && is_small)
            break;
        bool begins = c == WORD_UPPER && end + 1 < len && end > at &&
                      word_class_of((unsigned char)text[end + 1]) == WORD_LOWER;
        if (begins)
            break;
        end++;
    }
    return end;
}

static void word_put_identifier(struct buf *out, const char *text, size_t len)
{
    char whole[WORD_MAX];
    size_t n_parts = 0, n_whole = 0, n_letters = 0;
    for (size_t at = 0; at < len && n_parts < WORD_PARTS_MAX;) {
        if (text[at] == '_') {
            at++;
            continue;
        }
        size_t end = word_part_end(text, at, len);
        word_put(out, text + at, end - at);
        n_letters += end - at;
        size_t n = MIN(end - at, sizeof(whole) - n_whole);
        memcpy(whole + n_whole, text + at, n);
        n_whole += n;
        n_parts++;
        at = end;
    }
    if (n_parts > 1 && n_whole == n_letters)
        word_put(out, whole, n_whole);
}

void words_of(const char *text, size_t len, struct buf *out)
{
    for (size_t at = 0; at < len && out->max - out->len > 2;) {
        size_t end = at;
        while (end < len && end - at < WORD_MAX &&
               word_class_of((unsigned char)text[end]) != WORD_NONE)
            end++;
        if (end > at)
            word_put_identifier(out, text + at, end - at);
        at = MAX(end, at + 1);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool word_says_nothing(const char *word, size_t len)
{
    static const char list[] =
        " a about all also an and any are as at be been but by can could do does for from had has "
        "have how i if in into is it its may me my no not of on one only or other our out over so "
        "some such than that the their them then there these they this to up was we were what when "
        "where which who whose will with would you your ";
    char padded[WORD_MAX + 3];
    if (len > 6)
        return false;
    int n = snprintf(padded, sizeof(padded), " %.*s ", (int)len, word);
    return memmem(list, sizeof(list) - 1, padded, (size_t)n) != NULL;
}

static bool word_was_asked(const struct buf *out, const char *word, size_t len)
{
    char quoted[WORD_MAX + 3];
    int n = snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int)len, word);
    return out->len > 0 && memmem(out->data, out->len, quoted, (size_t)n) != NULL;
}

static size_t words_ask(const struct buf *words, bool with_all, struct buf *out)
{
    size_t n = 0;
    for (size_t at = 0; at < words->len && n < QUERY_WORDS_MAX;) {
        const char *word = words->data + at, *space = memchr(word, ' ', words->len - at);
        size_t len = space != NULL ? (size_t)(space - word) : words->len - at;
        at += len + 1;
        if (len == 0 || len > WORD_MAX || (!with_all && word_says_nothing(word, len)) ||
            word_was_asked(out, word, len))
            continue;
        buf_printf(out, "%s\"%.*s\"", n > 0 ? " OR " : "", (int)len, word);
        n++;
    }
    return n;
}

bool words_query(const char *text, size_t len, struct buf *out)
{
    _buf_ struct buf words = BUF_INIT(16 * KIB);
    words_of(text, len, &words);
    return words.len > 0 && (words_ask(&words, false, out) > 0 || words_ask(&words, true, out) > 0);
}
