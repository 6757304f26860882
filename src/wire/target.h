/* The target of a request: /decoded/path/segments?and=query&parameters. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum { TARGET_SEGMENTS_MAX = 32, TARGET_PARAMS_MAX = 32 };

/* Decoded: valid UTF-8 without NUL, NUL-terminated. A segment may hold a slash that was sent as
 * %2F. */
struct target_param {
    const char *name;
    const char *value;
};

struct target {
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t n_segments;
    struct target_param params[TARGET_PARAMS_MAX];
    size_t n_params;
};

/* Percent-decodes in place. False: an escape is broken, or the result is no UTF-8 or has a NUL. */
bool target_decode(char *s);

/* Only the form /path[?query] is taken. The texts live in the arena. */
int target_parse(struct arena *arena, const char *raw, size_t len, struct target *ret_target,
                 struct err *e);
