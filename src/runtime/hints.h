/* What drivers tell of a text and a cursor in it: how it could go on, and what stands there. */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum { HINTS_MATCHES_MAX = 1000 };

/* {"start","end","matches":[{"text","kind"}...]} and, each optional, "more" and "partial": places
 * are numbers of characters, matches stand for what is between them. Members that this version does
 * not know are removed, here and below. */
int hints_check_completions(json_t *told, struct err *e);
/* {"found"} and, each optional, "name", "type", "text", "signature", "doc", "file", "source",
 * "preview", texts; "line", "len", "bytes", numbers; "shape", a list of them; "partial". */
int hints_check_meaning(json_t *told, struct err *e);
