/* runtime: interpreters as the daemon sees them. Promises: a head is one live interpreter in its
 * jail that takes cells one at a time; nothing it sends is believed before it was checked. Owns
 * zygotes, rooms, heads and the pool of ready ones. May call jail, wire, loop and base. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct runtime;

/* What interpreters are started from, as the configuration names it. Borrowed: the configuration
 * outlives the engine. */
struct runtime_profile {
    const struct runtime *runtime;
    const char *name;           /* "data"; unique among all runtimes */
    const char *program;        /* absolute path of the interpreter */
    const char *const *preload; /* NULL-terminated, or NULL; import statements or module names */
    bool is_cold;         /* nothing is kept ready: every session loads for itself. Of Python */
    uint32_t warmup_secs; /* in which it must be loaded; 0: the usual */
    const char *missing;  /* why there is no such interpreter here; NULL if there is one */
};

/* The little that differs between interpreters. */
struct runtime {
    const char *name; /* "python": stable, part of the API */
    /* The command line of its zygote, NULL-terminated; lives in the arena. */
    const char *const *(*command)(const struct runtime_profile *profile, struct arena *arena);
};

extern const struct runtime runtime_python;
extern const struct runtime runtime_node;
extern const struct runtime runtime_bash;
extern const struct runtime runtime_terminal; /* no language: see session/terminals.h */

/* NULL if there is none of that name. */
const struct runtime *runtime_by_name(const char *name);
/* NULL-terminated, for choices. */
extern const char *const runtime_names[];
