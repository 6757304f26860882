/* store: what outlives the daemon. Promises: what a callback or a barrier called safe is there
 * after kill -9 and after a power cut; what was being written when the lights went out is there as
 * a whole or not at all; a row never names bytes that are not on disk. Changes of notebooks that
 * were told, and cells that were put, are there after kill -9, and after a power cut unless it came
 * within about a second. Owns DATA_DIR/cella.db, DATA_DIR/cells.journal* and, by the blob room,
 * what lies under DATA_DIR/blobs. May call jail (to read manifests), blob, wire, loop and base.
 *
 * One thread owns the database. Calls copy what they are given, queue it and return at once;
 * callbacks come from the loop, never from within the call, and in the order of the calls that they
 * belong to (ingest, export and pictures, which run beside the queue, come when they are done).
 * Reading calls go through the same queue, so they see whatever was put before them; changes of a
 * notebook are applied in the order of the calls, of all callers. A store that has nothing to
 * do sleeps without a timer.
 *
 * Everything queued is written in groups, one transaction each. A group that a caller waits for (a
 * callback, a barrier) is on disk when they hear of it, or committed if that is all they were
 * promised; what no caller waits for is written within STORE_LINGER_MS and on disk within about a
 * second. Until then rows of notebooks and cells are in the journal (store/journal.h).
 *
 * When the disk is full or cannot be written, waiting callers are told and may try again. What no
 * caller waits for stays queued (the newest row of a session, a notebook or a cell replaces the
 * older one) and is tried again by itself: nothing of it is given up until the queue is full, and
 * then the caller is told at once.
 *
 * Notebooks and their cells have a header of their own, store/notebooks.h.
 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

typedef struct uv_loop_s uv_loop_t;
struct store;
struct store_call;

enum {
    STORE_HASH_SIZE = 65, /* hex digits of a blob's name, and the NUL */
    STORE_NAME_MAX = 128, /* bytes of the name of a named state or a shared file */
    STORE_QUEUE_MAX = 20000,
    STORE_LINGER_MS = 100,
    STORE_PAGE_MAX = 1000,   /* rows in one answer */
    STORE_BLOB_AGE_MIN = 10, /* minutes that a blob without a row is left alone */
};
#define STORE_QUEUE_BYTES (64 * MIB) /* waiting to be written; blobs are on disk already */
#define STORE_ROW_BYTES (1 * MIB)    /* of what describes one session */

/* ---- opening --------------------------------------------------------------------------------- */

/* To be called after the last fork, as the user that the daemon keeps: it starts a thread and makes
 * files. A database that a newer program made, or that is damaged, or that another process has
 * open, is refused; the message says what the administrator can do. */
int store_open(const char *data_dir, uv_loop_t *loop, struct store **ret_store, struct err *e);

/* Writes what is queued, cuts ingests and exports, and blocks until that is done. Callbacks that
 * have not come yet come now, from here. The loop must run once more afterwards, so that its handle
 * is closed and freed. NULL is fine. */
void store_close(struct store *store);

struct store_health {
    bool is_failing;        /* the last group could not be written; it is tried again */
    struct err error;       /* why, if so */
    size_t queued;          /* entries that are not written yet */
    uint64_t groups;        /* written so far */
    uint64_t db_bytes;      /* of the database, its log included */
    uint64_t journal_bytes; /* of the journal's files: what is in them may be committed */
    uint64_t memory_bytes;  /* of SQLite: pages at hand, statements */
};

void store_health(struct store *store, struct store_health *ret);

/* Called from the loop when writing begins to fail (`e`) and when it works again (NULL). */
void store_on_trouble(struct store *store, void (*fn)(void *context, const struct err *e),
                      void *context);

/* ---- callbacks ------------------------------------------------------------------------------- */

/* `e` is NULL if all went well. */
typedef void (*store_done_fn)(void *context, const struct err *e);

/* The callback of this call will not come. What was to be written still is; an ingest or export is
 * cut. Legal until the callback was called. */
void store_forget(struct store_call *call);

/* Everything that was queued before this call is on disk, or `e` says what kept it from being so.
 * `session` (NULL for all) narrows that to what belongs to one session, so that its caller
 * is not told of another session's trouble. */
struct store_call *store_barrier(struct store *store, const char *session, store_done_fn fn,
                                 void *context);

/* ---- sessions -------------------------------------------------------------------------------- */

struct store_session {
    const char *id;         /* a UUID */
    const char *spec;       /* JSON: all that is needed to make it again */
    const char *line;       /* JSON: what changes while the session runs (its tree); may be NULL */
    uint64_t created_ms;    /* wall clock */
    uint64_t used_ms;       /* wall clock */
    uint64_t n_execs;       /* the last exec_id given out */
    uint64_t n_checkpoints; /* the last checkpoint id given out */

    /* Only when read. n_execs and n_checkpoints count cells and states that were saved after the
     * row itself, too. */
    uint64_t resume; /* the checkpoint that the session would be resumed from; 0 if none is saved */
    uint64_t saved_through; /* exec_id that this state covers */
    uint64_t n_cells;
    uint64_t n_states;
};

