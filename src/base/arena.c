/* Memory of one request, in blocks that are freed together. Every process. */
#include "base/arena.h"

#include <stdarg.h>

enum { BLOCK_SIZE = 4096, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    char data[] __attribute__((aligned(ALIGNMENT)));
};

void *arena_alloc(struct arena *a, size_t size)
{
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_block *block = a->blocks;
    if (block == NULL || block->size - block->used < size) {
        size_t data_size = MAX(size, (size_t)BLOCK_SIZE - sizeof(*block));
        block = mem_alloc(sizeof(*block) + data_size);
        block->size = data_size;
        block->next = a->blocks;
        a->blocks = block;
    }
    void *ptr = block->data + block->used;
    block->used += size;
    return ptr;
}

void *arena_copy(struct arena *a, const void *src, size_t len)
{
    char *copy = arena_alloc(a, len + 1);
    if (len > 0)
        memcpy(copy, src, len);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_copy(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = arena_alloc(a, (size_t)MAX(n, 0) + 1);
    vsnprintf(text, (size_t)MAX(n, 0) + 1, fmt, again);
    va_end(again);
    return text;
}

void arena_free(struct arena *a)
{
    while (a->blocks != NULL) {
        struct arena_block *block = a->blocks;
        a->blocks = block->next;
        free(block);
    }
}
