/* base: what every other room stands on. Promises: no room above is known here, nothing here logs
 * on its own, only libc is used. Memory that runs out aborts (mem_*): every size that comes from
 * outside has met a named limit before it gets here. */
#pragma once

#include "banned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* Allocation that cannot fail: an aborting process is honest, a half-built object is not. */
void *mem_alloc(size_t size); /* zeroed */
void *mem_realloc(void *ptr, size_t size);
void *mem_copy(const void *src, size_t size);
char *mem_strdup(const char *s);

/* Bytes that the allocator has handed out and not got back, of all threads: what the program holds,
 * whatever the machine does to its pages. Visits every free chunk: not for a busy path. */
size_t mem_in_use(void);

/* Locals that clean up after themselves; leaving the scope with the value is said by take_*. */
static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* `unused`: clang does not count the cleaning up as a use. */
#define _free_ __attribute__((unused, cleanup(cleanup_free)))
#define _fd_ __attribute__((unused, cleanup(cleanup_fd)))

#define take_ptr(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) *take_from_ = &(p);                                                          \
        __typeof__(p) taken_ = *take_from_;                                                        \
        *take_from_ = NULL;                                                                        \
        taken_;                                                                                    \
    })

static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}
