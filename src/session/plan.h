/* Plan mode: an agent makes a plan, and until that is ready nothing may be changed. */
#pragma once

#include "base/base.h"

struct plan {
    uint64_t entered_at_ms; /* wall clock; 0: not in plan mode */
    char *reason;           /* why it was entered; NULL if that was not said */
};

static inline bool plan_is_on(const struct plan *plan)
{
    return plan->entered_at_ms != 0;
}

/* Who enters again says another reason; the time stays that of the first. */
void plan_enter(struct plan *plan, const char *reason);
/* As it was before the daemon was started again; a time of 0 is now. */
void plan_resume(struct plan *plan, const char *reason, uint64_t entered_at_ms);
void plan_leave(struct plan *plan);
