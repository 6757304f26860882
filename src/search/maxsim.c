/* Sums of greatest dot products, with what the processor has for it. In a box, and in tests. */
#include "search/maxsim.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define MAXSIM_HAS_X86 1
#ifdef __clang__
#define MAXSIM_UNROLL _Pragma("unroll")
#else
#define MAXSIM_UNROLL _Pragma("GCC unroll 8")
#endif
#else
#define MAXSIM_HAS_X86 0
#endif

static int64_t maxsim_plain(const struct maxsim_matrix *q, const struct maxsim_matrix *t)
{
    int64_t total = 0;
    for (size_t i = 0; i < q->rows; i++) {
        int32_t best = INT32_MIN;
        for (size_t j = 0; j < t->rows; j++) {
            int32_t sum = 0;
            for (size_t k = 0; k < q->dims; k++)
                sum += q->data[i * q->dims + k] * t->data[j * t->dims + k];
            best = MAX(best, sum);
        }
        total += best;
    }
    return total;
}

#if MAXSIM_HAS_X86

enum {
    MAXSIM_LANES = 8,  /* rows of a text side by side, */
    MAXSIM_BLOCK = 16, /* twice so many at a time, with */
    MAXSIM_ASKED = 4,  /* rows of the question */
};

/* Eight rows of a text, turned: each 32 bytes are four numbers of eight rows. What is missing at
 * the end is the last row again, which changes no greatest product. */
__attribute__((target("avx2"))) static void maxsim_turn(const struct maxsim_matrix *t, size_t row,
                                                        __m256i *to)
{
    for (size_t k = 0; k < t->dims; k += MAXSIM_STEP) {
        __m256i r[MAXSIM_LANES], a[MAXSIM_LANES], b[MAXSIM_LANES];
        for (size_t n = 0; n < MAXSIM_LANES; n++)
            r[n] = _mm256_loadu_si256(
                (const __m256i *)(const void *)(t->data + MIN(row + n, t->rows - 1) * t->dims + k));
        for (size_t n = 0; n < MAXSIM_LANES; n += 2) {
            a[n] = _mm256_unpacklo_epi32(r[n], r[n + 1]);
            a[n + 1] = _mm256_unpackhi_epi32(r[n], r[n + 1]);
        }
        for (size_t n = 0; n < MAXSIM_LANES; n += 4) {
            b[n] = _mm256_unpacklo_epi64(a[n], a[n + 2]);
            b[n + 1] = _mm256_unpackhi_epi64(a[n], a[n + 2]);
            b[n + 2] = _mm256_unpacklo_epi64(a[n + 1], a[n + 3]);
            b[n + 3] = _mm256_unpackhi_epi64(a[n + 1], a[n + 3]);
        }
        for (size_t n = 0; n < MAXSIM_LANES / 2; n++) {
            to[k / 4 + n] = _mm256_permute2x128_si256(b[n], b[n + 4], 0x20);
            to[k / 4 + n + 4] = _mm256_permute2x128_si256(b[n], b[n + 4], 0x31);
        }
    }
}

__attribute__((target("avx2"))) static inline int32_t maxsim_greatest(__m256i eight)
{
    __m128i best = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    best = _mm_max_epi32(best, _mm_shuffle_epi32(best, 0x4e));
    best = _mm_max_epi32(best, _mm_shuffle_epi32(best, 0xb1));
    return _mm_cvtsi128_si32(best);
}

/* Four numbers of a row of the question, eight times. */
__attribute__((target("avx2"))) static inline __m256i maxsim_four(const int8_t *at)
{
    int32_t four;
    memcpy(&four, at, sizeof(four));
    return _mm256_set1_epi32(four);
}

