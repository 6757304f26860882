/* Plan mode, in the daemon. */
#include "session/plan.h"

#include "base/clock.h"

void plan_enter(struct plan *plan, const char *reason)
{
    if (!plan_is_on(plan))
        plan->entered_at_ms = clock_wall_ms();
    free(plan->reason);
    plan->reason = reason != NULL ? mem_strdup(reason) : NULL;
}

void plan_resume(struct plan *plan, const char *reason, uint64_t entered_at_ms)
{
    plan_enter(plan, reason);
    if (entered_at_ms > 0)
        plan->entered_at_ms = entered_at_ms;
}

void plan_leave(struct plan *plan)
{
    free(plan->reason);
    *plan = (struct plan){0};
}
