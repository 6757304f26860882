/* Threads for streams: started when there is more work than idle ones, then kept; asleep without a
 * timer while there is none. What a worker does may take until its deadline, so they are several,
 * and none of them is the writer. Daemon. */
#include "store/internal.h"

enum { WORKER_STACK = 256 * 1024 };

static void *worker_main(void *context)
{
    struct store *store = context;
    pthread_mutex_lock(&store->lock);
    for (;;) {
        struct list *node;
        while ((node = list_first(&store->jobs)) == NULL && !store->is_stopping) {
            store->n_idle_workers++;
            pthread_cond_wait(&store->job_wake, &store->lock);
            store->n_idle_workers--;
        }
        if (node == NULL)
            break;
        struct store_call *job = CONTAINER_OF(node, struct store_call, node);
        list_remove(node);
        list_append(&store->running, node);
        pthread_mutex_unlock(&store->lock);
        job->has_failed = job->type->apply(store, job, &job->error) < 0;
        pthread_mutex_lock(&store->lock);
        list_remove(node);
        pthread_mutex_unlock(&store->lock);
        call_finish(job);
        pthread_mutex_lock(&store->lock);
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

void workers_submit(struct store_call *call)
{
    struct store *store = call->store;
    list_append(&store->jobs, &call->node);
    size_t waiting = 0;
    LIST_EACH(&store->jobs, it)
        waiting++;
    int rc = 0;
    if (waiting > store->n_idle_workers && store->n_workers < WORKERS_MAX) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, WORKER_STACK);
        rc = pthread_create(&store->workers[store->n_workers], &attributes, worker_main, store);
        pthread_attr_destroy(&attributes);
        store->n_workers += rc == 0;
    }
    if (rc != 0 && store->n_workers == 0) {
        /* There is no thread that could take the call later. */
        call->has_failed = true;
        err_errno(&call->error, ERR_UNAVAILABLE, rc, "starting a thread for it");
        list_remove(&call->node);
        list_append(&store->done, &call->node);
        uv_async_send(&store->async);
    }
    pthread_cond_signal(&store->job_wake);
}

void workers_stop(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    LIST_EACH(&store->jobs, it)
        atomic_store(&CONTAINER_OF(it, struct store_call, node)->is_cut, true);
    LIST_EACH(&store->running, it)
        atomic_store(&CONTAINER_OF(it, struct store_call, node)->is_cut, true);
    pthread_cond_broadcast(&store->job_wake);
    unsigned n = store->n_workers;
    pthread_mutex_unlock(&store->lock);
    for (unsigned i = 0; i < n; i++)
        pthread_join(store->workers[i], NULL);
}
