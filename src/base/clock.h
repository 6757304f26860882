/* Two clocks: monotonic for durations and deadlines, wall for what people read. */
#pragma once

#include "base/base.h"

uint64_t clock_mono_ns(void);
uint64_t clock_wall_ms(void); /* since the epoch */
uint64_t clock_wall_us(void);

enum { CLOCK_RFC3339_SIZE = 32 };
/* "2026-01-31T12:00:00.123Z" */
const char *clock_rfc3339(uint64_t wall_ms, char out[CLOCK_RFC3339_SIZE]);

/* A built-in wait, in milliseconds. Where it is too long for tests they shorten all of these at
 * once: $CELLA_TEST_TIME_SCALE is a factor, 0.0001 to 1. */
uint64_t clock_scaled_ms(uint64_t ms);

static inline uint64_t clock_mono_ms(void)
{
    return clock_mono_ns() / 1000000;
}
