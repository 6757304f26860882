/* Rows of pixels averaged into smaller ones. Runs in a box. */
#include "image/average.h"

#include <stdlib.h>
#include <string.h>

bool average_begin(struct average *a)
{
    size_t n = (size_t)a->to_width * a->channels;
    a->narrow = calloc(n, sizeof(double));
    a->sums = calloc(n, sizeof(double));
    a->made = calloc(n, 1);
    a->missing = a->height;
    return a->narrow != NULL && a->sums != NULL && a->made != NULL;
}

void average_end(struct average *a)
{
    free(a->narrow);
    free(a->sums);
    free(a->made);
}

/* The colour of what is transparent must not show. */
static void add_pixel(const struct average *a, double *sum, const uint8_t *pixel, double parts)
{
    if (!a->has_alpha) {
        for (unsigned c = 0; c < a->channels; c++)
            sum[c] += pixel[c] * parts;
        return;
    }
    double alpha = pixel[a->channels - 1] * parts;
    for (unsigned c = 0; c < a->channels - 1; c++)
        sum[c] += pixel[c] * alpha;
    sum[a->channels - 1] += alpha;
}

static void narrow_row(const struct average *a, const uint8_t *row)
{
    double *sum = a->narrow;
    uint64_t missing = a->width;
    memset(a->narrow, 0, (size_t)a->to_width * a->channels * sizeof(double));
    for (uint32_t x = 0; x < a->width; x++, row += a->channels) {
        for (uint64_t left = a->to_width; left > 0;) {
            uint64_t parts = MIN(left, missing);
            add_pixel(a, sum, row, (double)parts);
            left -= parts;
            missing -= parts;
            if (missing == 0) {
                sum += a->channels;
                missing = a->width;
            }
        }
    }
}

static uint8_t rounded(double value)
{
    return value >= 255 ? 255 : (uint8_t)(value + 0.5);
}

/* One row has never more parts than one of the result wants, so it completes one at most. */
const uint8_t *average_add(struct average *a, const uint8_t *row)
{
    size_t n = (size_t)a->to_width * a->channels;
    bool is_made = false;
    narrow_row(a, row);
    for (uint64_t left = a->to_height; left > 0;) {
        uint64_t parts = MIN(left, a->missing);
        for (size_t i = 0; i < n; i++)
            a->sums[i] += a->narrow[i] * (double)parts;
        left -= parts;
        a->missing -= parts;
        if (a->missing > 0)
            continue;
        double all = (double)a->width * a->height;
        for (uint32_t x = 0; x < a->to_width; x++) {
            const double *sum = a->sums + (size_t)x * a->channels;
            uint8_t *pixel = a->made + (size_t)x * a->channels;
            double alpha = a->has_alpha ? sum[a->channels - 1] : all;
            for (unsigned c = 0; c < a->channels - (a->has_alpha ? 1 : 0); c++)
                pixel[c] = alpha > 0 ? rounded(sum[c] / alpha) : 0;
            if (a->has_alpha)
                pixel[a->channels - 1] = rounded(alpha / all);
        }
        is_made = true;
        memset(a->sums, 0, n * sizeof(double));
        a->missing = a->height;
    }
    return is_made ? a->made : NULL;
}
