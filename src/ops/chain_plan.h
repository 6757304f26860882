/* Which calls of a structured cell wait for which: names that one binds and another uses, and what
 * one changes and another reads. */
#pragma once

#include "base/base.h"

enum {
    CHAIN_STEPS_MAX = 64, /* of one cell */
    CHAIN_TOGETHER = 4,   /* calls under way at once */
};

struct chain_step {
    const char *name;   /* that its result gets; NULL if none */
    uint64_t uses;      /* bit i: what step i has bound */
    bool changes;       /* it does more than read */
    bool may_meet;      /* if the setting allows that: it may run beside others that change */
    const char *target; /* the file that it changes, by its path; NULL if not known, or none */
    unsigned wave;      /* from 0: set by the functions below */
};

/* Each is in the first wave in which all that it waits for is over (Kahn's order). Returns how many
 * waves there are. */
unsigned chain_plan_waves(struct chain_step *steps, size_t n, bool has_parallel_mutations);
/* Each is a wave of its own. */
unsigned chain_plan_in_order(struct chain_step *steps, size_t n);
