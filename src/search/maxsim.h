/* Late interaction: how well a question fits a text, each given as a matrix of one vector for each
 * token. For each vector of the question the best of the text counts (its dot product), and these
 * are added up. Vectors are of 8-bit numbers, of length MAXSIM_SCALE; the sum is exact, and the
 * same whatever the processor can do. */
#pragma once

#include "base/base.h"

enum {
    MAXSIM_STEP = 32, /* a vector has a multiple of so many numbers, the last ones 0 */
    MAXSIM_DIMS_MAX = 4096,
    MAXSIM_ROWS_MAX = 512, /* of one matrix */
    MAXSIM_SCALE = 127,
};

struct maxsim_matrix {
    const int8_t *data; /* -127 to 127 */
    size_t rows, dims;  /* dims: a multiple of MAXSIM_STEP */
};

/* The sum over the rows of `question` of the greatest dot product with a row of `text`, in parts of
 * MAXSIM_SCALE squared; 0 if one of them has no rows or too many, or if they are not of the same
 * dims. */
int64_t maxsim(const struct maxsim_matrix *question, const struct maxsim_matrix *text);

/* A vector made to length 1, then to 8 bits; `dims` numbers, padded to `padded`. False if it has no
 * length. */
bool maxsim_pack(const float *values, size_t dims, int8_t *ret, size_t padded);

/* For tests and the bench: the ways there are. False if the processor cannot go it. */
enum maxsim_way { MAXSIM_PLAIN, MAXSIM_AVX2, MAXSIM_VNNI };
bool maxsim_by(enum maxsim_way way, const struct maxsim_matrix *question,
               const struct maxsim_matrix *text, int64_t *ret);
