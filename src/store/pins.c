/* Manifests that only memory knows. Daemon; on the loop. */
#include "store/internal.h"

void store_pin(struct store *store, const char *manifest)
{
    pthread_mutex_lock(&store->lock);
    size_t *count = map_get(&store->pins, manifest);
    if (count == NULL) {
        count = mem_alloc(sizeof(*count));
        map_set(&store->pins, manifest, count);
    }
    ++*count;
    pthread_mutex_unlock(&store->lock);
}

void store_unpin(struct store *store, const char *manifest)
{
    pthread_mutex_lock(&store->lock);
    size_t *count = map_get(&store->pins, manifest);
    if (count != NULL && --*count == 0)
        free(map_remove(&store->pins, manifest));
    pthread_mutex_unlock(&store->lock);
}
