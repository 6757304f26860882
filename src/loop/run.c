#include "base/clock.h"
#include "loop/loop.h"

#include <sched.h>

void loop_run(uv_loop_t *loop, const bool *is_over, uint64_t (*awake_until_ns)(void *context),
              void *context)
{
    bool is_alive = true;
    while (is_alive && !*is_over) {
        bool stays_awake = clock_mono_ns() < awake_until_ns(context);
        is_alive = uv_run(loop, stays_awake ? UV_RUN_NOWAIT : UV_RUN_ONCE) != 0;
        if (stays_awake)
            sched_yield();
    }
}
