/* Tools that are functions of C: what a text is about, as vectors (explore/embed.h). */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* `args` have passed the tool's schema. NULL with the error. */
json_t *toolbox_builtin_run(const char *name, const json_t *args, struct err *e);
