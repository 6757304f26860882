/* How the store works inside: a queue of calls, the thread that applies them in groups, and the
 * threads that read and write streams. For this room alone.
 *
 * A call is made on the loop, applied on a thread, delivered on the loop, and freed there:
 *
 *   loop: store_x() --queue--> writer: type->apply --done--> loop: type->deliver, type->release
 *   loop: store_x() --jobs---> worker: type->apply --done--> loop: the same
 *
 * A put of a cell or of a notebook's row is written to the journal on its way to the queue.
 *
 * Invariants
 *  1. A committed row refers only to bodies that have a row in `bodies`; such a row is committed
 *     only after its bytes are safe: in the same transaction if they are in the row, else after
 *     blob_sync.
 *  2. A blob without a row in `bodies` may be incomplete after a power cut. At the first start
 *     after the machine's, such blobs are removed before anybody can find and reuse them
 *     (sweep_after_boot).
 *  3. A blob's row goes, committed, before the blob does.
 *  4. What failed because of the disk stays queued, before everything newer, unless its caller was
 *     told or a newer row makes it superfluous.
 *  5. A group takes the whole queue. So what is committed comes before what is not, in the order of
 *     the calls, and one number says how far the journal is committed.
 *  6. Places of cells are unique in their notebook, and notebooks.n_cells is how many there are. */
#pragma once

#include "base/arena.h"
#include "base/ids.h"
#include "base/list.h"
#include "base/map.h"
#include "blob/blob.h"
#include "store/db.h"
#include "store/journal.h"
#include "store/notebooks.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

enum {
    WORKERS_MAX = 8,      /* streams at once; each may take until its deadline */
    SYNC_WITHIN_MS = 900, /* of calls without a waiting caller, after their commit */
    RETRY_FIRST_MS = 500,
    RETRY_LAST_MS = 30000,
    FAILURES_MAX = 64, /* remembered for the next barrier */
};
#define ANY_AGE (-((time_t)1 << 40)) /* for blob_remove_idle: also by a clock that was wrong */
/* Bodies up to here live in the database: its log is synced anyway, a file would be synced too. */
#define INLINE_MAX (64 * KIB)
#define INLINE_TOTAL_MAX (4 * MIB) /* of one state: it is memory until it is saved */
#define SMALL_MAX (16 * KIB)       /* what is done on the loop instead of on a worker */
#define HEADERS_MAX (16 * MIB)     /* of all records of a state */
#define PACKED_MAX (32 * MIB)

struct output_view;
struct store_call;
struct sweep;

struct call_type {
    /* On a thread. Of the writer's: inside a transaction; -1 fails this call alone, unless
     * db.is_broken says that the disk is to blame. */
    int (*apply)(struct store *store, struct store_call *call, struct err *e);
    /* On the loop: calls the caller's function. NULL if no caller waits. `e` is NULL on success. */
    void (*deliver)(struct store_call *call, const struct err *e);
    void (*release)(struct store_call *call); /* frees what else the call owns; may be NULL */
    bool is_write;
    bool is_read; /* reads rows only, and may be applied twice: answered although the disk fails */
    bool needs_disk; /* delivered only when everything queued before it is on disk */
    bool ends_rows;  /* a row that is put after this call must not replace one before it */
    bool is_told;    /* delivered although its caller gave no function */
};

struct store_call {
    const struct call_type *type;
    struct store *store;
    struct list node;      /* in the queue, the jobs, or what is done */
    struct arena memory;   /* of the call's arguments and results */
    char scope[UUID_SIZE]; /* the session or notebook that the call is about, or "" */
    size_t bytes;          /* counted against STORE_QUEUE_BYTES */
    /* The name of the row that the call puts, or NULL. A newer put replaces a queued one of the
     * same row, unless the newer is partial and the queued is not, or a call with ends_rows came
     * between.
     */
    const char *row;
    bool is_partial;
    uint64_t generation;
    struct buf record; /* of a put: the bytes that the journal holds, too */
    bool is_awaited;   /* the caller waits: no lingering */
    bool is_forgotten; /* read and written on the loop alone */
    bool has_failed;
    bool is_answered;   /* of a read: answered in spite of its group's failure */
    atomic_bool is_cut; /* of a job: stop at the next look */
    struct err error;
    struct store_state *state; /* that the call saves, reads or makes; one reference, or NULL */
    void *fn;                  /* the caller's, cast back by type->deliver */
    void *context;
};

struct failure {
    char scope[UUID_SIZE];
    struct err error;
};

struct store {
    uv_loop_t *loop;
    uv_async_t async;
    int blobs;  /* directory */
    char *path; /* of the data directory */

