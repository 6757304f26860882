/* The store's life: opened, asked for its health, closed; what is done is delivered on the loop.
 * Daemon; owns the lock and the threads. */
#include "store/internal.h"

#include <limits.h>
#include <sys/stat.h>

/* ---- delivery, on the loop ------------------------------------------------------------------- */

static void store_deliver(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    bool is_failing = store->is_failing;
    struct err trouble = store->trouble;
    pthread_mutex_unlock(&store->lock);
    if (is_failing != store->was_failing) {
        store->was_failing = is_failing;
        if (store->on_trouble != NULL)
            store->on_trouble(store->trouble_context, is_failing ? &trouble : NULL);
    }
    for (;;) {
        pthread_mutex_lock(&store->lock);
        struct list *node = list_first(&store->done);
        if (node != NULL)
            list_remove(node);
        pthread_mutex_unlock(&store->lock);
        if (node == NULL)
            return;
        struct store_call *call = CONTAINER_OF(node, struct store_call, node);
        bool is_wanted = call->fn != NULL || call->type->is_told;
        if (!call->is_forgotten && call->type->deliver != NULL && is_wanted)
            call->type->deliver(call, call->has_failed ? &call->error : NULL);
        call_free(call);
    }
}

static void on_async(uv_async_t *async)
{
    store_deliver(CONTAINER_OF(async, struct store, async));
}

/* ---- opening --------------------------------------------------------------------------------- */

static void free_store(struct store *store)
{
    const char *key;
    void *count;
    size_t at = 0;
    journal_close(store);
    db_close(&store->db);
    cleanup_fd(&store->blobs);
    cleanup_fd(&store->wal_fd);
    while (map_next(&store->pins, &at, &key, &count))
        free(count);
    map_free(&store->pins);
    map_free(&store->queued_rows);
    free(store->to_sync);
    free(store->path);
    pthread_mutex_destroy(&store->db_lock);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->wake);
    pthread_cond_destroy(&store->job_wake);
    free(store);
}

static int open_files(struct store *store, struct err *e)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/cella.db", store->path) >= (int)sizeof(path))
        return err_set(e, ERR_INVALID, "the path of the data directory is too long");
    if (blob_open_store(store->path, &store->blobs, e) < 0 || db_open(path, &store->db, e) < 0)
        return -1;
    /* First what may be half there is removed, then the journal is asked. */
    if (sweep_after_boot(store, e) < 0 || journal_open(store, e) < 0)
        return -1;
    return journal_recover(store, e);
}

int store_open(const char *data_dir, uv_loop_t *loop, struct store **ret_store, struct err *e)
{
    struct store *store = mem_alloc(sizeof(*store));
    store->loop = loop;
    store->path = mem_strdup(data_dir);
    store->blobs = store->wal_fd = -1;
    for (unsigned i = 0; i < JOURNAL_FILES; i++)
        store->journal.files[i].fd = -1;
    list_init(&store->queue);
    list_init(&store->done);
    list_init(&store->jobs);
    list_init(&store->running);
    list_init(&store->sweepers);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&store->db_lock, NULL);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->wake, &attributes);
    pthread_cond_init(&store->job_wake, NULL);
    pthread_condattr_destroy(&attributes);
    if (open_files(store, e) < 0) {
        free_store(store);
        return -1;
    }
    int rc = pthread_create(&store->writer, NULL, writer_main, store);
    if (rc != 0) {
        free_store(store);
        return err_errno(e, ERR_UNAVAILABLE, rc, "starting the store's thread");
    }
    uv_async_init(loop, &store->async, on_async);
    *ret_store = store;
    return 0;
}

static void async_closed(uv_handle_t *handle)
{
    free_store(CONTAINER_OF((uv_async_t *)handle, struct store, async));
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    pthread_mutex_lock(&store->lock);
    store->is_stopping = true;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
    workers_stop(store);
    pthread_join(store->writer, NULL);
    store_deliver(store);
    /* Whoever still holds a state may keep it; it has nothing to leave any more. */
    for (struct store_state *state = store->states; state != NULL; state = state->next)
        state->store = NULL;
    uv_close((uv_handle_t *)&store->async, async_closed);
}

/* ---- health ---------------------------------------------------------------------------------- */

static uint64_t file_bytes(const struct store *store, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", store->path, name);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void store_health(struct store *store, struct store_health *ret)
{
    *ret = (struct store_health){
        .db_bytes = file_bytes(store, "cella.db") + file_bytes(store, "cella.db-wal"),
        .memory_bytes = (uint64_t)sqlite3_memory_used(),
    };
    for (unsigned i = 0; i < JOURNAL_FILES; i++)
        ret->journal_bytes += store->journal.files[i].bytes;
    pthread_mutex_lock(&store->lock);
    ret->is_failing = store->is_failing;
    ret->error = store->trouble;
    ret->queued = store->n_queued;
    ret->groups = store->groups;
    pthread_mutex_unlock(&store->lock);
}

void store_on_trouble(struct store *store, void (*fn)(void *context, const struct err *e),
                      void *context)
{
    store->on_trouble = fn;
    store->trouble_context = context;
}

void store_on_shown(struct store *store, store_shown_fn fn, void *context)
{
    store->on_shown = fn;
    store->shown_context = context;
}

uint64_t store_secret(const struct store *store)
{
    return store->journal.seed;
}

int store_blobs(const struct store *store)
{
    return store->blobs;
}
