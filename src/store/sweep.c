#include "base/clock.h"
#include "store/internal.h"

/* Removing what nobody refers to any more. */

enum { SWEEP_AFTER_MS = 60000 };

int sweep_after_boot(struct store *store, struct err *e)
{
    (void)store;
    (void)e;
    return 0;
}

void sweep_want(struct store *store)
{
    (void)store;
}

uint64_t sweep_due(const struct store *store, uint64_t due)
{
    (void)store;
    return due;
}

void sweep_step(struct store *store)
{
    (void)store;
}

void sweep_cancel(struct store *store)
{
    (void)store;
}
