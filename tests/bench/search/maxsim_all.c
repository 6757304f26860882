/* For search.py: MaxSim with many texts, in one call. */
#include "search/maxsim.h"

void maxsim_all(const int8_t *question, size_t asked, const int8_t *texts, size_t n, size_t rows,
                size_t dims, int64_t *ret);

void maxsim_all(const int8_t *question, size_t asked, const int8_t *texts, size_t n, size_t rows,
                size_t dims, int64_t *ret)
{
    struct maxsim_matrix q = {question, asked, dims};
    for (size_t i = 0; i < n; i++) {
        struct maxsim_matrix text = {texts + i * rows * dims, rows, dims};
        ret[i] = maxsim(&q, &text);
    }
}