    /* The database and what belongs to its thread; db_lock is held while a group is applied. */
    pthread_mutex_t db_lock;
    struct db db;
    bool is_log_doubtful;      /* syncing it has failed, see writer.c */
    int wal_fd;                /* for syncing without a commit; -1: not open yet */
    struct blob_hash *to_sync; /* blobs that the present group refers to first */
    size_t n_to_sync, max_to_sync;
    struct failure failures[FAILURES_MAX]; /* of calls without a callback; oldest first */
    size_t n_failures;
    struct sweep *sweep; /* NULL while no sweep goes on */

    /* Shared; under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the writer */
    struct list queue;
    size_t n_queued;
    size_t queued_bytes;
    size_t n_awaited;       /* queued calls that a caller waits for */
    struct map queued_rows; /* name of a row -> the newest queued call for it */
    uint64_t generation;    /* how many calls with ends_rows were queued */
    uint64_t journalled;    /* number of the last record whose call was queued */
    struct list done;
    bool is_stopping;
    bool is_failing;
    struct err trouble;
    uint64_t groups;
    struct store_state *states; /* live ones: roots of the sweep */
    struct map pins;            /* manifest -> count */
    uint64_t sweep_wanted_ms;   /* monotonic; 0: no garbage since the last one */
    struct list sweepers;       /* calls that wait for the end of a sweep */

    pthread_cond_t job_wake; /* the workers */
    struct list jobs;
    unsigned n_workers;
    unsigned n_idle_workers;
    struct list running; /* jobs in the hands of a worker */
    pthread_t workers[WORKERS_MAX];
    pthread_t writer;

    struct journal journal;

    bool was_failing; /* as last told to on_trouble; loop only */
    void (*on_trouble)(void *context, const struct err *e);
    void *trouble_context;
    store_shown_fn on_shown;
    void *shown_context;
};

/* ---- calls (calls.c) ------------------------------------------------------------------------- */

/* `size`: of the struct that the call is the first member of. */
void *call_new(struct store *store, const struct call_type *type, size_t size, const char *scope);
void call_free(struct store_call *call);

/* -1 if the queue is full or was closed; the call is freed then. */
int call_queue(struct store_call *call, struct err *e);
/* For calls that have a callback for their errors: never refused. */
struct store_call *call_ask(struct store_call *call, void *fn, void *context);
struct store_call *call_job(struct store_call *call);
/* For call_type.deliver of calls whose callback is a store_done_fn. */
void call_deliver_done(struct store_call *call, const struct err *e);
/* The same for a store_state_fn, which takes the state over, without a store_saved. */
void call_deliver_state(struct store_call *call, const struct err *e);
/* Applied at once, on the loop: for what takes less than waking a thread does, and never waits. It
 * is delivered later like any other. */
struct store_call *call_now(struct store_call *call);
void call_finish(struct store_call *call); /* by a thread: to the loop with it */

/* A put: journalled, then queued. The record is in the call. */
int call_put(struct store_call *call, struct err *e);

/* ---- the writer (writer.c) ------------------------------------------------------------------- */

void *writer_main(void *store);

/* ---- workers (workers.c) --------------------------------------------------------------------- */

void workers_submit(struct store_call *call); /* store.lock is held */
void workers_stop(struct store *store);

/* ---- states (state.c) ------------------------------------------------------------------------ */

struct store_state *state_new(void);
/* The state is whole and will not change: from now on a sweep keeps what it refers to. */
void state_publish(struct store *store, struct store_state *state);
/* Appends a record; the header is copied. */
struct store_record *state_add(struct store_state *state, const char *header, size_t len);
size_t state_memory(const struct store_state *state); /* bytes of memory */
/* Records as one value of a row, and back. */
void state_pack(const struct store_state *state, struct buf *out);
int state_unpack(struct store *store, const void *data, size_t len, struct store_state **ret,
                 struct err *e);
/* Walks the hashes in a packed value without making a state. -1 if it is damaged. */
int state_each_hash(const void *data, size_t len,
                    void (*fn)(void *context, const struct blob_hash *hash), void *context);

/* ---- bodies (bodies.c): on the store's thread ------------------------------------------------ */

/* Makes sure that what the state refers to has rows, and notes what must be synced first. */
int bodies_keep_state(struct store *store, const struct store_state *state, struct err *e);
int bodies_keep_manifest(struct store *store, const char *hex, struct err *e);
int bodies_keep_blob(struct store *store, const struct blob_hash *hash, uint64_t bytes,
                     struct err *e);
/* Reads the small bodies of a state that was unpacked. */
int bodies_load(struct store *store, struct store_state *state, struct err *e);
int bodies_sync(struct store *store, struct err *e); /* before the commit */
int bodies_is_known(struct store *store, const struct blob_hash *hash, struct err *e);
int bodies_drop(struct store *store, const struct blob_hash *hash, struct err *e);
/* By a worker: a damaged blob must not be found and reused when the same bytes are saved again. */
void bodies_drop_damaged(struct store *store, const char *hex);

