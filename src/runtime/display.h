/* Typed outputs as drivers send them: {"type":"text","text":"2"} and its relatives. */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* Checks that `output` is a typed output: a known type, its members present and of the right JSON
 * type; `display_id`, by which a later output may replace it, is short. Members that this version
 * does not know are removed, and so is `mime`, its other forms by media type, if it is no object of
 * these or too large. `late` is true or missing: it was shown after the cell's value. */
int display_check(json_t *output, struct err *e);

/* Bytes of all its strings and names: what counts against a budget. */
size_t display_size(const json_t *output);
