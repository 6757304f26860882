/* What a session declared, as drivers tell it. */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum { DECLARATIONS_MAX = 1000 }; /* of each list */

/* Checks that `told` has "imports" (texts), "definitions" (of {"name","kind","code"}) and "lost"
 * (of {"name","type","advice"}), each within its limits, and maybe "more". Members that this
 * version does not know are removed. */
int declarations_check(json_t *told, struct err *e);
