/* Children that are measured or do the measuring: cut off from the terminal and from the user's
 * settings, and gone when this program is. */
#pragma once

#include "bench/bench.h"

struct bench_child {
    const char *const *argv; /* argv[0] is an absolute path */
    int stdio;               /* becomes stdin and stdout */
    int third;               /* becomes descriptor 3; -1: none */
};

int bench_child_start(const struct bench *b, const struct bench_child *c, pid_t *ret_pid,
                      struct err *e);
void bench_child_end(pid_t pid, uint64_t patience_ms); /* waits so long before it kills */
