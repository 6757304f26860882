/* What a text is about, as a vector: its words and their runs of four letters, each hashed to a
 * dimension and a sign. No model and no endpoint: texts with the same words are near each other,
 * texts that say the same in other words are not. Neither case nor order of words counts; of a word
 * that comes again and again each further time counts less; the commonest English words not at all.
 */
#pragma once

#include "base/base.h"

enum {
    EMBED_DIM = 256,
    EMBED_LEVEL_MAX = 28, /* values are -28 to 28, so that each can be written as one character */
};

/* Any bytes, less than 1 GiB; those of an empty text are all 0. The same text gives the same vector
 * on every machine and in every version, because vectors are kept. */
void embed_text(const char *text, size_t len, int8_t ret[EMBED_DIM]);

/* -1 to 1; 0 if one of them is all 0. */
float embed_cosine(const int8_t a[EMBED_DIM], const int8_t b[EMBED_DIM]);

/* A vector as EMBED_DIM characters between '#' and '[', which JSON does not escape. */
void embed_write(const int8_t v[EMBED_DIM], char ret[EMBED_DIM + 1]);
/* False if the text is no vector; then what was written means nothing. */
bool embed_read(const char *restrict text, size_t len, int8_t ret[restrict EMBED_DIM]);
