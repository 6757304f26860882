/* Counting in bytes, at the speed of memory. Pure functions; in a box, and in tests. */
#include "explore/scan.h"

#include "base/utf8.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define SCAN_AVX2 __attribute__((target("avx2")))

static bool scan_has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
#endif

static void scan_measure_plain(const char *data, size_t len, struct scan_counts *c)
{
    unsigned char seen = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)data[i];
        seen |= byte;
        c->newlines += byte == '\n';
        c->continuations += (byte & 0xc0) == 0x80;
    }
    c->is_ascii = c->is_ascii && seen < 0x80;
}

#if defined(__x86_64__)
/* Counters of eight bits each, which are summed before any can overflow. */
enum { SCAN_STEPS = 255 };

SCAN_AVX2 static size_t scan_sum_avx2(__m256i counters)
{
    __m256i sums = _mm256_sad_epu8(counters, _mm256_setzero_si256());
    return (size_t)_mm256_extract_epi64(sums, 0) + (size_t)_mm256_extract_epi64(sums, 1) +
           (size_t)_mm256_extract_epi64(sums, 2) + (size_t)_mm256_extract_epi64(sums, 3);
}

SCAN_AVX2 static size_t scan_measure_avx2(const char *data, size_t len, struct scan_counts *c)
{
    const __m256i newline = _mm256_set1_epi8('\n'), lead = _mm256_set1_epi8((char)0xc0);
    __m256i seen = _mm256_setzero_si256();
    size_t at = 0;
    while (len - at >= 32) {
        __m256i newlines = _mm256_setzero_si256(), continuations = newlines;
        size_t steps = MIN((len - at) / 32, (size_t)SCAN_STEPS);
        for (size_t i = 0; i < steps; i++, at += 32) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(data + at));
            seen = _mm256_or_si256(seen, bytes);
            newlines = _mm256_sub_epi8(newlines, _mm256_cmpeq_epi8(bytes, newline));
            continuations = _mm256_sub_epi8(continuations, _mm256_cmpgt_epi8(lead, bytes));
        }
        c->newlines += scan_sum_avx2(newlines);
        c->continuations += scan_sum_avx2(continuations);
    }
    c->is_ascii = _mm256_movemask_epi8(seen) == 0;
    return at;
}

static size_t scan_sum_sse2(__m128i counters)
{
    __m128i sums = _mm_sad_epu8(counters, _mm_setzero_si128());
    return (size_t)_mm_cvtsi128_si64(sums) + (size_t)_mm_cvtsi128_si64(_mm_srli_si128(sums, 8));
}

static size_t scan_measure_sse2(const char *data, size_t len, struct scan_counts *c)
{
    const __m128i newline = _mm_set1_epi8('\n'), lead = _mm_set1_epi8((char)0xc0);
    __m128i seen = _mm_setzero_si128();
    size_t at = 0;
    while (len - at >= 16) {
        __m128i newlines = _mm_setzero_si128(), continuations = newlines;
        size_t steps = MIN((len - at) / 16, (size_t)SCAN_STEPS);
        for (size_t i = 0; i < steps; i++, at += 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + at));
            seen = _mm_or_si128(seen, bytes);
            newlines = _mm_sub_epi8(newlines, _mm_cmpeq_epi8(bytes, newline));
            continuations = _mm_sub_epi8(continuations, _mm_cmplt_epi8(bytes, lead));
        }
        c->newlines += scan_sum_sse2(newlines);
        c->continuations += scan_sum_sse2(continuations);
    }
    c->is_ascii = _mm_movemask_epi8(seen) == 0;
    return at;
}
#endif

void scan_measure(const char *data, size_t len, struct scan_counts *ret)
{
    size_t at = 0;
    *ret = (struct scan_counts){.is_ascii = true};
#if defined(__x86_64__)
    at = scan_has_avx2() ? scan_measure_avx2(data, len, ret) : scan_measure_sse2(data, len, ret);
#endif
    scan_measure_plain(data + at, len - at, ret);
}

