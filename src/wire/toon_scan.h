/* What is on a line of TOON, for its reader. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

struct toon_span {
    const char *s;
    size_t len;
};

/* Without spaces around it; other white space is part of the text. */
struct toon_span toon_trim(struct toon_span t);
struct toon_span toon_from(struct toon_span t, size_t at);
bool toon_is(struct toon_span t, const char *word);

/* Where this character stands outside of quotes, from `at` on; the length if it does not. */
size_t toon_find(struct toon_span t, char c, size_t at);
/* Where the quote that opens the text is closed; the length if it is not. */
size_t toon_find_quote(struct toon_span t);
/* The closing brace that belongs to the opening one at `at`; the length if there is none. */
size_t toon_find_brace(struct toon_span t, size_t at);

/* Appends the text, with escapes resolved if it is in quotes. Returns what is wrong, else NULL. */
const char *toon_unquote(struct toon_span t, struct buf *out);

/* True if it has the form of JSON's numbers; *ret_is_real if it has a point or an exponent. */
bool toon_is_number(struct toon_span t, bool *ret_is_real);
/* NULL if no number of ours can hold it. */
json_t *toon_read_number(struct toon_span t, bool is_real);
