/* A text as words that are looked for, with a space between: in lower case; identifiers whole and
 * in their parts, so that parseHTTPHeader is found by "header" and by its name. Any bytes may come.
 */
#pragma once

#include "base/buf.h"

/* Appends them as far as they fit. */
void words_of(const char *text, size_t len, struct buf *out);
/* Appends a question of FTS5, for any of its words; false if there are none. Those that say nothing
 * are left out, unless there are no others. */
bool words_query(const char *text, size_t len, struct buf *out);
