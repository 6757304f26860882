/* How much memory and processor time sessions use, asked of the warden for callers that list them.
 * What was told a moment ago is told again. */
#pragma once

#include "base/base.h"

struct engine;
struct session;
struct usage_asking;

struct usage {
    uint64_t
        memory_bytes; /* of all processes in its sandbox, checkpoints included, with its /tmp */
    uint64_t cpu_us;  /* of all that ever ran in its present sandbox */
    uint64_t at_ms;   /* monotonic: when it was told; 0: never */
};

/* What these sessions use is known as well as it can be, a fifth of a second from now at the
 * latest: then `fn` is called once, maybe before this returns; then `ret` is NULL. */
void usage_ask(struct engine *engine, struct session *const *sessions, size_t n,
               void (*fn)(void *context), void *context, struct usage_asking **ret);
void usage_forget(struct usage_asking *asking); /* the caller went away */
