/* One checker of JSON Schemas, for tools of ours and of others: the part of draft 2020-12 that says
 * what shape arguments have. What it does not know (formats, patterns) whoever runs the tool
 * checks. A schema may itself be a stranger's: references and nesting are bounded. */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* Whether `value` is as the schema wants it. Members of objects that are not given and have a
 * default are filled in. The message names the member and what was wanted: "args.limit must be at
 * most 20". */
int schema_check(const json_t *schema, json_t *value, const char *name, struct err *e);