/* Makes or replaces the session's row; a put of it that is still queued is replaced there. */
int store_put_session(struct store *store, const struct store_session *row, struct err *e);

/* Deletes the session's row and states; its notebook stays. States put for it later are refused. */
int store_delete_session(struct store *store, const char *id, struct err *e);

/* All sessions, oldest first. For the start of the daemon: it reads on the caller's thread, about
 * 10 us for each. The row is valid during the call of `fn` only, which must not call the store. */
int store_each_session(struct store *store,
                       void (*fn)(void *context, const struct store_session *row), void *context,
                       struct err *e);

/* ---- states ---------------------------------------------------------------------------------- */

/* One record of a state stream. */
struct store_record {
    char *header; /* JSON, NUL-terminated */
    size_t header_len;
    bool has_body;
    uint64_t bytes;             /* of the body */
    char hash[STORE_HASH_SIZE]; /* of the body */
    void *data;                 /* the body if it is small; NULL if it is a blob */
};

/* The records of one whole stream, "begin" and "end" included, in order. Never changed once made;
 * shared by counting. */
struct store_state {
    int refs;            /* atomic */
    struct store *store; /* the store in whose list the state is; NULL once it was closed */
    struct store_state *previous; /* in the store's list of live ones */
    struct store_state *next;
    struct store_record *records;
    size_t n_records;
    uint64_t bytes; /* of all bodies */
    uint32_t n_lost;
};

struct store_state *store_state_ref(struct store_state *state);
void store_state_unref(struct store_state *state); /* NULL is fine; any thread */

/* "lost":[{"name","type","advice"}...], at most `max` of them, as the value alone. */
struct buf;
void store_state_put_lost(const struct store_state *state, size_t max, struct buf *out);

/* What the interpreter told of its declarations when it was saved: JSON of a stranger, not
 * NUL-terminated. NULL if there is none, or if it is too large. */
const char *store_state_overview(const struct store_state *state, size_t *ret_len);

/* A saved state's place in its session. */
struct store_saved {
    uint64_t checkpoint;
    uint64_t through;               /* exec_id of the last cell that it covers */
    char files[STORE_HASH_SIZE];    /* hash of the workspace's manifest; "": no files go with it */
    char explored[STORE_HASH_SIZE]; /* likewise of what was explored; "": nothing was */
    uint64_t at_ms;                 /* wall clock; 0 when put: now */
    uint64_t bytes;                 /* of the bodies; only when read */
};

/* Saves it as the state of `at->checkpoint`, replacing an earlier one of that checkpoint, and makes
 * it the one to resume from. `fn` (may be NULL) is called when it is safe: all its bodies, the
 * manifest and every file that this names included. NULL if the queue is full. */
struct store_call *store_put_state(struct store *store, const char *session,
                                   const struct store_saved *at, struct store_state *state,
                                   store_done_fn fn, void *context, struct err *e);

/* The line went back: resume from the state of this checkpoint (0: from the beginning, and a state
 * that was saved of it is forgotten) until another is put. If that one has no state, the newest
 * before it that has one is meant. */
int store_resume_from(struct store *store, const char *session, uint64_t checkpoint, struct err *e);

/* Another session begins with a saved state of this one, as its checkpoint `as`: it is the one to
 * resume from there. */
int store_copy_state(struct store *store, const char *session, uint64_t checkpoint, const char *to,
                     uint64_t as, struct err *e);

/* Forgets all states but the newest `newest`, those of the checkpoints in `kept`, and the one to
 * resume from. */
int store_keep_states(struct store *store, const char *session, const uint64_t *kept, size_t n_kept,
                      uint32_t newest, struct err *e);

/* The state is the callee's. ERR_NOT_FOUND if none is saved; ERR_INTERNAL if the row is damaged. */
typedef void (*store_state_fn)(void *context, struct store_state *state,
                               const struct store_saved *at, const struct err *e);
#define STORE_RESUME UINT64_MAX /* as a checkpoint: the one to resume from */
struct store_call *store_get_state(struct store *store, const char *session, uint64_t checkpoint,
                                   store_state_fn fn, void *context);

/* ---- streams --------------------------------------------------------------------------------- */

struct store_limits {
    uint64_t max_bytes;   /* of all bodies */
    uint32_t max_records; /* 0: 100 000 */
    uint32_t max_names;   /* in all headers; 0: 200 000 */
    uint32_t deadline_ms; /* for the whole, from the call; 0: 60 000; at most 300 000 */
};

/* Reads a state stream that a sandbox writes. The descriptor (a socket or a pipe) is the store's
 * from now on. A stream without its end is an error; so is {"rec":"failed"}, with its message. */
struct store_call *store_ingest(struct store *store, int fd, const struct store_limits *limits,
                                store_state_fn fn, void *context);

/* What could not be read back any more, each told to the reader as a "lost" record. */
struct store_exported {
    uint64_t bytes;
    size_t n_damaged;
    const char *damaged; /* JSON: [{"name","type","advice"}...], at most 100 */
};

typedef void (*store_exported_fn)(void *context, const struct store_exported *result,
                                  const struct err *e);

