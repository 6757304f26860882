/* The thread that owns the database. It sleeps while there is nothing to do; calls without
 * a waiting caller gather for a moment; then everything that is queued becomes one transaction.
 * Daemon. */
#include "base/clock.h"
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <time.h>

struct group {
    struct list calls;
    bool has_write;
    bool needs_disk; /* a caller is to be told that its call is safe */
    uint64_t seq;    /* the journal's records up to here are in it, or were in an earlier one */
};

struct clockwork {
    uint64_t linger_until_ms; /* monotonic; 0: not lingering */
    uint64_t sync_due_ms;     /* something is committed that is not on disk yet; 0: nothing */
    uint64_t retry_ms;        /* when failing */
    uint64_t backoff_ms;
};

/* ---- barriers ------------------------------------------------------------------------------- */

/* A barrier is applied in its turn: everything queued before it is in the same transaction or in an
 * earlier one, and it is delivered once that is on disk. */
static int barrier_apply(struct store *store, struct store_call *call, struct err *e)
{
    /* A failure of this session's calls that no callback has told is told once, here. */
    const char *scope = call->scope;
    size_t kept = 0;
    bool is_found = false;
    for (size_t i = 0; i < store->n_failures; i++) {
        struct failure *f = &store->failures[i];
        if (scope[0] != '\0' && strcmp(f->scope, scope) != 0) {
            store->failures[kept++] = *f;
        } else if (!is_found) {
            is_found = true;
            *e = f->error;
        }
    }
    store->n_failures = kept;
    return is_found ? -1 : 0;
}

static const struct call_type barrier_type = {
    .apply = barrier_apply, .deliver = call_deliver_done, .needs_disk = true};

struct store_call *store_barrier(struct store *store, const char *session, store_done_fn fn,
                                 void *context)
{
    struct store_call *call = call_new(store, &barrier_type, sizeof(*call), session);
    return call_ask(call, (void *)fn, context);
}

/* ---- one group ------------------------------------------------------------------------------- */

