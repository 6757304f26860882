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
 * notebook are applied in the order of the calls, whoever makes them. A store that has nothing to
 * do sleeps without a timer.
 *
 * Everything queued is written in groups, one transaction each. A group that somebody waits for (a
 * callback, a barrier) is on disk when they hear of it, or committed if that is all they were
 * promised; what nobody waits for is written within STORE_LINGER_MS and on disk within about a
 * second. Until then rows of notebooks and cells are in the journal (store/journal.h).
 *
 * When the disk is full or cannot be written, whoever waits is told and may try again. What nobody
 * waits for stays queued (the newest row of a session, a notebook or a cell replaces the older one)
 * and is tried again by itself: nothing of it is given up until the queue is full, and then the
 * caller is told at once.
 *
 * When it is opened, cells that were queued or running are marked: their state is "died", and the
 * last of their outputs is an error named "Lost".
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
    STORE_PAGE_MAX = 1000,   /* cells in one answer */
    STORE_BLOB_AGE_MIN = 10, /* minutes that a blob nobody refers to is left alone */
};
#define STORE_QUEUE_BYTES (64 * MIB) /* waiting to be written; blobs are on disk already */
#define STORE_PAGE_BYTES (8 * MIB)   /* of cells in one answer */
#define STORE_CELL_BYTES (8 * MIB)   /* of one cell: source, outputs, metadata */
#define STORE_IMAGE_BYTES (64 * MIB) /* of one picture, as text */
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
 * `session` (may be NULL: all) narrows that to what belongs to one session, so that nobody is told
 * of another's trouble. */
struct store_call *store_barrier(struct store *store, const char *session, store_done_fn fn,
                                 void *context);

/* ---- sessions -------------------------------------------------------------------------------- */

struct store_session {
    const char *id;         /* a UUID */
    const char *spec;       /* JSON: all that is needed to make it again */
    const char *line;       /* JSON: what changes as it goes on (its tree); NULL: nothing */
    uint64_t created_ms;    /* wall clock */
    uint64_t used_ms;       /* wall clock */
    uint64_t n_execs;       /* the last exec_id given out */
    uint64_t n_checkpoints; /* the last checkpoint id given out */

    /* Only when read. n_execs and n_checkpoints count cells and states that were saved after the
     * row itself, too. */
    uint64_t resume;        /* the checkpoint whose state it would be resumed from; 0: none */
    uint64_t saved_through; /* exec_id that this state covers */
    uint64_t n_cells;
    uint64_t n_states;
};

/* Makes or replaces the row; one that is still queued is replaced there. */
int store_put_session(struct store *store, const struct store_session *row, struct err *e);

/* With all its states; its notebook stays. What is put for it later is refused. */
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
    void *data;                 /* the body if it is small; NULL: it is a blob */
};

/* The records of one whole stream, "begin" and "end" included, in order. Never changed once made;
 * shared by counting. */
struct store_state {
    int refs;                     /* atomic */
    struct store *store;          /* whose list it is in; NULL: none any more */
    struct store_state *previous; /* in the store's list of live ones */
    struct store_state *next;
    struct store_record *records;
    size_t n_records;
    uint64_t bytes; /* of all bodies */
    uint32_t n_lost;
};

struct store_state *store_state_ref(struct store_state *state);
void store_state_unref(struct store_state *state); /* NULL is fine; any thread */

static inline void cleanup_store_state(struct store_state **state)
{
    store_state_unref(*state);
}

/* "lost":[{"name","type","advice"}...], at most `max` of them, as the value alone. */
struct buf;
void store_state_put_lost(const struct store_state *state, size_t max, struct buf *out);

/* What the interpreter told of its declarations when it was saved: JSON of a stranger, not
 * NUL-terminated. NULL: there is none, or it is too large. */
const char *store_state_overview(const struct store_state *state, size_t *ret_len);

/* A saved state's place in its session. */
struct store_saved {
    uint64_t checkpoint;
    uint64_t through;            /* exec_id of the last cell that it covers */
    char files[STORE_HASH_SIZE]; /* hash of the workspace's manifest; "": no files go with it */
    uint64_t at_ms;              /* wall clock; 0 when put: now */
    uint64_t bytes;              /* of the bodies; only when read */
};

/* Saves it as the state of `at->checkpoint`, replacing an earlier one of that checkpoint, and makes
 * it the one to resume from. `fn` (may be NULL) is called when it is safe: all its bodies, the
 * manifest and every file that this names included. NULL: refused, the queue is full. */
