/* Memory that lives as long as one request and dies with it in one call. */
#pragma once

#include "base/base.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
};

void *arena_alloc(struct arena *a, size_t size);                /* zeroed, aligned for any type */
void *arena_copy(struct arena *a, const void *src, size_t len); /* with a NUL after it */
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_free(struct arena *a); /* empty and reusable afterwards */
