#include "base/clock.h"
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <time.h>

/* The thread that owns the database. It sleeps while there is nothing to do; what nobody waits for
 * it lets gather for a moment; then everything that is queued becomes one transaction. */

struct group {
    struct list calls;
    bool has_write;
    bool is_awaited;
};

struct clockwork {
    uint64_t linger_until_ms; /* monotonic; 0: not lingering */
    uint64_t sync_due_ms;     /* something is committed that is not on disk yet; 0: nothing */
    uint64_t retry_ms;        /* when failing */
    uint64_t backoff_ms;
};

/* ---- failures that a barrier will ask for ---------------------------------------------------- */

void writer_remember(struct store *store, const char *scope, const struct err *e)
{
    if (store->n_failures == FAILURES_MAX) {
        memmove(store->failures, store->failures + 1,
                (FAILURES_MAX - 1) * sizeof(store->failures[0]));
        store->n_failures--;
    }
    struct failure *f = &store->failures[store->n_failures++];
    snprintf(f->scope, sizeof(f->scope), "%s", scope);
    f->error = *e;
}

bool writer_take_failure(struct store *store, const char *scope, struct err *ret)
{
    size_t kept = 0;
    bool is_found = false;
    for (size_t i = 0; i < store->n_failures; i++) {
        struct failure *f = &store->failures[i];
        if (scope[0] != '\0' && strcmp(f->scope, scope) != 0) {
            store->failures[kept++] = *f;
        } else if (!is_found) {
            is_found = true;
            *ret = f->error;
        }
    }
    store->n_failures = kept;
    return is_found;
}

/* ---- one group ------------------------------------------------------------------------------- */

static int begin(struct store *store, const struct group *g, struct err *e)
{
    store->db.is_broken = false;
    store->n_to_sync = 0;
    /* FULL syncs the log with this commit; NORMAL leaves that to who is next. */
    if (g->has_write &&
        db_exec(&store->db, g->is_awaited ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
                e) < 0)
        return -1;
    return db_exec(&store->db, g->has_write ? "BEGIN IMMEDIATE" : "BEGIN", e);
}

static void apply_one(struct store *store, struct store_call *call)
{
    call->has_failed = call->type->apply(store, call, &call->error) < 0;
    if (call->has_failed && !store->db.is_broken && call->type->is_write && call->fn == NULL)
        writer_remember(store, call->scope, &call->error);
}

static int apply_all(struct store *store, struct group *g, struct err *e)
{
    LIST_EACH(&g->calls, it)
    {
        struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        apply_one(store, call);
        if (store->db.is_broken) {
            *e = call->error;
            return -1;
        }
    }
    return 0;
}

static int sync_log(struct store *store, struct err *e)
{
    if (store->wal_fd < 0) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/cella.db-wal", store->path);
        store->wal_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    }
    if (store->wal_fd < 0 || fdatasync(store->wal_fd) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "writing the database's log to disk");
    return 0;
}