struct store_call *store_put_state(struct store *store, const char *session,
                                   const struct store_saved *at, struct store_state *state,
                                   store_done_fn fn, void *context, struct err *e);

/* The line went back: resume from the state of this checkpoint (0: from the beginning) until
 * another is put. If that one has no state, the newest before it that has one is meant. */
int store_resume_from(struct store *store, const char *session, uint64_t checkpoint, struct err *e);

/* Forgets all states but the newest `newest`, those of the checkpoints in `kept`, and the one to
 * resume from. */
int store_keep_states(struct store *store, const char *session, const uint64_t *kept, size_t n_kept,
                      uint32_t newest, struct err *e);

/* The state is yours. ERR_NOT_FOUND if there is none; ERR_INTERNAL if the row is damaged. */
typedef void (*store_state_fn)(void *context, struct store_state *state,
                               const struct store_saved *at, const struct err *e);
#define STORE_RESUME UINT64_MAX /* as a checkpoint: the one to resume from */
struct store_call *store_get_state(struct store *store, const char *session, uint64_t checkpoint,
                                   store_state_fn fn, void *context);

typedef void (*store_saved_fn)(void *context, const struct store_saved *list, size_t n,
                               const struct err *e);
struct store_call *store_list_states(struct store *store, const char *session, store_saved_fn fn,
                                     void *context);

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

/* ---- notebooks ------------------------------------------------------------------------------- */

enum {
    STORE_PLACE_GAP = 1 << 20, /* between the places of neighbours, at first */
    STORE_CELL_ID_MAX = 64,    /* bytes of a cell's id: letters, digits, "-" and "_" */
    STORE_CELL_ID_SIZE = STORE_CELL_ID_MAX + 1,
};

/* A notebook has the id of its session and outlives it. */
struct store_notebook {
    const char *id;       /* a UUID */
    const char *user;     /* NULL: nobody's */
    const char *title;    /* NULL: none */
    const char *runtime;  /* "python" */
    const char *metadata; /* JSON; NULL: none */
    const char *spec;     /* JSON: what its session is made of; NULL: not known */
    uint64_t created_ms;  /* wall clock; 0 when put: now */
    uint64_t updated_ms;  /* wall clock: of the last change; only when read */
    uint64_t count;       /* the last execution count; grows only */

    /* Only when read. */
    uint64_t n_cells;
    int64_t last_place;
    uint64_t last_exec; /* the largest exec_id that any of its cells ever had */
    bool has_session;   /* a row of a session with this id is there */
};

/* Makes the row or replaces what it says; one that is still queued is replaced there. */
int store_put_notebook(struct store *store, const struct store_notebook *row, struct err *e);

/* Changes a row that is there; NULL stays as it is. `fn` is called after the commit. */
struct store_call *store_describe_notebook(struct store *store, const char *id, const char *title,
                                           const char *metadata, store_done_fn fn, void *context);

/* With its cells and what only they referred to. Cells that are put for it later are dropped, until
 * there is a row again: they may have run. `fn` (may be NULL) is called after the commit.
 * NULL: refused, the queue is full. */
struct store_call *store_delete_notebook(struct store *store, const char *id, store_done_fn fn,
                                         void *context, struct err *e);

/* Those of all sessions that have a row. Like store_each_session: for the start of the daemon. */
int store_each_notebook_head(struct store *store,
                             void (*fn)(void *context, const struct store_notebook *row),
                             void *context, struct err *e);

/* The newest first, without metadata and spec; `user` NULL: everybody's. `count` is how many there
 * are in all. The views are valid during the call. */
typedef void (*store_notebooks_fn)(void *context, const struct store_notebook *list, size_t n,
                                   uint64_t count, const struct err *e);
struct store_call *store_list_notebooks(struct store *store, const char *user, uint64_t offset,
                                        uint32_t limit, store_notebooks_fn fn, void *context);

/* `row` is NULL on error. */
typedef void (*store_notebook_fn)(void *context, const struct store_notebook *row,
                                  const struct err *e);
struct store_call *store_get_notebook(struct store *store, const char *id, store_notebook_fn fn,
                                      void *context);

/* ---- cells ----------------------------------------------------------------------------------- */

