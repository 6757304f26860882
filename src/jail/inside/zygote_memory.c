/* Where a zygote's memory lies before its first fork. Zygote of Python. */
#include "jail/inside/zygote_memory.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    BUDGET_MS = 1500, /* on a busy machine; else a tenth of it is enough */
    AT_ONCE = 8,      /* huge pages */
    RANGES_FEW = 256, /* an interpreter without libraries has a hundred */
};

#define HUGE_BYTES ((uintptr_t)2 * MIB)
#define HOLE_BYTES_MAX ((uintptr_t)64 * KIB)
#define COPIED_BYTES_MAX ((uintptr_t)8 * MIB) /* few are larger, and they are much to copy */

static uintptr_t next_huge(uintptr_t at)
{
    return (at + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
}

/* ---- arenas ---------------------------------------------------------------------------------- */

#define ARENAS_BYTES ((uintptr_t)1024 * MIB) /* of address space; only what is used is memory */

/* As CPython declares it. */
struct arena_allocator {
    void *context;
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *memory, size_t size);
};

enum {
    CHUNK_BYTES = 64 << 10, /* what is smaller is no arena: the interpreter's stack grows so */
    CHUNKS_KEPT = 16,
    ARENAS_KEPT = 64,
    ALIGNMENT = 16,            /* of what CPython and libc give out */
    BLOCK_MAX = 512,           /* what is larger CPython takes from libc */
    PIECE_MAX = 96 << 10,      /* what is larger libc may map by itself */
    FREE_BYTES_MAX = 64 << 20, /* taken from each; more is not to be expected */
};

/* Memory that was given back and is wanted again soon, all of it of one size. */
struct spare {
    size_t size, n;
    void *memory[ARENAS_KEPT];
};

static struct {
    uintptr_t begin;
    uintptr_t next;   /* free from here on; 0: the kernel chooses */
    uintptr_t usable; /* up to here, by whole huge pages */
    uintptr_t end;
    uintptr_t own; /* what lies behind it is for sessions to write to; 0: nothing does */
    struct spare arenas, chunks;
    atomic_flag is_taken; /* by a thread: others, with a lock of their own, do without */
} arenas = {.is_taken = ATOMIC_FLAG_INIT};

static bool use_up_to(uintptr_t at)
{
    if (at <= arenas.usable)
        return true;
    uintptr_t usable = next_huge(at);
    if (mprotect((void *)arenas.usable, usable - arenas.usable, PROT_READ | PROT_WRITE) < 0)
        return false;
    arenas.usable = usable;
    return true;
}

static bool keep(struct spare *spare, size_t most, void *memory, size_t size)
{
    if (atomic_flag_test_and_set(&arenas.is_taken))
        return false;
    bool has_room = spare->n < most && (spare->n == 0 || spare->size == size);
    if (has_room) {
        spare->size = size;
        spare->memory[spare->n++] = memory;
    }
    atomic_flag_clear(&arenas.is_taken);
    return has_room;
}

/* CPython takes the chunks of its stack from here, too, from 3.11 on, and gives them back whenever
 * a call returns. They do not lie among the arenas: each would leave a hole, for which the next
 * library is just right, and nothing would lie side by side. */
static void *take(size_t size)
{
    bool is_chunk = size < CHUNK_BYTES;
    struct spare *spare = is_chunk ? &arenas.chunks : &arenas.arenas;
    if (spare->n > 0 && spare->size == size)
        return spare->memory[--spare->n];
    if (is_chunk || arenas.next == 0 || size > arenas.end - arenas.next ||
        !use_up_to(arenas.next + size))
        return NULL;
    arenas.next += size;
    return (void *)(arenas.next - size);
}

