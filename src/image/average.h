/* Rows of a picture in, rows of a smaller one out: each pixel is the average of those that it
 * covers. */
#pragma once

#include "base/base.h"

/* Distances are counted in parts of which a pixel of the picture has `to_width` and one of the
 * result `width` (or the heights): so every share of a pixel is a whole number. */
struct average {
    uint32_t width, height, to_width, to_height; /* the result is not larger */
    unsigned channels;
    bool has_alpha;   /* the last channel; then colours are weighed by it */
    double *narrow;   /* one row of the picture, as wide as the result */
    double *sums;     /* one row of the result, under way */
    uint8_t *made;    /* one row of the result */
    uint64_t missing; /* parts that this row still wants */
};

/* After the sizes were set. False if there is no memory. */
bool average_begin(struct average *a);
/* The next row; a row of the result if it completes one, else NULL. */
const uint8_t *average_add(struct average *a, const uint8_t *row);
void average_end(struct average *a); /* also if average_begin was not called */