/* Writes the state as a stream. The descriptor is the store's from now on. Each body is checked
 * against its hash before it is sent. `deadline_ms` 0: 60 000. */
struct store_call *store_export(struct store *store, struct store_state *state, int fd,
                                uint32_t deadline_ms, store_exported_fn fn, void *context);

/* One "namespace" blob, as base64 without line breaks. The text is copied. */
struct store_call *store_decode(struct store *store, const char *text, size_t len,
                                uint64_t max_bytes, store_state_fn fn, void *context);

/* The text is valid during the call and NUL-terminated. */
typedef void (*store_text_fn)(void *context, const char *text, size_t len, const struct err *e);
struct store_call *store_encode(struct store *store, struct store_state *state, store_text_fn fn,
                                void *context);

/* ---- named states and shared files ----------------------------------------------------------- */

/* Each owner has names of its own. A name that is looked for without an owner (NULL) means the
 * state of STORE_FIRST_OWNER if it has one, else that of the alphabetically first owner who has
 * one. */
#define STORE_FIRST_OWNER "default"

/* Replaces an earlier one of that name. `expires_ms` (wall clock; 0: never). */
struct store_call *store_put_named(struct store *store, const char *owner, const char *name,
                                   struct store_state *state, uint64_t expires_ms, store_done_fn fn,
                                   void *context, struct err *e);
struct store_call *store_get_named(struct store *store, const char *owner, const char *name,
                                   store_state_fn fn, void *context);
int store_delete_named(struct store *store, const char *owner, const char *name, struct err *e);

struct store_named {
    const char *owner;
    const char *name;
    uint64_t bytes;      /* of the bodies */
    uint64_t at_ms;      /* wall clock: when it was saved */
    uint64_t expires_ms; /* wall clock; 0: never */
};

/* The states that have not expired, by name, at most STORE_PAGE_MAX: of this owner or of all
 * (NULL), of that name or of all (NULL). `count` is how many there are. The views are valid during
 * the call.
 */
typedef void (*store_named_fn)(void *context, const struct store_named *list, size_t n,
                               uint64_t count, const struct err *e);
struct store_call *store_list_named(struct store *store, const char *owner, const char *name,
                                    store_named_fn fn, void *context);

struct store_shared {
    const char *token; /* the right to fetch the file: ids_token */
    const char *owner;
    const char *name;
    char hash[STORE_HASH_SIZE];
    uint64_t bytes;
    uint64_t expires_ms; /* wall clock */
};

int store_put_shared(struct store *store, const struct store_shared *file, struct err *e);

/* `file` is NULL on error; ERR_NOT_FOUND also when it has expired. The blob room opens the hash. */
typedef void (*store_shared_fn)(void *context, const struct store_shared *file,
                                const struct err *e);
struct store_call *store_get_shared(struct store *store, const char *token, store_shared_fn fn,
                                    void *context);

/* ---- tasks ----------------------------------------------------------------------------------- */

struct store_task {
    const char *id;
    const char *agent;                           /* NULL for nobody in particular */
    const char *status;                          /* a word of the room that has tasks */
    uint64_t created_ms, updated_ms, expires_ms; /* wall clock */
    const char *result;                          /* NULL if there is none yet */
};

/* Makes or replaces the task's row. `fn` (may be NULL) is called when it is safe. NULL if the queue
 * is full. */
struct store_call *store_put_task(struct store *store, const struct store_task *row,
                                  store_done_fn fn, void *context, struct err *e);
int store_delete_task(struct store *store, const char *id, struct err *e);

/* All tasks, oldest first. For the start of the daemon, as store_each_session. */
int store_each_task(struct store *store, void (*fn)(void *context, const struct store_task *row),
                    void *context, struct err *e);

/* ---- plan mode of agents --------------------------------------------------------------------- */

/* Remembers since when an agent is in plan mode, and why (NULL if not said); 0: it is not. */
int store_put_plan(struct store *store, const char *agent, const char *reason,
                   uint64_t entered_at_ms, struct err *e);

typedef void (*store_plan_fn)(void *context, const char *agent, const char *reason,
                              uint64_t entered_at_ms);
/* For the start of the daemon, as store_each_session. */
int store_each_plan(struct store *store, store_plan_fn fn, void *context, struct err *e);

/* ---- what else there is ---------------------------------------------------------------------- */

/* A number that only this data directory has, and that is never told. */
uint64_t store_secret(const struct store *store);

/* The directory of blobs, for the calls of that room; it is the store's. */
int store_blobs(const struct store *store);

/* ---- blobs that nothing refers to any more --------------------------------------------------- */

/* What rows refer to is kept, and what live states refer to. A manifest that only memory knows (of
 * a checkpoint that was not saved) must be pinned within STORE_BLOB_AGE_MIN minutes of its making;
 * it and every file that it names are kept until it was unpinned as often. */
void store_pin(struct store *store, const char *manifest);
void store_unpin(struct store *store, const char *manifest);

/* Looks for blobs to remove, in small steps on the store's thread. The store does so itself some
 * time after states were dropped. `fn` may be NULL. */
struct store_call *store_sweep(struct store *store, store_done_fn fn, void *context);
