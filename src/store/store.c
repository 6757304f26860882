/* The store's life and its calls: made on the loop, queued, delivered on the loop. Daemon; owns the
 * queue, the lock and the threads. */
#include "base/clock.h"
#include "store/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum { CROWD_LOOK = 512 }; /* queued calls between looks of the writer at how many there are */

/* ---- calls ----------------------------------------------------------------------------------- */

void *call_new(struct store *store, const struct call_type *type, size_t size, const char *scope)
{
    struct store_call *call = mem_alloc(size);
    call->type = type;
    call->store = store;
    call->bytes = size;
    list_init(&call->node);
    /* What is longer than an id must not become one by being cut. */
    if (scope != NULL && strlen(scope) >= sizeof(call->scope))
        scope = "?";
    snprintf(call->scope, sizeof(call->scope), "%s", scope == NULL ? "" : scope);
    return call;
}

void call_free(struct store_call *call)
{
    if (call->type->release != NULL)
        call->type->release(call);
    buf_free(&call->record);
    arena_free(&call->memory);
    free(call);
}

/* The queued call whose place this one takes. */
static struct store_call *replaceable(const struct store *store, const struct store_call *call)
{
    struct store_call *old = call->row == NULL ? NULL : map_get(&store->queued_rows, call->row);
    bool is_covered = old != NULL && old->generation == store->generation &&
                      (old->is_partial || !call->is_partial);
    return is_covered ? old : NULL;
}

static void replace_row(struct store *store, struct store_call *old, struct store_call *call)
{
    list_append(&old->node, &call->node); /* before it: the list is a ring */
    list_remove(&old->node);
    store->queued_bytes += call->bytes - old->bytes;
    map_set(&store->queued_rows, call->row, call);
    call_free(old);
}

static bool store_has_room(const struct store *store, const struct store_call *call)
{
    return store->n_queued < STORE_QUEUE_MAX &&
           (store->queued_bytes + call->bytes <= STORE_QUEUE_BYTES || store->n_queued == 0);
}

static void enqueue(struct store *store, struct store_call *call)
{
    struct store_call *old = replaceable(store, call);
    store->generation += call->type->ends_rows;
    call->generation = store->generation;
    if (old != NULL) {
        replace_row(store, old, call);
        return;
    }
    if (call->row != NULL)
        map_set(&store->queued_rows, call->row, call);
    list_append(&store->queue, &call->node);
    store->queued_bytes += call->bytes;
    /* The writer sleeps without a timer only while there is nothing to do: the first call wakes it,
     * and it lingers for more. After that only who waits is worth a wake-up. */
    if (store->n_queued++ == 0 || call->is_awaited || store->n_queued % CROWD_LOOK == 0)
        pthread_cond_signal(&store->wake);
    store->n_awaited += call->is_awaited;
}

static int store_refuse(struct store *store, struct err *e)
{
    if (store->is_failing) {
        *e = store->trouble;
        return err_context(e, "too much waits to be saved");
    }
    err_set(e, ERR_LIMIT, "too much waits to be saved (%zu entries)", store->n_queued);
    return err_advise(e, "Try again in a moment; a faster disk for the data directory helps.");
}

/* store.lock is held. */
static bool is_welcome(const struct store *store, const struct store_call *call)
{
    /* A worker may still find damage while the store is closed. */
    return !store->is_stopping && (store_has_room(store, call) || replaceable(store, call) != NULL);
}

int call_queue(struct store_call *call, struct err *e)
{
    struct store *store = call->store;
    pthread_mutex_lock(&store->lock);
    bool is_accepted = is_welcome(store, call);
    if (is_accepted)
        enqueue(store, call);
    else
        store_refuse(store, e);
    pthread_mutex_unlock(&store->lock);
    if (!is_accepted)
        call_free(call);
    return is_accepted ? 0 : -1;
}

/* The record is on its way to the disk before the call may be in a group, and the group that has it
 * says so: else a record could be called committed that is not. */
int call_put(struct store_call *call, struct err *e)
{
    struct store *store = call->store;
    call->bytes += call->record.cap;
    pthread_mutex_lock(&store->lock);
    bool is_accepted = is_welcome(store, call);
    if (!is_accepted)
        store_refuse(store, e);
    pthread_mutex_unlock(&store->lock);
    if (!is_accepted) {
        call_free(call);
        return -1;
    }
    uint64_t seq = journal_append(&store->journal, &call->record);
    pthread_mutex_lock(&store->lock);
    store->journalled = seq;
    enqueue(store, call);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

void call_deliver_done(struct store_call *call, const struct err *e)
{
    ((store_done_fn)call->fn)(call->context, e);
}

struct store_call *call_ask(struct store_call *call, void *fn, void *context)
{
    struct store *store = call->store;
    call->fn = fn;
    call->context = context;
    call->is_awaited = true;
    pthread_mutex_lock(&store->lock);
    assert(!store->is_stopping);
    enqueue(store, call);
    pthread_mutex_unlock(&store->lock);
    return call;
}

struct store_call *call_job(struct store_call *call)
{
    struct store *store = call->store;
    pthread_mutex_lock(&store->lock);
    assert(!store->is_stopping);
    workers_submit(call);
    pthread_mutex_unlock(&store->lock);
    return call;
}

struct store_call *call_now(struct store_call *call)
{
    assert(!call->store->is_stopping);
    call->has_failed = call->type->apply(call->store, call, &call->error) < 0;
    call_finish(call);
    return call;
}

void call_finish(struct store_call *call)
{
    struct store *store = call->store;
    pthread_mutex_lock(&store->lock);
    bool is_first = list_is_empty(&store->done);
    list_append(&store->done, &call->node);
    pthread_mutex_unlock(&store->lock);
    if (is_first)
        uv_async_send(&store->async);
}

void store_forget(struct store_call *call)
{
    call->is_forgotten = true;
    atomic_store(&call->is_cut, true);
}

/* ---- delivery, on the loop ------------------------------------------------------------------- */

static struct store_call *take_done(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    struct list *node = list_first(&store->done);
    if (node != NULL)
        list_remove(node);
    pthread_mutex_unlock(&store->lock);
    return node == NULL ? NULL : CONTAINER_OF(node, struct store_call, node);
}

static void tell_trouble(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    bool is_failing = store->is_failing;
    struct err trouble = store->trouble;
    pthread_mutex_unlock(&store->lock);
    if (is_failing == store->was_failing)
        return;
    store->was_failing = is_failing;
    if (store->on_trouble != NULL)
        store->on_trouble(store->trouble_context, is_failing ? &trouble : NULL);
}

static void store_deliver(struct store *store)
{
    struct store_call *call;
    tell_trouble(store);
    while ((call = take_done(store)) != NULL) {
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

static void start_locks(struct store *store)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&store->db_lock, NULL);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->wake, &attributes);
    pthread_cond_init(&store->job_wake, NULL);
    pthread_condattr_destroy(&attributes);
}

static void free_locks(struct store *store)
{
    pthread_mutex_destroy(&store->db_lock);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->wake);
    pthread_cond_destroy(&store->job_wake);
}

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
    free_locks(store);
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
    return sweep_after_boot(store, e) < 0 ? -1 : journal_open(store, e);
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
    start_locks(store);
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