struct store_cell {
    const char *id;
    int64_t place;      /* in the order of the notebook. When put, of a new cell: 0 is the end */
    int kind;           /* 0 code, 1 markdown, 2 raw; when edited: -1 stays */
    const char *state;  /* "idle", "queued", "running", "completed", "error", ...; NULL: "idle" */
    const char *source; /* NULL: see store_put_cell */
    size_t source_len;
    uint64_t exec_id;                 /* of its last run; 0: none */
    uint64_t count;                   /* execution count; 0: none */
    uint64_t revision;                /* from 1 on; when put, 0 is 1 */
    uint64_t created_ms, executed_ms; /* wall clock; 0: not known */
    uint64_t duration_us;
    const char *outputs; /* JSON array; NULL: none */
    size_t outputs_len;
    const char *metadata; /* JSON; NULL: none */
    size_t metadata_len;
    uint64_t number; /* how many are before it; only when read */
    bool is_undone;  /* its session has none of its effects (any more); only when read */
};

/* Puts a whole cell by its id: a new one at its place, or over the one that is there, which stays
 * where it is and, if its revision is larger, keeps source, kind and metadata. (One that is there
 * and was not made by this run is another cell, and gets another id.) Without a source it tells of
 * a run alone: state, exec_id, count, executed_ms, duration_us and outputs replace those of the
 * cell, unless it is text now; if that was removed meanwhile, it stays so. A queued put of the same
 * cell is replaced.
 *
 * Nobody is told when it is safe, but once this has returned a killed daemon does not lose it: it
 * is in the journal (unless the disk refuses that, too: then it waits in the queue). More than
 * STORE_CELL_BYTES are refused. */
int store_put_cell(struct store *store, const char *notebook, const struct store_cell *cell,
                   struct err *e);

/* The last member of an output that is put, "updates": it takes the place of whatever other cells
 * of the notebook show under its "display_id". (The newest cells, if they are many.) */
enum store_updates {
    STORE_UPDATES_OTHERS = 1, /* its own cell keeps it if no other shows the id */
    STORE_UPDATES_ALSO = 2,   /* its own cell shows the id itself, and keeps it */
    STORE_UPDATES_GONE = 3,   /* its own cell shows it no more */
};

/* Output that a cell has since a put of another. */
struct store_shown {
    struct store_shown *next;
    const char *cell;
    const char *output; /* JSON, with the hash of its blob */
    size_t len;
};

/* Who is told of them, after the commit; NULL: nobody. The views are valid during the call. */
typedef void (*store_shown_fn)(void *context, const char *notebook,
                               const struct store_shown *shown);
void store_on_shown(struct store *store, store_shown_fn fn, void *context);

enum store_change_kind {
    CHANGE_INSERT,
    CHANGE_EDIT,
    CHANGE_REMOVE,
    CHANGE_MOVE,
    CHANGE_CLEAR_OUTPUTS, /* the cell is idle again, unless it is queued or runs */
    CHANGE_CLEAR_ALL,     /* removes all cells */
};

#define STORE_AT_END UINT64_MAX

struct store_change {
    enum store_change_kind what;
    const char *cell;  /* its id, or its number, "-1" being the last; NULL: all (clear outputs) */
    uint64_t at;       /* insert, move: the number that it is to have; too large: the last */
    uint64_t revision; /* edit: the one that it must have; 0: any */
    const struct store_cell *to; /* insert: whole (id NULL: one is made); edit: NULL members stay */
    uint64_t max_cells;          /* insert; 0: any number */
};

/* The cell as it is now, or was when it was removed, without source and outputs; NULL if all were
 * meant. An edit that expected another revision fails with ERR_CONFLICT, and `now` is the cell. */
typedef void (*store_changed_fn)(void *context, const struct store_cell *now, uint64_t n_cells,
                                 int64_t last_place, const struct err *e);

/* Changes are applied in the order of the calls, each as a whole or not at all, and told after
 * their commit: a killed daemon does not lose them, a power cut may within a second. */
struct store_call *store_change_cells(struct store *store, const char *notebook,
                                      const struct store_change *change, store_changed_fn fn,
                                      void *context);

/* The session of the notebook went to another point of its history: what cells did whose exec_id
 * is larger than `after` is not in it any more, except for those in `redone`. A cell that runs
 * again is not undone. */
int store_mark_undone(struct store *store, const char *notebook, uint64_t after,
                      const uint64_t *redone, size_t n_redone, struct err *e);

/* `list` has at most `limit` cells from the offset-th on, and fewer if they are large, but one at
 * least; `count` is how many there are in all. The views are valid during the call. */
typedef void (*store_cells_fn)(void *context, const struct store_cell *list, size_t n,
                               uint64_t count, const struct err *e);
