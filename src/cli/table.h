/* Rows of text as a table whose columns are as wide as what is in them. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* `rows` is a list of lists of texts, the first the heads. `sides` has a letter for each column:
 * 'l' or 'r', where its text stands. The last column is not filled up. */
void cli_append_table(struct buf *out, const json_t *rows, const char *sides);
/* How many columns a text takes: its characters, each taken to be one wide. */
size_t cli_width(const char *text);