static int write_group(struct store *store, struct group *g, bool has_unsynced, struct err *e)
{
    if (begin(store, g, e) < 0)
        return -1;
    if (apply_all(store, g, e) < 0 || (g->has_write && bodies_sync(store, e) < 0) ||
        db_exec(&store->db, "COMMIT", e) < 0) {
        sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    /* A commit that changed nothing writes nothing, so it did not sync what came before it. */
    return g->is_awaited && has_unsynced ? sync_log(store, e) : 0;
}

/* ---- after a group --------------------------------------------------------------------------- */

/* A queued row that is newer makes the one that failed superfluous. */
static bool is_superseded(struct store *store, const struct store_call *call)
{
    return call->type->is_row && map_get(&store->queued_rows, call->scope) != NULL;
}

static void deliver_done(struct store_call *call, const struct err *e)
{
    ((store_done_fn)call->fn)(call->context, e);
}

/* What is left of a call whose payload is tried again: only its caller. */
static const struct call_type told_type = {.deliver = deliver_done};

/* The call that the caller knows is delivered; a copy that nobody waits for takes over the work. */
static struct store_call *split(struct store_call *call)
{
    struct store_call *rest = mem_copy(call, call->size);
    list_init(&rest->node);
    rest->fn = NULL;
    rest->is_awaited = false;
    call->memory = (struct arena){0};
    call->type = &told_type;
    return rest;
}

/* The disk failed. Who waits is told; what was to be written goes back to the front. */
static void put_back(struct store *store, struct group *g, const struct err *e)
{
    struct list back;
    list_init(&back);
    LIST_EACH(&g->calls, it)
    {
        struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        list_remove(it);
        call->has_failed = true;
        call->error = *e;
        if (!call->type->is_write || store->is_stopping || is_superseded(store, call)) {
            list_append(&store->done, it);
            continue;
        }
        if (call->fn != NULL) {
            list_append(&store->done, it);
            call = split(call);
        }
        if (call->type->is_row)
            map_set(&store->queued_rows, call->scope, call);
        list_append(&back, &call->node);
        store->n_queued++;
        store->queued_bytes += call->bytes;
    }
    /* Splice: `back` goes before what was queued meanwhile. */
    LIST_EACH(&store->queue, it)
    {
        list_remove(it);
        list_append(&back, it);
    }
    LIST_EACH(&back, it)
    {
        list_remove(it);
        list_append(&store->queue, it);
    }
}

static void finish_group(struct store *store, struct group *g, const struct err *failure)
{
    bool was_failing = store->is_failing;
    store->is_failing = failure != NULL;
    if (failure != NULL) {
        store->trouble = *failure;
        put_back(store, g, failure);
    } else {
        store->groups++;
        LIST_EACH(&g->calls, it)
        {
            list_remove(it);
            list_append(&store->done, it);
        }
    }
    if (!list_is_empty(&store->done) || was_failing != store->is_failing)
        uv_async_send(&store->async);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void wait_until(struct store *store, uint64_t due_ms)
{
    struct timespec at = {.tv_sec = (time_t)(due_ms / 1000),
                          .tv_nsec = (long)(due_ms % 1000) * 1000000};
    if (due_ms == UINT64_MAX)
        pthread_cond_wait(&store->wake, &store->lock);
    else
        pthread_cond_timedwait(&store->wake, &store->lock, &at);
}

/* When there is something to do next, if nothing is queued until then; 0: now. */
static uint64_t next_due(const struct store *store, const struct clockwork *t)
{
    if (store->n_awaited > 0 || store->is_stopping)
        return 0;
    uint64_t due = t->sync_due_ms == 0 ? UINT64_MAX : t->sync_due_ms;
    if (store->n_queued > 0)
        due = MIN(due, store->is_failing ? t->retry_ms : t->linger_until_ms);
    return sweep_due(store, due);
}

static void take_group(struct store *store, struct group *g)
{
    *g = (struct group){0};
    list_init(&g->calls);
    LIST_EACH(&store->queue, it)
    {
        struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        list_remove(it);
        list_append(&g->calls, it);
        g->has_write |= call->type->is_write;
        g->is_awaited |= call->is_awaited;
    }
    map_free(&store->queued_rows);
    store->n_queued = store->queued_bytes = store->n_awaited = 0;
}

static void run_group(struct store *store, struct clockwork *t)
{
    struct group g;
    struct err e = {0};
    take_group(store, &g);
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_lock(&store->db_lock);
    int rc = write_group(store, &g, t->sync_due_ms != 0, &e);
    pthread_mutex_unlock(&store->db_lock);
    pthread_mutex_lock(&store->lock);
    uint64_t now = clock_mono_ms();
    t->linger_until_ms = 0;
    if (rc < 0) {
        t->backoff_ms = t->backoff_ms == 0 ? RETRY_FIRST_MS : MIN(2 * t->backoff_ms, RETRY_LAST_MS);
        t->retry_ms = now + t->backoff_ms;
    } else {
        t->backoff_ms = 0;
        if (g.is_awaited)
            t->sync_due_ms = 0;
        else if (t->sync_due_ms == 0 && g.has_write)
            t->sync_due_ms = now + SYNC_WITHIN_MS;
    }
    finish_group(store, &g, rc < 0 ? &e : NULL);
}

/* What nobody waited for. If the disk refuses, the next group finds out too. */
static void sync_late(struct store *store, struct clockwork *t)
{
    struct err ignored;
    pthread_mutex_unlock(&store->lock);
    sync_log(store, &ignored);
    pthread_mutex_lock(&store->lock);
    t->sync_due_ms = 0;
}

static void do_what_is_due(struct store *store, struct clockwork *t)
{
    uint64_t now = clock_mono_ms();
    uint64_t queue_due = store->is_failing ? t->retry_ms : t->linger_until_ms;
    if (store->n_queued > 0 && (store->n_awaited > 0 || store->is_stopping || now >= queue_due))
        run_group(store, t);
    else if (t->sync_due_ms != 0 && (now >= t->sync_due_ms || store->is_stopping))
        sync_late(store, t);
    else
        sweep_step(store);
}

void *writer_main(void *context)
{
    struct store *store = context;
    struct clockwork t = {0};
    pthread_mutex_lock(&store->lock);
    while (!store->is_stopping || store->n_queued > 0 || t.sync_due_ms != 0) {
        if (store->n_queued > 0 && t.linger_until_ms == 0)
            t.linger_until_ms = clock_mono_ms() + STORE_LINGER_MS;
        uint64_t due = next_due(store, &t);
        if (due > clock_mono_ms())
            wait_until(store, due);
        else
            do_what_is_due(store, &t);
    }
    sweep_cancel(store);
    pthread_mutex_unlock(&store->lock);
    return NULL;
}
