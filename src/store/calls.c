/* Calls: made on the loop, queued for the writer or given to a worker, finished by a thread.
 * Daemon; owns the queue. */
#include "store/internal.h"

#include <assert.h>

enum { CROWD_LOOK = 512 }; /* queued calls between looks of the writer at how many there are */

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
    store_state_unref(call->state);
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

static void enqueue(struct store *store, struct store_call *call)
{
    struct store_call *old = replaceable(store, call);
    store->generation += call->type->ends_rows;
    call->generation = store->generation;
    if (old != NULL) {
        list_append(&old->node, &call->node); /* before it: the list is a ring */
        list_remove(&old->node);
        store->queued_bytes += call->bytes - old->bytes;
        map_set(&store->queued_rows, call->row, call);
        call_free(old);
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
    return !store->is_stopping &&
           ((store->n_queued < STORE_QUEUE_MAX &&
             (store->queued_bytes + call->bytes <= STORE_QUEUE_BYTES || store->n_queued == 0)) ||
            replaceable(store, call) != NULL);
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

void call_deliver_state(struct store_call *call, const struct err *e)
{
    struct store_state *state = e == NULL ? take_ptr(call->state) : NULL;
    ((store_state_fn)call->fn)(call->context, state, NULL, e);
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