size_t scan_count_newlines(const char *data, size_t len)
{
    struct scan_counts counts;
    scan_measure(data, len, &counts);
    return counts.newlines;
}

#if defined(__x86_64__)
/* UTF-8 by the method of Keiser and Lemire (2021): what is wrong with two bytes that follow each
 * other is told by their first three nibbles, each of which allows some of eight mistakes; the
 * mistake that all three allow was made. A continuation after another is one of these mistakes, or
 * right if it is the third or fourth byte of a character. */
enum {
    UTF8_SHORT = 1,       /* a lead without its continuation */
    UTF8_LONG = 2,        /* a continuation after ASCII */
    UTF8_OVERLONG_3 = 4,  /* e0 80 to e0 9f */
    UTF8_LARGE = 8,       /* f4 90 and above */
    UTF8_SURROGATE = 16,  /* ed a0 to ed bf */
    UTF8_OVERLONG_2 = 32, /* c0 and c1 */
    UTF8_LARGE_OR_4 = 64, /* f5 and above with 80 to 8f, or f0 80 to f0 8f */
    UTF8_TWO = 128,       /* a continuation after another */
    UTF8_ANY_LOW = UTF8_SHORT | UTF8_LONG | UTF8_TWO, /* whatever the second nibble is */
    UTF8_FROM_80 = UTF8_LONG | UTF8_OVERLONG_2 | UTF8_TWO,
    UTF8_BEYOND = UTF8_ANY_LOW | UTF8_LARGE | UTF8_LARGE_OR_4,
};

static const uint8_t scan_first_nibble[16] = {
    UTF8_LONG,
    UTF8_LONG,
    UTF8_LONG,
    UTF8_LONG,
    UTF8_LONG,
    UTF8_LONG,
    UTF8_LONG,
    UTF8_LONG,
    UTF8_TWO,
    UTF8_TWO,
    UTF8_TWO,
    UTF8_TWO,
    UTF8_SHORT | UTF8_OVERLONG_2,
    UTF8_SHORT,
    UTF8_SHORT | UTF8_OVERLONG_3 | UTF8_SURROGATE,
    UTF8_SHORT | UTF8_LARGE | UTF8_LARGE_OR_4,
};
static const uint8_t scan_second_nibble[16] = {
    UTF8_ANY_LOW | UTF8_OVERLONG_3 | UTF8_OVERLONG_2 | UTF8_LARGE_OR_4,
    UTF8_ANY_LOW | UTF8_OVERLONG_2,
    UTF8_ANY_LOW,
    UTF8_ANY_LOW,
    UTF8_ANY_LOW | UTF8_LARGE,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND,
    UTF8_BEYOND | UTF8_SURROGATE,
    UTF8_BEYOND,
    UTF8_BEYOND,
};
static const uint8_t scan_third_nibble[16] = {
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_FROM_80 | UTF8_OVERLONG_3 | UTF8_LARGE_OR_4,
    UTF8_FROM_80 | UTF8_OVERLONG_3 | UTF8_LARGE,
    UTF8_FROM_80 | UTF8_SURROGATE | UTF8_LARGE,
    UTF8_FROM_80 | UTF8_SURROGATE | UTF8_LARGE,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
    UTF8_SHORT,
};

SCAN_AVX2 static __m256i scan_table(const uint8_t table[16], __m256i nibbles)
{
    __m128i half = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(half), nibbles);
}

