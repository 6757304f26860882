#include "jail/zygote_memory.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { BUDGET_MS = 500 };

#define HUGE_BYTES ((uintptr_t)2 * MIB)

/* The interpreter's own memory: private, writable, without a file. */
static bool parse_range(const char *line, uintptr_t *from, uintptr_t *to)
{
    char rights[5] = "", path[16] = "";
    int n = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %15s", from, to, rights, path);
    return n >= 3 && strcmp(rights, "rw-p") == 0 && (n == 3 || strcmp(path, "[heap]") == 0);
}

/* Piece by piece: one that cannot be collapsed (nothing in it) must not stop the others. */
static void collapse(uintptr_t from, uintptr_t to, uint64_t deadline_ms)
{
    from = (from + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    for (; from + HUGE_BYTES <= to && clock_mono_ms() < deadline_ms; from += HUGE_BYTES)
        madvise((void *)from, HUGE_BYTES, MADV_COLLAPSE);
}

void zygote_gather_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return;
    /* Read whole before anything changes: collapsing may take memory for the stream's buffer. */
    static struct {
        uintptr_t from, to;
    } ranges[1024];
    size_t n = 0;
    char line[512];
    while (n < ARRAY_LEN(ranges) && fgets(line, sizeof(line), maps) != NULL)
        if (parse_range(line, &ranges[n].from, &ranges[n].to))
            n++;
    fclose(maps);
    uint64_t deadline_ms = clock_mono_ms() + BUDGET_MS;
    for (size_t i = 0; i < n; i++)
        collapse(ranges[i].from, ranges[i].to, deadline_ms);
}
