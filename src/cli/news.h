/* What an answer tells of its session besides what the cell did: losses that no user should find
 * out by a NameError. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* "a, b (generator) and 3 more": of texts, or of objects with a name and perhaps a type. */
void cli_describe_names(struct buf *out, const json_t *list);

/* One line each; nothing if there is nothing to tell. */
void cli_describe_news(struct buf *out, const json_t *answer);
