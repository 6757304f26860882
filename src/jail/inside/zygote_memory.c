#include "jail/inside/zygote_memory.h"

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

/* ---- mappings and huge pages ------------------------------------------------------------------
 */

struct range {
    uintptr_t from, to;
    uint64_t offset; /* in its file */
    uint64_t inode;  /* 0: no file */
    char rights[5];
    char path[8]; /* how it begins */
};

static size_t read_ranges(struct range *ranges, size_t max)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return 0;
    size_t n = 0;
    char line[512];
    while (n < max && fgets(line, sizeof(line), maps) != NULL) {
        struct range *r = &ranges[n];
        r->path[0] = '\0';
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %*s %" SCNu64 " %7s", &r->from,
                   &r->to, r->rights, &r->offset, &r->inode, r->path) >= 5)
            n++;
    }
    fclose(maps);
    return n;
}

/* The interpreter's own memory: private, writable, without a file. */
static bool is_own(const struct range *r)
{
    return strcmp(r->rights, "rw-p") == 0 && (r->path[0] == '\0' || strcmp(r->path, "[heap]") == 0);
}

/* Piece by piece: one that cannot be collapsed (nothing in it) must not stop the others. */
static void collapse(uintptr_t from, uintptr_t to, uint64_t deadline_ms)
{
    from = (from + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    for (; from + HUGE_BYTES <= to && clock_mono_ms() < deadline_ms; from += HUGE_BYTES)
        madvise((void *)from, HUGE_BYTES, MADV_COLLAPSE);
}

/* Does `b` go on where `a` ends, in memory and in the file? */
static bool is_continued(const struct range *a, const struct range *b)
{
    return a->inode != 0 && a->inode == b->inode && a->to == b->from &&
           a->offset + (a->to - a->from) == b->offset;
}

static bool has_rights(const struct range *r, const char *rights)
{
    return strcmp(r->rights, rights) == 0;
}

/* The kernel joins neighbours of one file with the same rights. Constants take those of the code
 * beside them, and what the linker protected after it had written it those of the data behind. */
static void join(const struct range *r, bool has_before, bool has_after)
{
    if (!has_rights(r, "r--p"))
        return;
    bool is_before = has_before && is_continued(r - 1, r);
    bool is_after = has_after && is_continued(r, r + 1);
    bool at_code =
        (is_before && has_rights(r - 1, "r-xp")) || (is_after && has_rights(r + 1, "r-xp"));
    bool at_data = is_after && has_rights(r + 1, "rw-p");
    if (at_code != at_data)
        mprotect((void *)r->from, r->to - r->from, PROT_READ | (at_code ? PROT_EXEC : PROT_WRITE));
}

void zygote_gather_memory(void)
{
    if (arenas.next != 0)
        munmap((void *)arenas.usable, arenas.end - arenas.usable);
    arenas.next = 0;
    /* Read whole before anything changes: collapsing may take memory for the stream's buffer. */
    static struct range ranges[8192];
    size_t n = read_ranges(ranges, ARRAY_LEN(ranges));
    for (size_t i = 0; i < n; i++)
        join(&ranges[i], i > 0, i + 1 < n);
    uint64_t deadline_ms = clock_mono_ms() + BUDGET_MS;
    for (size_t i = 0; i < n; i++)
        if (is_own(&ranges[i]))
            collapse(ranges[i].from, ranges[i].to, deadline_ms);
}