/* |a| times b with the sign of a is a times b, and pairs of such products fit into 16 bits. */
__attribute__((target("avx2"))) static inline __m256i maxsim_add_avx2(__m256i sum, __m256i a,
                                                                      __m256i b)
{
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

__attribute__((target("avx2"))) static int64_t maxsim_avx2(const struct maxsim_matrix *q,
                                                           const struct maxsim_matrix *t)
{
    size_t n = q->dims / 4;
    int64_t total = 0;
    __m256i low[MAXSIM_DIMS_MAX / 4], high[MAXSIM_DIMS_MAX / 4];
    __m256i best[MAXSIM_ROWS_MAX + MAXSIM_ASKED];
    for (size_t i = 0; i < q->rows + MAXSIM_ASKED; i++)
        best[i] = _mm256_set1_epi32(INT32_MIN);
    for (size_t j = 0; j < t->rows; j += MAXSIM_BLOCK) {
        maxsim_turn(t, j, low);
        maxsim_turn(t, j + MAXSIM_LANES, high);
        for (size_t i = 0; i < q->rows; i += MAXSIM_ASKED) {
            const int8_t *rows[MAXSIM_ASKED];
            __m256i a[MAXSIM_ASKED], b[MAXSIM_ASKED];
            for (size_t r = 0; r < MAXSIM_ASKED; r++) {
                rows[r] = q->data + MIN(i + r, q->rows - 1) * q->dims;
                a[r] = b[r] = _mm256_setzero_si256();
            }
            for (size_t k = 0; k < n; k++) {
                MAXSIM_UNROLL
                for (size_t r = 0; r < MAXSIM_ASKED; r++) {
                    __m256i four = maxsim_four(rows[r] + 4 * k);
                    a[r] = maxsim_add_avx2(a[r], four, low[k]);
                    b[r] = maxsim_add_avx2(b[r], four, high[k]);
                }
            }
            for (size_t r = 0; r < MAXSIM_ASKED; r++)
                best[i + r] = _mm256_max_epi32(best[i + r], _mm256_max_epi32(a[r], b[r]));
        }
    }
    for (size_t i = 0; i < q->rows; i++)
        total += maxsim_greatest(best[i]);
    return total;
}

#define MAXSIM_512 "avx2,avx512f,avx512bw,avx512vl,avx512vnni"

/* Sixteen rows of the text at a time, and eight of the question: here those of the text are without
 * a sign, so what 128 adds is the same for all of them. */
__attribute__((target(MAXSIM_512))) static int64_t maxsim_vnni(const struct maxsim_matrix *q,
                                                               const struct maxsim_matrix *t)
{
    enum { ASKED = 8 };
    size_t n = q->dims / 4;
    int64_t total = 0;
    __m256i half[MAXSIM_DIMS_MAX / 4];
    __m512i turned[MAXSIM_DIMS_MAX / 4], best[MAXSIM_ROWS_MAX + ASKED];
    for (size_t i = 0; i < q->rows + ASKED; i++)
        best[i] = _mm512_set1_epi32(INT32_MIN);
    for (size_t j = 0; j < t->rows; j += MAXSIM_BLOCK) {
        maxsim_turn(t, j, half);
        for (size_t k = 0; k < n; k++)
            turned[k] = _mm512_castsi256_si512(half[k]);
        maxsim_turn(t, j + MAXSIM_LANES, half);
        for (size_t k = 0; k < n; k++)
            turned[k] =
                _mm512_xor_si512(_mm512_inserti64x4(turned[k], half[k], 1), _mm512_set1_epi8(-128));
        for (size_t i = 0; i < q->rows; i += ASKED) {
            const int8_t *rows[ASKED];
            __m512i sums[ASKED];
            for (size_t r = 0; r < ASKED; r++) {
                rows[r] = q->data + MIN(i + r, q->rows - 1) * q->dims;
                sums[r] = _mm512_setzero_si512();
            }
            for (size_t k = 0; k < n; k++) {
                int32_t four;
                MAXSIM_UNROLL for (size_t r = 0; r < ASKED; r++)
                {
                    memcpy(&four, rows[r] + 4 * k, sizeof(four));
                    sums[r] = _mm512_dpbusd_epi32(sums[r], turned[k], _mm512_set1_epi32(four));
                }
            }
            MAXSIM_UNROLL for (size_t r = 0; r < ASKED; r++) best[i + r] =
                _mm512_max_epi32(best[i + r], sums[r]);
        }
    }
    for (size_t i = 0; i < q->rows; i++) {
        int32_t added = 0;
        for (size_t k = 0; k < q->dims; k++)
            added += q->data[i * q->dims + k];
        total += _mm512_reduce_max_epi32(best[i]) - 128 * added;
    }
    return total;
}

#endif

static bool maxsim_can(enum maxsim_way way)
{
#if MAXSIM_HAS_X86
    if (way == MAXSIM_AVX2)
        return __builtin_cpu_supports("avx2");
    if (way == MAXSIM_VNNI)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#endif
    return way == MAXSIM_PLAIN;
}

bool maxsim_by(enum maxsim_way way, const struct maxsim_matrix *question,
               const struct maxsim_matrix *text, int64_t *ret)
{
    *ret = 0;
    if (!maxsim_can(way))
        return false;
    if (question->rows == 0 || text->rows == 0 || question->dims != text->dims ||
        question->rows > MAXSIM_ROWS_MAX || question->dims > MAXSIM_DIMS_MAX)
        return true;
#if MAXSIM_HAS_X86
    if (way == MAXSIM_VNNI)
        *ret = maxsim_vnni(question, text);
    else if (way == MAXSIM_AVX2)
        *ret = maxsim_avx2(question, text);
    else
#endif
        *ret = maxsim_plain(question, text);
    return true;
}

int64_t maxsim(const struct maxsim_matrix *question, const struct maxsim_matrix *text)
{
    int64_t sum;
    if (!maxsim_by(MAXSIM_VNNI, question, text, &sum) &&
        !maxsim_by(MAXSIM_AVX2, question, text, &sum))
        maxsim_by(MAXSIM_PLAIN, question, text, &sum);
    return sum;
}

bool maxsim_pack(const float *values, size_t dims, int8_t *ret, size_t padded)
{
    double squares = 0;
    memset(ret, 0, padded);
    for (size_t i = 0; i < dims; i++)
        squares += (double)values[i] * (double)values[i];
    if (!(squares > 1e-30 && squares < 1e30))
        return false;
    double scale = MAXSIM_SCALE / sqrt(squares);
    for (size_t i = 0; i < MIN(dims, padded); i++)
        ret[i] = (int8_t)MAX(-127.0, MIN(127.0, nearbyint((double)values[i] * scale)));
    return true;
}
