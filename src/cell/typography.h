/* Typography in code: quotes, dashes, signs and spaces that word processors and models write where
 * Python wants ASCII. Used for code that does not compile as it is; the caller has found
 * out. Only what is outside of strings and comments is replaced, and lines keep their numbers.
 *
 * A curly quote where code is opens a string. Its partner closes it, or the same ASCII quote; both
 * become ASCII, and what is between them stays as it is. A quote without a partner stays, too: the
 * interpreter's error then names it. */
#pragma once

#include "base/buf.h"

struct typography_note {
    size_t count;   /* characters that were replaced */
    char text[512]; /* "replaced × by * (2), “ ” by \" (2)" */
};

/* True if nothing in the code can be replaced, wherever it stands: all is ASCII, without backticks.
 * As fast as memory is read. */
bool typography_is_plain(const char *code, size_t len);

/* Appends the code with replacements, and says which. False if there are none or if the code does
 * not fit; then the buffer is as it was. */
bool typography_replace(const char *code, size_t len, struct buf *out,
                        struct typography_note *ret_note);