struct store_call *store_get_cells(struct store *store, const char *notebook, uint64_t offset,
                                   uint32_t limit, bool with_outputs, store_cells_fn fn,
                                   void *context);

/* `name`: an id or a number, as in store_change. `cell` is NULL on error. */
typedef void (*store_cell_fn)(void *context, const struct store_cell *cell, const struct err *e);
struct store_call *store_get_cell(struct store *store, const char *notebook, const char *name,
                                  store_cell_fn fn, void *context);

/* Those that have run, by exec_id, without outputs and numbers; none if there is no notebook. */
struct store_call *store_list_cells(struct store *store, const char *session, uint64_t offset,
                                    uint32_t limit, store_cells_fn fn, void *context);

/* ---- images ---------------------------------------------------------------------------------- */

/* Whoever lets a cell's outputs have a member "hash" (of an object in the array itself) keeps that
 * blob alive as long as the cell has it. Images of a cell are numbered by the end of their "ref"
 * (".../image/N") or, without, in order from 0. */

/* What outputs have as "ref" and "url": notebook, cell and number. */
#define STORE_IMAGE_REF "notebook://%s/cell/%s/image/%llu"
#define STORE_IMAGE_URL "/v1/notebooks/%s/cells/%s/images/%llu"

struct store_picture {
    const char *text;
    size_t len;
    bool is_base64; /* else the text itself is what is kept */
    /* Called from the loop when the text is not needed any more; NULL: it is copied. */
    void (*release)(void *owner);
    void *owner;
};

/* Keeps the bytes as a blob, on a worker. A cell that names the hash must be put within
 * STORE_BLOB_AGE_MIN minutes. */
typedef void (*store_put_image_fn)(void *context, const char *hash, uint64_t bytes,
                                   const struct err *e);
struct store_call *store_put_image(struct store *store, const struct store_picture *picture,
                                   store_put_image_fn fn, void *context);

struct store_image {
    char hash[STORE_HASH_SIZE]; /* the blob room opens it */
    const char *format;         /* "png" */
    uint64_t width, height;     /* pixels; 0: not known */
    uint64_t bytes;
    const char *cell; /* the id of its cell */
};

/* The views are valid during the call. */
typedef void (*store_image_fn)(void *context, const struct store_image *image, const struct err *e);
struct store_call *store_get_image(struct store *store, const char *notebook, const char *cell,
                                   uint64_t n, store_image_fn fn, void *context);

/* ---- named states and shared files ----------------------------------------------------------- */

/* Replaces an earlier one of that name. `expires_ms` (wall clock; 0: never). */
struct store_call *store_put_named(struct store *store, const char *name, struct store_state *state,
                                   uint64_t expires_ms, store_done_fn fn, void *context,
                                   struct err *e);
struct store_call *store_get_named(struct store *store, const char *name, store_state_fn fn,
                                   void *context);
int store_delete_named(struct store *store, const char *name, struct err *e);

struct store_named {
    const char *name;
    uint64_t bytes;      /* of the bodies */
    uint64_t at_ms;      /* wall clock: when it was saved */
    uint64_t expires_ms; /* wall clock; 0: never */
};

/* Those that have not expired, by name, at most STORE_PAGE_MAX; or the one of that name alone
 * (`name` NULL: all). `count` is how many there are. The views are valid during the call. */
typedef void (*store_named_fn)(void *context, const struct store_named *list, size_t n,
                               uint64_t count, const struct err *e);
struct store_call *store_list_named(struct store *store, const char *name, store_named_fn fn,
                                    void *context);

struct store_shared {
    const char *token; /* whoever knows it may have the file: ids_token */
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

/* A number that only this data directory has, and that nobody is told. */
uint64_t store_secret(const struct store *store);

/* The directory of blobs, for the calls of that room; it is the store's. */
int store_blobs(const struct store *store);

/* ---- blobs that nobody refers to any more ---------------------------------------------------- */

/* What rows refer to is kept, and what live states refer to. A manifest that only memory knows (of
 * a checkpoint that was not saved) must be pinned within STORE_BLOB_AGE_MIN minutes of its making;
 * it and every file that it names are kept until it was unpinned as often. */
void store_pin(struct store *store, const char *manifest);
void store_unpin(struct store *store, const char *manifest);

/* Looks for blobs to remove, in small steps on the store's thread. The store does so itself some
 * time after states were dropped. `fn` may be NULL. */
struct store_call *store_sweep(struct store *store, store_done_fn fn, void *context);
