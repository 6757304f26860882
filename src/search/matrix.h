/* Vectors out of the answer of an encoder: JSON in which each innermost list of numbers is a
 * vector, and what holds such lists side by side is the matrix of one text:
 * {"embeddings":[[[…],…],…]} as NextPLAID has it, {"data":[{"embedding":[…]},…]} as OpenAI has it.
 * Any bytes may come. */
#pragma once

#include "base/err.h"
#include "search/maxsim.h"

struct matrix {
    int8_t *data;
    size_t rows, dims; /* as struct maxsim_matrix */
};

/* Exactly `n` matrices, of the same dims; the caller frees each `data`. -1: none of them is there.
 * Vectors without a length are left out; what comes after MAXSIM_ROWS_MAX, too. */
int matrix_read(const char *text, size_t len, struct matrix *ret, size_t n, struct err *e);
