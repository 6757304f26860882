/* The order of the calls of a structured cell. Daemon; pure. */
#include "ops/chain_plan.h"

#include <string.h>

static bool chain_is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Steps are in the order of the code, so nobody waits for one behind it. */
static bool chain_waits_for(const struct chain_step *steps, size_t later, size_t earlier,
                            bool has_parallel_mutations)
{
    const struct chain_step *a = &steps[earlier], *b = &steps[later];
    if ((b->uses >> earlier & 1) != 0 || chain_is_same(a->name, b->name))
        return true;
    if (!a->changes || !b->changes)
        return a->changes != b->changes; /* one reads what the other may change */
    bool may_meet = has_parallel_mutations && a->may_meet && b->may_meet;
    return !may_meet || chain_is_same(a->target, b->target);
}

unsigned chain_plan_waves(struct chain_step *steps, size_t n, bool has_parallel_mutations)
{
    unsigned n_waves = 0;
    for (size_t i = 0; i < n; i++) {
        steps[i].wave = 0;
        for (size_t k = 0; k < i; k++)
            if (chain_waits_for(steps, i, k, has_parallel_mutations))
                steps[i].wave = MAX(steps[i].wave, steps[k].wave + 1);
        n_waves = MAX(n_waves, steps[i].wave + 1);
    }
    return n_waves;
}

unsigned chain_plan_in_order(struct chain_step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        steps[i].wave = (unsigned)i;
    return (unsigned)n;
}
