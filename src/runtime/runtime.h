/* runtime: interpreters as the daemon sees them. Promises: a head is one live interpreter in its
 * jail that takes cells one at a time; nothing it sends is believed before it was checked. Owns
 * zygotes, heads and the pool of ready ones. May call jail, wire, loop and base. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* What a runtime is started from, as the configuration names it. Borrowed: the configuration
 * outlives the engine. */
struct runtime_profile {
    const char *name;           /* "data" */
    const char *python;         /* absolute path of the interpreter */
    const char *const *preload; /* NULL-terminated: import statements or module names */
};

/* The little that differs between interpreters. */
struct runtime {
    const char *name; /* "python": stable, part of the API */
    /* The argument that its zygote gets, as JSON. */
    void (*write_profile)(const struct runtime_profile *profile, struct buf *out);
};

extern const struct runtime runtime_python;

/* NULL if there is none of that name. */
const struct runtime *runtime_by_name(const char *name);
