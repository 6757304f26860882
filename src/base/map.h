/* A hash map from strings to pointers. Keys are copied, values are the caller's. Hashes are seeded
 * from the kernel, so that no client can choose keys that collide. */
#pragma once

#include "base/base.h"

struct map_entry;

struct map {
    struct map_entry *entries; /* open addressing; size is zero or a power of two */
    size_t size;
    size_t count;
    size_t used; /* count and tombstones */
    uint64_t seed;
};

void *map_get(const struct map *m, const char *key); /* NULL if absent */
void map_set(struct map *m, const char *key, void *value);
void *map_remove(struct map *m, const char *key); /* the value, or NULL */
void map_free(struct map *m);

/* Walk: start with *at = 0; false at the end. The map must not change meanwhile. */
bool map_next(const struct map *m, size_t *at, const char **ret_key, void **ret_value);
