/* The built-in embedder: hashed words and n-grams of characters. In the daemon. */
#include "explore/embed.h"

#include <math.h>
#include <string.h>

enum {
    EMBED_WORD_MAX = 30,  /* bytes; what is longer is two words */
    EMBED_GRAM = 4,       /* characters; a space before and after the word is one, too */
    EMBED_SEEN = 4096,    /* counters of features, a power of two; collisions only weaken */
    EMBED_TIMES = 16,     /* from then on a feature adds what it did the last time */
    EMBED_WORD_SCALE = 2, /* what a whole word counts, in n-grams */
};

struct embed_sum {
    int32_t dims[EMBED_DIM];
    uint8_t seen[EMBED_SEEN];
};

/* 64 times the square root of n, less that of n - 1: many times the same is worth the root, and
 * hardly more beyond EMBED_TIMES: the word that was searched for is in every line. */
static const uint8_t embed_gains[EMBED_TIMES] = {64, 27, 20, 17, 15, 14, 13, 12,
                                                 11, 10, 10, 10, 9,  9,  8,  2};

static uint32_t embed_mix(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    return h ^ h >> 16;
}

static void embed_add(struct embed_sum *sum, uint32_t feature, int scale)
{
    uint32_t h = embed_mix(feature);
    uint8_t *times = &sum->seen[h >> 8 & (EMBED_SEEN - 1)];
    int32_t gain = embed_gains[*times] * scale;
    *times += *times < EMBED_TIMES - 1;
    sum->dims[h & (EMBED_DIM - 1)] += h >> 31 ? gain : -gain;
}

/* Words that say nothing about what a text is about, by their first letters. */
static bool embed_is_common(const char *padded, size_t len)
{
    static const char *const words['z' - 'a' + 1] = {
        ['a' - 'a'] = " about after all also an and any are as at ",
        ['b' - 'a'] = " be been before but by ",
        ['c' - 'a'] = " can could ",
        ['d' - 'a'] = " do ",
        ['f' - 'a'] = " for from ",
        ['h' - 'a'] = " had has have he her his ",
        ['i' - 'a'] = " if in into is it its ",
        ['m' - 'a'] = " may me more most my ",
        ['n' - 'a'] = " no not ",
        ['o' - 'a'] = " of on one only or other our out over ",
        ['s' - 'a'] = " said she should so some such ",
        ['t' - 'a'] = " than that the their them then there these they this to ",
        ['u' - 'a'] = " up ",
        ['v' - 'a'] = " very ",
        ['w' - 'a'] = " was we were what when which who will with would ",
        ['y' - 'a'] = " you your ",
    };
    if (len > 6 || padded[1] < 'a' || padded[1] > 'z' || words[padded[1] - 'a'] == NULL)
        return false;
    const char *list = words[padded[1] - 'a'];
    return memmem(list, strlen(list), padded, len + 2) != NULL;
}

/* `padded` has a space before and after the word. */
static void embed_add_word(struct embed_sum *sum, const char *padded, size_t len)
{
    if (len == 1 || embed_is_common(padded, len))
        return;
    uint32_t whole = 2166136261u;
    for (size_t i = 1; i <= len; i++)
        whole = (whole ^ (unsigned char)padded[i]) * 16777619u;
    embed_add(sum, whole, EMBED_WORD_SCALE);
    for (size_t i = 0; i + EMBED_GRAM <= len + 2; i++) {
        const unsigned char *s = (const unsigned char *)padded + i;
        embed_add(
            sum, (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24,
            1);
    }
}

/* Letters, digits and whatever is not ASCII, in lower case; 0 if the byte separates words. */
static char embed_letter(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c >= 0x80)
        return (char)c;
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : 0;
}

/* Values beyond four times their root mean square are cut off: single words do not decide. */
static void embed_quantize(const int32_t dims[EMBED_DIM], int8_t ret[EMBED_DIM])
{
    double squares = 0;
    for (size_t i = 0; i < EMBED_DIM; i++)
        squares += (double)dims[i] * dims[i];
    double scale = squares > 0 ? EMBED_LEVEL_MAX / (4 * sqrt(squares / EMBED_DIM)) : 0;
    for (size_t i = 0; i < EMBED_DIM; i++) {
        double level = nearbyint(dims[i] * scale);
        ret[i] = (int8_t)MAX(-EMBED_LEVEL_MAX, MIN(EMBED_LEVEL_MAX, level));
    }
}

void embed_text(const char *text, size_t len, int8_t ret[EMBED_DIM])
{
    struct embed_sum sum = {0};
    char padded[EMBED_WORD_MAX + 2] = " ";
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = embed_letter((unsigned char)text[i]);
        if (c != 0)
            padded[++n] = c;
        if (n > 0 && (c == 0 || n == EMBED_WORD_MAX || i + 1 == len)) {
            padded[n + 1] = ' ';
            embed_add_word(&sum, padded, n);
            n = 0;
        }
    }
    embed_quantize(sum.dims, ret);
}

static int32_t embed_dot(const int8_t *restrict a, const int8_t *restrict b)
{
    int32_t sum = 0;
    for (size_t i = 0; i < EMBED_DIM; i++)
        sum += a[i] * b[i];
    return sum;
}

float embed_cosine(const int8_t a[EMBED_DIM], const int8_t b[EMBED_DIM])
{
    float squares = (float)embed_dot(a, a) * (float)embed_dot(b, b);
    return squares > 0 ? (float)embed_dot(a, b) / sqrtf(squares) : 0;
}

/* '#' is the least: the quotation mark is below it, the backslash just above '['. */
void embed_write(const int8_t v[EMBED_DIM], char ret[EMBED_DIM + 1])
{
    for (size_t i = 0; i < EMBED_DIM; i++)
        ret[i] = (char)('#' + EMBED_LEVEL_MAX + v[i]);
    ret[EMBED_DIM] = '\0';
}

/* Without a way out of the loop, so that it is done to many characters at once. */
bool embed_read(const char *restrict text, size_t len, int8_t ret[restrict EMBED_DIM])
{
    if (len != EMBED_DIM)
        return false;
    unsigned char is_wrong = 0;
    for (size_t i = 0; i < EMBED_DIM; i++) {
        unsigned char level = (unsigned char)(text[i] - '#');
        is_wrong |= level > 2 * EMBED_LEVEL_MAX;
        ret[i] = (int8_t)(level - EMBED_LEVEL_MAX);
    }
    return !is_wrong;
}
