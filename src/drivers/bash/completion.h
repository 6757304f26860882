/* How a text could go on at a place, and what stands there. Nothing runs for it. */
#pragma once

#include "base/base.h"

struct json_out;

/* `cursor`: how many characters come before the place. The members of the answer. */
void completion_put(struct json_out *json, const char *code, int64_t cursor);
void completion_put_meaning(struct json_out *json, const char *code, int64_t cursor, bool detail);
