#include "jail/zygote_memory.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { BUDGET_MS = 500 };

#define HUGE_BYTES ((uintptr_t)2 * MIB)

/* ---- arenas ------------------------------------------------------------------------------------
 */

#define ARENAS_BYTES ((uintptr_t)1024 * MIB) /* of address space; only what is used is memory */

/* As CPython declares it. */
struct arena_allocator {
    void *context;
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *memory, size_t size);
};

static struct {
    uintptr_t next;   /* free from here on; 0: the kernel chooses */
    uintptr_t usable; /* up to here, by whole huge pages */
    uintptr_t end;
} arenas;

static bool use_up_to(uintptr_t at)
{
    if (at <= arenas.usable)
        return true;
    uintptr_t usable = (at + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    if (mprotect((void *)arenas.usable, usable - arenas.usable, PROT_READ | PROT_WRITE) < 0)
        return false;
    arenas.usable = usable;
    return true;
}

static void *alloc_arena(void *context, size_t size)
{
    (void)context;
    if (arenas.next != 0 && size <= arenas.end - arenas.next && use_up_to(arenas.next + size)) {
        arenas.next += size;
        return (void *)(arenas.next - size);
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void free_arena(void *context, void *memory, size_t size)
{
    (void)context;
    munmap(memory, size);
}

void zygote_place_arenas(void)
{
    void (*set_allocator)(struct arena_allocator *);
    *(void **)&set_allocator = dlsym(RTLD_DEFAULT, "PyObject_SetArenaAllocator");
    if (set_allocator == NULL)
        return;
    void *space =
        mmap(NULL, ARENAS_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return;
    arenas.next = arenas.usable = ((uintptr_t)space + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    arenas.end = (uintptr_t)space + ARENAS_BYTES;
    set_allocator(&(struct arena_allocator){.alloc = alloc_arena, .free = free_arena});
}

/* ---- huge pages --------------------------------------------------------------------------------
 */

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
    if (arenas.next != 0)
        munmap((void *)arenas.usable, arenas.end - arenas.usable);
    arenas.next = 0;
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