/* What is wrong in 32 bytes that come after `before`; all zero if nothing is. */
SCAN_AVX2 static __m256i scan_utf8_errors(__m256i before, __m256i bytes)
{
    const __m256i low = _mm256_set1_epi8(0x0f);
    __m256i middle = _mm256_permute2x128_si256(before, bytes, 0x21);
    __m256i one_back = _mm256_alignr_epi8(bytes, middle, 15);
    __m256i two_back = _mm256_alignr_epi8(bytes, middle, 14);
    __m256i three_back = _mm256_alignr_epi8(bytes, middle, 13);
    __m256i first = _mm256_and_si256(_mm256_srli_epi16(one_back, 4), low);
    __m256i second = _mm256_and_si256(one_back, low);
    __m256i third = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
    __m256i mistakes = _mm256_and_si256(_mm256_and_si256(scan_table(scan_first_nibble, first),
                                                         scan_table(scan_second_nibble, second)),
                                        scan_table(scan_third_nibble, third));
    /* Two continuations must be there after a lead of three or four bytes, and nowhere else. */
    __m256i of_three = _mm256_subs_epu8(two_back, _mm256_set1_epi8(0xe0 - 0x80));
    __m256i of_four = _mm256_subs_epu8(three_back, _mm256_set1_epi8(0xf0 - 0x80));
    __m256i must =
        _mm256_and_si256(_mm256_or_si256(of_three, of_four), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(must, mistakes);
}

SCAN_AVX2 static bool scan_is_utf8_avx2(const char *data, size_t len)
{
    __m256i before = _mm256_setzero_si256(), errors = before;
    size_t at = 0;
    for (; len - at >= 32; at += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(data + at));
        errors = _mm256_or_si256(errors, scan_utf8_errors(before, bytes));
        before = bytes;
    }
    /* The rest, and zeros: a character that is cut off is not followed by what it wants. */
    char rest[32] = {0};
    memcpy(rest, data + at, len - at);
    __m256i last = _mm256_loadu_si256((const __m256i *)(const void *)rest);
    errors = _mm256_or_si256(errors, scan_utf8_errors(before, last));
    return _mm256_testz_si256(errors, errors);
}
#endif

bool scan_is_utf8(const char *data, size_t len)
{
#if defined(__x86_64__)
    if (scan_has_avx2())
        return scan_is_utf8_avx2(data, len);
#endif
    return utf8_is_valid(data, len);
}

bool scan_is_ascii(const char *data, size_t len)
{
    struct scan_counts counts;
    scan_measure(data, len, &counts);
    return counts.is_ascii;
}

/* ---- literals -------------------------------------------------------------------------------- */

/* From the most common byte of texts and programs to the rarest; what is not here is rarer. */
static unsigned scan_rank(char byte)
{
    enum { SCAN_CAPITAL = 28 }; /* how much rarer a letter is if it is one */
    static const char common[] = " etaoisnrlcdpumhfgb_y-.,0w1kv()/\"2x\n:=*;3>#'54<6q98j7z[]@{}";
    if (byte >= 'A' && byte <= 'Z')
        return SCAN_CAPITAL + scan_rank((char)(byte | 0x20));
    const char *found = byte != '\0' ? strchr(common, byte) : NULL;
    return found != NULL ? (unsigned)(found - common) : (unsigned)sizeof(common);
}

unsigned scan_rarity(const char *text, size_t len)
{
    unsigned sum = 0;
    for (size_t i = 0; i < len && sum < 1000; i++)
        sum += scan_rank(text[i]);
    return sum;
}

void scan_needle_set(struct scan_needle *needle, const char *text, size_t len, bool is_cased)
{
    size_t best = 0, next = len > 1 ? 1 : 0;
    *needle = (struct scan_needle){.text = text, .len = len, .is_cased = is_cased};
    if (len > 1 && scan_rank(text[1]) > scan_rank(text[0])) {
        best = 1;
        next = 0;
    }
    /* Both within one page, so that the second load is seldom a miss. */
    for (size_t i = 2; i < MIN(len, (size_t)256); i++) {
        if (scan_rank(text[i]) > scan_rank(text[best])) {
            next = best;
            best = i;
        } else if (scan_rank(text[i]) > scan_rank(text[next])) {
            next = i;
        }
    }
    needle->first = MIN(best, next);
    needle->second = MAX(best, next);
}

/* What makes lower case of a byte if it is meant to be this letter: 'K' | 0x20 is 'k', and nothing
 * else becomes it. */
