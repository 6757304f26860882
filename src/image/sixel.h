/* Rows of a picture as sixels, the form in which terminals since the VT240 draw pictures: bands of
 * six rows, in each of them one line of characters for each colour. */
#pragma once

#include "image/average.h"
#include "image/scale.h"

enum { SIXEL_ROWS = 6 };

struct sixels {
    const struct scale_io *io;
    uint32_t width, y;
    unsigned channels;
    uint8_t *band; /* six rows of colours, by their numbers */
    bool has_failed;
};

/* Of the size that `a` makes. False: there is no memory. */
bool sixels_begin(struct sixels *s, const struct scale_io *io, const struct average *a);
void sixels_add(struct sixels *s, const uint8_t *row);
bool sixels_end(struct sixels *s); /* false: what was made was not taken */
void sixels_free(struct sixels *s);
