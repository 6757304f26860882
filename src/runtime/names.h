/* The manifest of a session's names as drivers send it. */
#pragma once

#include "base/err.h"

#include <jansson.h>

enum { NAMES_MAX = 1000, NAMES_CHANGED_MAX = 100 };

/* Checks that `names` is a manifest within its limits: {"total":n} and, each optional, "items" (of
 * {"name","type"} with "shape", "len", "bytes", "text"), "added", "changed" and "removed" (of
 * names) and "more". Empty lists of names and members that
 * this version does not know are removed. */
int names_check(json_t *names, struct err *e);
