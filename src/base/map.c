/* The hash map. Every process. */
#include "base/map.h"

#include "base/ids.h"

struct map_entry {
    char *key; /* NULL if never used; TOMBSTONE: removed */
    void *value;
};

static char tombstone_key[1];
#define TOMBSTONE tombstone_key

static uint64_t hash(const struct map *m, const char *key)
{
    uint64_t h = m->seed;
    for (; *key != '\0'; key++) {
        h ^= (unsigned char)*key;
        h *= 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static struct map_entry *find(const struct map *m, const char *key)
{
    if (m->size == 0)
        return NULL;
    for (size_t i = hash(m, key);; i++) {
        struct map_entry *e = &m->entries[i & (m->size - 1)];
        if (e->key == NULL)
            return NULL;
        if (e->key != TOMBSTONE && strcmp(e->key, key) == 0)
            return e;
    }
}

static void insert(struct map *m, char *key, void *value)
{
    size_t i = hash(m, key);
    while (m->entries[i & (m->size - 1)].key != NULL)
        i++;
    m->entries[i & (m->size - 1)] = (struct map_entry){key, value};
    m->count++;
    m->used++;
}

static void resize(struct map *m, size_t size)
{
    struct map old = *m;
    m->entries = mem_alloc(size * sizeof(*m->entries));
    m->size = size;
    m->count = m->used = 0;
    for (size_t i = 0; i < old.size; i++)
        if (old.entries[i].key != NULL && old.entries[i].key != TOMBSTONE)
            insert(m, old.entries[i].key, old.entries[i].value);
    free(old.entries);
}

void *map_get(const struct map *m, const char *key)
{
    const struct map_entry *e = find(m, key);
    return e ? e->value : NULL;
}

void map_set(struct map *m, const char *key, void *value)
{
    struct map_entry *e = find(m, key);
    if (e != NULL) {
        e->value = value;
        return;
    }
    if (m->seed == 0)
        ids_random(&m->seed, sizeof(m->seed));
    if (m->size == 0 || m->used * 4 >= m->size * 3)
        resize(m, MAX((size_t)16, m->count * 4 >= m->size ? m->size * 2 : m->size));
    insert(m, mem_strdup(key), value);
}

void *map_remove(struct map *m, const char *key)
{
    struct map_entry *e = find(m, key);
    if (e == NULL)
        return NULL;
    void *value = e->value;
    free(e->key);
    *e = (struct map_entry){.key = TOMBSTONE};
    m->count--;
    return value;
}

void map_free(struct map *m)
{
    for (size_t i = 0; i < m->size; i++)
        if (m->entries[i].key != TOMBSTONE)
            free(m->entries[i].key);
    free(m->entries);
    *m = (struct map){0};
}

bool map_next(const struct map *m, size_t *at, const char **ret_key, void **ret_value)
{
    while (*at < m->size) {
        const struct map_entry *e = &m->entries[(*at)++];
        if (e->key != NULL && e->key != TOMBSTONE) {
            *ret_key = e->key;
            *ret_value = e->value;
            return true;
        }
    }
    return false;
}