static int apply_all(struct store *store, struct group *g, struct err *e)
{
    LIST_EACH(&g->calls, it) {
        struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        call->has_failed = call->type->apply(store, call, &call->error) < 0;
        if (call->has_failed && !store->db.is_broken && call->type->is_write && call->fn == NULL) {
            if (store->n_failures == FAILURES_MAX) {
                memmove(store->failures, store->failures + 1,
                        (FAILURES_MAX - 1) * sizeof(store->failures[0]));
                store->n_failures--;
            }
            struct failure *f = &store->failures[store->n_failures++];
            snprintf(f->scope, sizeof(f->scope), "%s", call->scope);
            f->error = call->error;
        }
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
    store->is_log_doubtful |= store->wal_fd < 0 || fdatasync(store->wal_fd) < 0;
    if (store->is_log_doubtful)
        return err_errno(e, ERR_UNAVAILABLE, errno, "writing the database's log to disk");
    return 0;
}

/* Once syncing has failed, the kernel may call pages clean that never reached the disk, and the
 * next sync would succeed without them. So everything in the log is written anew, to the database.
 */
static int renew_log(struct store *store, struct err *e)
{
    if (!store->is_log_doubtful)
        return 0;
    store->db.is_broken = false;
    int rc =
        sqlite3_wal_checkpoint_v2(store->db.handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (rc != SQLITE_OK)
        return db_explain(&store->db, rc, e);
    store->is_log_doubtful = false;
    return 0;
}

static int write_group(struct store *store, struct group *g, bool has_unsynced, struct err *e)
{
    if (renew_log(store, e) < 0)
        return -1;
    store->db.is_broken = false;
    store->n_to_sync = 0;
    /* FULL syncs the log with this commit; NORMAL leaves that to a later one. */
    if (g->has_write &&
        db_exec(&store->db, g->needs_disk ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
                e) < 0)
        return -1;
    if (db_exec(&store->db, g->has_write ? "BEGIN IMMEDIATE" : "BEGIN", e) < 0)
        return -1;
    bool is_news = g->has_write && g->seq > atomic_load(&store->journal.committed);
    if (apply_all(store, g, e) < 0 || (is_news && journal_note(store, g->seq, e) < 0) ||
        (g->has_write && bodies_sync(store, e) < 0) || db_exec(&store->db, "COMMIT", e) < 0) {
        sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
        store->is_log_doubtful = true;
        return -1;
    }
    atomic_store(&store->journal.committed, g->seq);
    /* A commit that changed nothing writes nothing, so it did not sync what came before it. */
    return g->needs_disk && has_unsynced ? sync_log(store, e) : 0;
}

/* ---- after a group --------------------------------------------------------------------------- */

/* The disk refuses, and reads are answered all the same: with the rows that are there and those
 * that wait to be written, in a transaction that stays in memory and is given up. Writes whose
 * caller waits are no part of it: those callers are told that they failed. */
static void answer_reads(struct store *store, struct group *g)
{
    struct err ignored;
    bool has_read = false;
    LIST_EACH(&g->calls, it)
        has_read |= CONTAINER_OF(it, struct store_call, node)->type->is_read;
    if (!has_read)
        return;
    store->db.is_broken = false;
    store->n_to_sync = 0;
    int rc = db_exec(&store->db, "PRAGMA cache_spill=OFF; BEGIN", &ignored);
    LIST_EACH(&g->calls, it) {
        struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        bool is_kept = call->type->is_write && call->fn == NULL;
        if (rc < 0 || !(is_kept || call->type->is_read))
            continue;
        call->has_failed = call->type->apply(store, call, &call->error) < 0;
        call->is_answered = call->type->is_read && !store->db.is_broken;
        if (store->db.is_broken)
            break;
    }
    sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(store->db.handle, "PRAGMA cache_spill=ON", NULL, NULL, NULL);
}

/* Whether a newer put of the same row is queued: then the one that failed is superfluous. */
static bool is_superseded(struct store *store, const struct store_call *call)
{
    const struct store_call *newer =
        call->row == NULL ? NULL : map_get(&store->queued_rows, call->row);
    return newer != NULL && (call->is_partial || !newer->is_partial);
}

static void set_trouble(struct store *store, const struct err *e)
{
    bool was_failing = store->is_failing;
    store->is_failing = e != NULL;
    if (e != NULL)
        store->trouble = *e;
    if (was_failing != store->is_failing)
        uv_async_send(&store->async);
}

static void finish_group(struct store *store, struct group *g, const struct err *failure)
{
    struct list told;
    list_init(&told);
    /* The disk failed. Callers that wait are told and may try again; the other calls go back to the
     * front of the queue, the last first. */
    while (failure != NULL && !list_is_empty(&g->calls)) {
        struct store_call *call = CONTAINER_OF(g->calls.prev, struct store_call, node);
        list_remove(&call->node);
        if (!call->is_answered) {
            call->has_failed = true;
            call->error = *failure;
        }
        if (!call->type->is_write || call->fn != NULL || store->is_stopping ||
            is_superseded(store, call)) {
            list_append(told.next, &call->node);
            continue;
        }
        if (call->row != NULL && map_get(&store->queued_rows, call->row) == NULL)
            map_set(&store->queued_rows, call->row, call);
        list_append(store->queue.next, &call->node); /* before the first: the list is a ring */
        store->n_queued++;
        store->queued_bytes += call->bytes;
    }
    store->groups += failure == NULL;
    list_move_all(failure == NULL ? &g->calls : &told, &store->done);
    set_trouble(store, failure);
    if (!list_is_empty(&store->done))
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

/* When the queue must be written although no caller waits for it. */
static uint64_t queue_due(const struct store *store, const struct clockwork *t)
{
    if (store->is_failing)
        return t->retry_ms;
    /* Much waits: more would not make the group cheaper. */
    if (store->n_queued > STORE_QUEUE_MAX / 8 || store->queued_bytes > STORE_QUEUE_BYTES / 8)
        return 0;
    return t->linger_until_ms;
}

/* When there is something to do next, if nothing is queued until then; 0: now. */
static uint64_t next_due(const struct store *store, const struct clockwork *t)
{
    if (store->n_awaited > 0 || store->is_stopping)
        return 0;
    uint64_t due = t->sync_due_ms == 0 ? UINT64_MAX : t->sync_due_ms;
    if (store->n_queued > 0)
        due = MIN(due, queue_due(store, t));
    return sweep_due(store, due);
}

static void run_group(struct store *store, struct clockwork *t)
{
    struct group g = {.seq = store->journalled};
    struct err e = {0};
    list_init(&g.calls);
    list_move_all(&store->queue, &g.calls);
    map_free(&store->queued_rows);
    store->n_queued = store->queued_bytes = store->n_awaited = 0;
    pthread_mutex_unlock(&store->lock);
    LIST_EACH(&g.calls, it) {
        const struct store_call *call = CONTAINER_OF(it, struct store_call, node);
        g.has_write |= call->type->is_write;
        g.needs_disk |= call->is_awaited && call->type->needs_disk;
    }
    pthread_mutex_lock(&store->db_lock);
    int rc = write_group(store, &g, t->sync_due_ms != 0, &e);
    if (rc < 0)
        answer_reads(store, &g);
    pthread_mutex_unlock(&store->db_lock);
    pthread_mutex_lock(&store->lock);
    uint64_t now = clock_mono_ms();
    t->linger_until_ms = 0;
    if (rc < 0) {
        t->backoff_ms = t->backoff_ms == 0 ? RETRY_FIRST_MS : MIN(2 * t->backoff_ms, RETRY_LAST_MS);
        t->retry_ms = now + t->backoff_ms;
    } else {
        t->backoff_ms = 0;
        if (g.needs_disk)
            t->sync_due_ms = 0;
        else if (t->sync_due_ms == 0 && g.has_write)
            t->sync_due_ms = now + SYNC_WITHIN_MS;
    }
    finish_group(store, &g, rc < 0 ? &e : NULL);
}

/* Syncs what was committed without a caller that waits for it. */
static void sync_late(struct store *store, struct clockwork *t)
{
    struct err e;
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_lock(&store->db_lock);
    int rc = store->is_log_doubtful ? renew_log(store, &e) : sync_log(store, &e);
    pthread_mutex_unlock(&store->db_lock);
    pthread_mutex_lock(&store->lock);
    t->sync_due_ms = rc == 0 || store->is_stopping ? 0 : clock_mono_ms() + RETRY_LAST_MS;
    set_trouble(store, rc < 0 ? &e : NULL);
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
        uint64_t now = clock_mono_ms();
        if (due > now)
            wait_until(store, due);
        else if (store->n_queued > 0 &&
                 (store->n_awaited > 0 || store->is_stopping || now >= queue_due(store, &t)))
            run_group(store, &t);
        else if (t.sync_due_ms != 0 && (now >= t.sync_due_ms || store->is_stopping))
            sync_late(store, &t);
        else
            sweep_step(store);
    }
    sweep_cancel(store);
    pthread_mutex_unlock(&store->lock);
    return NULL;
}
