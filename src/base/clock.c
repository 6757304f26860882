/* The two clocks, and times as text. Every process. */
#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

uint64_t clock_mono_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_wall_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

uint64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}

uint64_t clock_scaled_ms(uint64_t ms)
{
    const char *text = getenv("CELLA_TEST_TIME_SCALE");
    double scale = text != NULL ? strtod(text, NULL) : 1;
    return scale >= 0.0001 && scale <= 1e6 ? (uint64_t)((double)ms * scale) : ms;
}

const char *clock_rfc3339(uint64_t wall_ms, char out[CLOCK_RFC3339_SIZE])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(out, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, CLOCK_RFC3339_SIZE - n, ".%03uZ", (unsigned)(wall_ms % 1000));
    return out;
}
