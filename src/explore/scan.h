/* What is done to very many bytes at once: SIMD, chosen when the program runs, and plain C where
 * the machine has none. */
#pragma once

#include "base/base.h"

struct scan_counts {
    size_t newlines;
    size_t continuations; /* bytes 0x80 to 0xbf: in valid UTF-8, those that begin no character */
    bool is_ascii;
};

void scan_measure(const char *data, size_t len, struct scan_counts *ret);
size_t scan_count_newlines(const char *data, size_t len);
/* Whether all of it is valid UTF-8 and no character is cut off at its end. */
bool scan_is_utf8(const char *data, size_t len);
bool scan_is_ascii(const char *data, size_t len);

/* A literal that is looked for, in any case of ASCII letters unless it is cased. */
struct scan_needle {
    const char *text; /* in lower case unless it is cased; the caller's */
    size_t len;       /* not 0 */
    bool is_cased;
    size_t first, second; /* the places of its two rarest bytes; the same if it has one byte */
};

void scan_needle_set(struct scan_needle *needle, const char *text, size_t len, bool is_cased);
/* Where it is for the first time; `len` if it is not there. */
size_t scan_find(const struct scan_needle *needle, const char *data, size_t len);
/* How rare its bytes are: from 0, a letter as common as e, to 100 and more. */
unsigned scan_rarity(const char *text, size_t len);