/* The key of a session's row; ERR_NOT_FOUND if the session has no row. */
int session_key(struct store *store, const char *id, uint64_t *ret_key, struct err *e);

/* ---- notebooks and cells: on the store's thread ---------------------------------------------- */

struct notebook_at {
    uint64_t key;
    uint64_t n_cells;
    int64_t last_place;
};

struct cell_at {
    uint64_t key;
    int64_t place;
    uint64_t number;
    uint64_t exec_id; /* of its last run, if it was found by its id */
};

/* ERR_NOT_FOUND if there is no such notebook. */
int notebook_find(struct store *store, const char *id, struct notebook_at *ret, struct err *e);
/* After a change: adds `more` to the notebook's number of cells, and notes the newest count and
 * exec_id. */
int notebook_note(struct store *store, uint64_t key, int64_t more, uint64_t count, uint64_t exec_id,
                  struct err *e);
/* notebook_drop_outputs removes the outputs of all cells, notebook_empty the cells themselves; the
 * caller then corrects their number with notebook_note. */
int notebook_drop_outputs(struct store *store, uint64_t key, struct err *e);
int notebook_empty(struct store *store, uint64_t key, struct err *e);
int notebook_apply_put(struct store *store, const struct store_notebook *row, struct err *e);

/* By id, or else by number. */
int cell_find(struct store *store, const struct notebook_at *book, const char *name,
              struct cell_at *ret, struct err *e);
int cell_find_id(struct store *store, uint64_t notebook, const char *id, struct cell_at *ret,
                 struct err *e); /* 1: found, without its number */
/* An id of eight hex digits that no cell of the notebook has. Its first bit is 0; ids that others
 * make for cells that they put have 1. */
int cell_make_id(struct store *store, uint64_t notebook, char id[CELL_ID_SIZE], struct err *e);
int cell_number(struct store *store, const struct notebook_at *book, int64_t place,
                uint64_t *ret_number, struct err *e);
/* The place of the number-th cell, which must exist. */
int cell_place(struct store *store, const struct notebook_at *book, uint64_t number,
               int64_t *ret_place, struct err *e);
/* The cell's row without source, outputs and metadata; id and state are copied to the memory. */
int cell_read_head(struct store *store, const struct cell_at *at, struct arena *memory,
                   struct store_cell *ret, struct err *e);
/* Inserts a new cell; source and state are given. */
int cell_insert(struct store *store, const struct notebook_at *book, const struct store_cell *cell,
                int64_t place, struct err *e);
int cell_set_source(struct store *store, uint64_t key, const struct store_cell *cell,
                    struct err *e);
/* `ret_news` gets the outputs that other cells show from now on because of this put; `memory` is
 * NULL if the caller does not want them. */
int cell_apply_put(struct store *store, const char *notebook, const struct store_cell *cell,
                   struct arena *memory, struct store_shown **ret_news, struct err *e);
int cell_check(const char *notebook, const struct store_cell *cell, struct err *e);

/* The rows of a cell's pictures become those that its outputs name (images.c). */
int images_keep(struct store *store, uint64_t key, const char *outputs, size_t len, struct err *e);
/* One output of a cell comes or goes: the others' rows stay as they are. */
int images_next(struct store *store, uint64_t key, uint64_t *ret_n,
                struct err *e); /* the first free number */
int images_add(struct store *store, uint64_t key, const char *output, size_t len, struct err *e);
int images_drop(struct store *store, uint64_t key, const struct output_view *output, struct err *e);

/* The rows of what a cell shows under ids become those of its outputs (displays.c). */
int displays_keep(struct store *store, uint64_t key, const char *outputs, size_t len,
                  struct err *e);
/* Outputs of a put that are updates go to the cells that show their ids. 1: `out` has those that
 * the cell itself keeps; 0: it keeps all. */
int displays_settle(struct store *store, const struct notebook_at *book, const char *notebook,
                    const struct store_cell *cell, struct arena *memory, struct store_shown **news,
                    struct buf *out, struct err *e);

/* ---- removing what no row refers to (sweep.c) ------------------------------------------------ */

/* After a start of the machine: invariant 2. */
int sweep_after_boot(struct store *store, struct err *e);
/* Something was deleted: look for garbage some time later. */
void sweep_want(struct store *store);
/* A row that is being written refers to the blob: the sweep that goes on keeps it. */
void sweep_mark(struct store *store, const struct blob_hash *hash);
/* For the writer, with store.lock held: when it has to sweep, at the latest `due`; one small step;
 * the end of the thread. */
uint64_t sweep_due(const struct store *store, uint64_t due);
void sweep_step(struct store *store);
void sweep_cancel(struct store *store);