static void *alloc_arena(void *context, size_t size)
{
    (void)context;
    void *memory = NULL;
    if (!atomic_flag_test_and_set(&arenas.is_taken)) {
        memory = take(size);
        atomic_flag_clear(&arenas.is_taken);
    }
    if (memory == NULL)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void free_arena(void *context, void *memory, size_t size)
{
    (void)context;
    uintptr_t at = (uintptr_t)memory;
    if (size < CHUNK_BYTES) {
        if (!keep(&arenas.chunks, CHUNKS_KEPT, memory, size))
            munmap(memory, size);
    } else if (at >= arenas.begin && at < arenas.end) {
        madvise(memory, size, MADV_DONTNEED);
        keep(&arenas.arenas, ARENAS_KEPT, memory, size); /* else its addresses are lost, no more */
    } else {
        munmap(memory, size);
    }
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
    arenas.begin = arenas.next = arenas.usable = next_huge((uintptr_t)space);
    arenas.end = (uintptr_t)space + ARENAS_BYTES;
    /* Huge from the first touch: to gather small pages later takes a busy machine longer than there
     * is time, and then every fork would copy the entries of all that is left. */
    madvise((void *)arenas.begin, arenas.end - arenas.begin, MADV_HUGEPAGE);
    set_allocator(&(struct arena_allocator){.alloc = alloc_arena, .free = free_arena});
}

/* ---- free memory ----------------------------------------------------------------------------- */

/* CPython's, of all sizes that it has blocks of, until they come from a new arena. */
static void use_up_blocks(void)
{
    void *(*alloc)(size_t size);
    *(void **)&alloc = dlsym(RTLD_DEFAULT, "PyObject_Malloc");
    uintptr_t begin = next_huge(arenas.next);
    if (alloc == NULL || arenas.next == 0 || begin + FREE_BYTES_MAX > arenas.end)
        return;
    arenas.arenas.n = 0;
    arenas.next = arenas.own = begin;
    madvise((void *)begin, arenas.end - begin, MADV_NOHUGEPAGE);
    size_t taken = 0;
    for (size_t size = ALIGNMENT; size <= BLOCK_MAX; size += ALIGNMENT) {
        uintptr_t at = 0;
        while ((at < begin || at >= arenas.next) && taken < FREE_BYTES_MAX) {
            at = (uintptr_t)alloc(size);
            taken += size;
        }
    }
}

/* libc's, the large ones first, until they come from the end of its heap. */
static void use_up_pieces(void)
{
    uintptr_t end = (uintptr_t)sbrk(0), begin = next_huge(end);
    if (sbrk((intptr_t)(begin - end)) == (void *)-1)
        return;
    size_t taken = 0;
    for (size_t size = PIECE_MAX; size > ALIGNMENT; size -= ALIGNMENT) {
        void *piece = malloc(size - sizeof(size_t));
        for (; (uintptr_t)piece < begin && taken < FREE_BYTES_MAX; taken += size)
            piece = malloc(size - sizeof(size_t));
        free(piece);
    }
}

void zygote_use_up_memory(void)
{
    use_up_blocks();
    use_up_pieces();
}

/* ---- mappings and huge pages ----------------------------------------------------------------- */

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

static bool has_rights(const struct range *r, const char *rights)
{
    return strcmp(r->rights, rights) == 0;
}

/* The interpreter's own memory: private, writable, without a file. */
static bool is_own(const struct range *r)
{
    return has_rights(r, "rw-p") && (r->path[0] == '\0' || strcmp(r->path, "[heap]") == 0);
}

/* Several at a time, because each call makes the kernel wait for all processors. What cannot be
 * collapsed (nothing is in it) does not stop the others. */
static void collapse(uintptr_t from, uintptr_t to, uint64_t deadline_ms)
{
    from = next_huge(from);
    to = to / HUGE_BYTES * HUGE_BYTES;
    for (; from < to && clock_mono_ms() < deadline_ms; from += AT_ONCE * HUGE_BYTES)
        madvise((void *)from, MIN(to - from, AT_ONCE * HUGE_BYTES), MADV_COLLAPSE);
}

/* What sessions will write to is not to be huge: each would have to take it apart again. */
static uintptr_t shared_end(const struct range *r)
{
    return arenas.own > r->from && arenas.own < r->to ? arenas.own : r->to;
}

/* Does `b` go on where `a` ends, in memory and in the file? */
static bool is_continued(const struct range *a, const struct range *b)
{
    return a->inode != 0 && a->inode == b->inode && a->to == b->from &&
           a->offset + (a->to - a->from) == b->offset;
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

/* Replaces what is mapped there by a copy in huge pages, at once: nothing runs that could change it
 * meanwhile. Read by the kernel, which does not mind where a file has ended. Holes between
 * libraries become a part of it: each would be the end of two mappings, whose edges no huge page
 * covers. */
static void copy_libraries(const struct range *ranges, size_t n)
{
    uintptr_t from = ranges[0].from;
    size_t len = ranges[n - 1].to - from;
    char *space = mmap(NULL, len + HUGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return;
    /* As far from the next huge page as it will be there. */
    char *copy = space + (from - (uintptr_t)space) % HUGE_BYTES;
    madvise(copy, len, MADV_HUGEPAGE);
    bool is_whole = true;
    for (size_t i = 0; i < n && is_whole; i++) {
        size_t size = ranges[i].to - ranges[i].from;
        struct iovec here = {.iov_base = copy + (ranges[i].from - from), .iov_len = size},
                     there = {.iov_base = (void *)ranges[i].from, .iov_len = size};
        is_whole = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
    }
    if (is_whole &&
        mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from) != MAP_FAILED)
        madvise((void *)from, len, MADV_NOHUGEPAGE); /* later ones would be a session's own */
    munmap(space, len + HUGE_BYTES);
}

static bool is_copied(const struct range *r, uint64_t program)
{
    bool is_arena = r->from >= arenas.begin && r->to <= arenas.end;
    return r->rights[0] == 'r' && r->rights[3] == 'p' && r->path[0] != '[' && !is_arena &&
           (r->inode == 0 || r->inode != program) && r->to - r->from <= COPIED_BYTES_MAX;
}

/* Libraries that lie side by side, with what lies between them, become one mapping if there are
 * many: their names go with it. That of the program stays: debuggers look for it. */
static void gather_libraries(const struct range *ranges, size_t n)
{
    uint64_t program = 0;
    for (size_t i = 0; i < n; i++)
        if (ranges[i].from <= getauxval(AT_PHDR) && getauxval(AT_PHDR) < ranges[i].to)
            program = ranges[i].inode;
    for (size_t i = 0; n > RANGES_FEW && i < n; i++) {
        size_t first = i;
        while (i < n && is_copied(&ranges[i], program) &&
               (i == first || ranges[i].from - ranges[i - 1].to <= HOLE_BYTES_MAX))
            i++;
        if (i > first + 1)
            copy_libraries(&ranges[first], i - first);
        i -= i > first;
    }
}

void zygote_gather_memory(void)
{
    if (arenas.next != 0)
        munmap((void *)arenas.usable, arenas.end - arenas.usable);
    arenas.end = arenas.usable;
    arenas.next = 0;
    /* Read whole before anything changes: collapsing may take memory for the stream's buffer. */
    static struct range ranges[8192];
    gather_libraries(ranges, read_ranges(ranges, ARRAY_LEN(ranges)));
    size_t n = read_ranges(ranges, ARRAY_LEN(ranges));
    for (size_t i = 0; i < n; i++)
        join(&ranges[i], i > 0, i + 1 < n);
    uint64_t deadline_ms = clock_mono_ms() + BUDGET_MS;
    for (size_t i = 0; i < n; i++)
        if (is_own(&ranges[i]))
            collapse(ranges[i].from, shared_end(&ranges[i]), deadline_ms);
    /* Later ones would be a session's own; and what is marked alike is one mapping. */
    if (arenas.usable > arenas.begin)
        madvise((void *)arenas.begin, arenas.usable - arenas.begin, MADV_NOHUGEPAGE);
}