static char scan_case(const struct scan_needle *needle, char letter)
{
    return !needle->is_cased && letter >= 'a' && letter <= 'z' ? 0x20 : 0;
}

static bool scan_is_here(const struct scan_needle *needle, const char *data)
{
    if (needle->is_cased)
        return memcmp(data, needle->text, needle->len) == 0;
    for (size_t i = 0; i < needle->len; i++)
        if ((char)(data[i] | scan_case(needle, needle->text[i])) != needle->text[i])
            return false;
    return true;
}

static size_t scan_find_plain(const struct scan_needle *needle, const char *data, size_t at,
                              size_t len)
{
    const char wanted = needle->text[needle->first], in_case = scan_case(needle, wanted);
    for (; at + needle->len <= len; at++)
        if ((char)(data[at + needle->first] | in_case) == wanted && scan_is_here(needle, data + at))
            return at;
    return len;
}

#if defined(__x86_64__)
/* Places where both bytes are right, 32 at a time. Sets `*ret_at` to where it found one and returns
 * true, or to where fewer than 32 places are left. */
SCAN_AVX2 static bool scan_find_avx2(const struct scan_needle *needle, const char *data, size_t len,
                                     size_t *ret_at)
{
    char a = needle->text[needle->first], b = needle->text[needle->second];
    const __m256i first = _mm256_set1_epi8(a), first_case = _mm256_set1_epi8(scan_case(needle, a));
    const __m256i second = _mm256_set1_epi8(b),
                  second_case = _mm256_set1_epi8(scan_case(needle, b));
    const char *from = data + needle->first, *other = data + needle->second;
    size_t at = 0, last = len - needle->len + 1; /* places */
    for (; last - at >= 32; at += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(from + at));
        __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)(other + at));
        x = _mm256_cmpeq_epi8(_mm256_or_si256(x, first_case), first);
        y = _mm256_cmpeq_epi8(_mm256_or_si256(y, second_case), second);
        unsigned found = (unsigned)_mm256_movemask_epi8(_mm256_and_si256(x, y));
        for (; found != 0; found &= found - 1) {
            size_t place = at + (size_t)__builtin_ctz(found);
            if (scan_is_here(needle, data + place)) {
                *ret_at = place;
                return true;
            }
        }
    }
    *ret_at = at;
    return false;
}

static bool scan_find_sse2(const struct scan_needle *needle, const char *data, size_t len,
                           size_t *ret_at)
{
    char a = needle->text[needle->first], b = needle->text[needle->second];
    const __m128i first = _mm_set1_epi8(a), first_case = _mm_set1_epi8(scan_case(needle, a));
    const __m128i second = _mm_set1_epi8(b), second_case = _mm_set1_epi8(scan_case(needle, b));
    const char *from = data + needle->first, *other = data + needle->second;
    size_t at = 0, last = len - needle->len + 1; /* places */
    for (; last - at >= 16; at += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(from + at));
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(other + at));
        x = _mm_cmpeq_epi8(_mm_or_si128(x, first_case), first);
        y = _mm_cmpeq_epi8(_mm_or_si128(y, second_case), second);
        unsigned found = (unsigned)_mm_movemask_epi8(_mm_and_si128(x, y));
        for (; found != 0; found &= found - 1) {
            size_t place = at + (size_t)__builtin_ctz(found);
            if (scan_is_here(needle, data + place)) {
                *ret_at = place;
                return true;
            }
        }
    }
    *ret_at = at;
    return false;
}
#endif

size_t scan_find(const struct scan_needle *needle, const char *data, size_t len)
{
    size_t at = 0;
    if (len < needle->len)
        return len;
#if defined(__x86_64__)
    if (scan_has_avx2() ? scan_find_avx2(needle, data, len, &at)
                        : scan_find_sse2(needle, data, len, &at))
        return at;
#endif
    return scan_find_plain(needle, data, at, len);
}
