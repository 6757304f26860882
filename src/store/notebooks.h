/* Notebooks in the store: their rows, their cells and the pictures of these. Changes of a notebook
 * are applied in the order of the calls, of all callers.
 *
 * When the store is opened, cells that were queued or running are marked: their state is "died",
 * and the last of their outputs is an error named "Lost". */
#pragma once

#include "cell/cell.h"
#include "store/store.h"

#define STORE_PAGE_BYTES (8 * MIB)   /* of cells in one answer */
#define STORE_CELL_BYTES (8 * MIB)   /* of one cell: source, outputs, metadata */
#define STORE_IMAGE_BYTES (64 * MIB) /* of one picture, as text */

/* ---- notebooks ------------------------------------------------------------------------------- */

enum {
    STORE_PLACE_GAP = 1 << 20, /* between the places of neighbours, at first */
};

/* A notebook has the id of its session and outlives it. */
struct store_notebook {
    const char *id;       /* a UUID */
    const char *user;     /* NULL if the notebook has no user */
    const char *title;    /* may be NULL */
    const char *runtime;  /* "python" */
    const char *metadata; /* JSON; NULL if none */
    const char *spec;     /* JSON: what its session is made of; NULL if not known */
    uint64_t created_ms;  /* wall clock; 0 when put: now */
    uint64_t updated_ms;  /* wall clock: of the last change; only when read */
    uint64_t count;       /* the last execution count; grows only */

    /* Only when read. */
    uint64_t n_cells;
    int64_t last_place;
    uint64_t last_exec; /* the largest exec_id that any of its cells ever had */
    bool has_session;   /* a row of a session with this id is there */
};

/* Makes or replaces the notebook's row; a put of it that is still queued is replaced there. */
int store_put_notebook(struct store *store, const struct store_notebook *row, struct err *e);

/* Changes a row that is there; NULL stays as it is. `fn` is called after the commit. */
struct store_call *store_describe_notebook(struct store *store, const char *id, const char *title,
                                           const char *metadata, store_done_fn fn, void *context);

/* With its cells and what only they referred to. Cells that are put for it later are dropped, until
 * there is a row again: they may have run. `fn` (may be NULL) is called after the commit.
 * NULL if refused, because the queue is full. */
struct store_call *store_delete_notebook(struct store *store, const char *id, store_done_fn fn,
                                         void *context, struct err *e);

/* The notebooks of all sessions that have a row. Like store_each_session: for the start of the
 * daemon. */
int store_each_notebook_head(struct store *store,
                             void (*fn)(void *context, const struct store_notebook *row),
                             void *context, struct err *e);

/* The newest first, without metadata and spec; `user` is NULL for all users. `count` is how many
 * there are in all. The views are valid during the call. */
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
    int64_t place;     /* in the order of the notebook. When put, of a new cell: 0 is the end */
    int kind;          /* 0 code, 1 markdown, 2 raw; when edited: -1 stays */
    const char *state; /* "idle", "queued", "running", "completed", "error", ...; NULL for "idle" */
    const char *source; /* NULL as in store_put_cell */
    size_t source_len;
    uint64_t exec_id;                 /* of its last run; 0: none */
    uint64_t count;                   /* execution count; 0: none */
    uint64_t revision;                /* from 1 on; when put, 0 is 1 */
    uint64_t created_ms, executed_ms; /* wall clock; 0: not known */
    uint64_t duration_us;
    const char *outputs; /* JSON array; NULL if none */
    size_t outputs_len;
    const char *metadata; /* JSON; NULL if none */
    size_t metadata_len;
    const char *waits; /* what it waits for of its caller, if it runs; NULL if nothing. When put */
    uint64_t number;   /* how many are before it; only when read */
    bool is_undone;    /* the session has none of the cell's effects (any more); only when read */
};

/* Puts a whole cell by its id: a new cell at its place, or over the present row, which stays
 * where it is and, if its revision is larger, keeps source, kind and metadata. (One that is there
 * and was not made by this run is another cell, and gets another id.) Without a source it tells of
 * a run alone: state, exec_id, count, executed_ms, duration_us and outputs replace those of the
 * cell, unless it is text now; if that was removed meanwhile, it stays so. A queued put of the same
 * cell is replaced.
 *
 * No caller is told when the row is safe, but once this has returned a killed daemon does not lose
 * it: it is in the journal (unless the disk refuses that, too: then it waits in the queue). More
 * than STORE_CELL_BYTES are refused. */
int store_put_cell(struct store *store, const char *notebook, const struct store_cell *cell,
                   struct err *e);

/* An output that a cell shows since another cell was put. */
struct store_shown {
    struct store_shown *next;
    const char *cell;
    const char *output; /* JSON, with the hash of its blob */
    size_t len;
};

/* `fn` is told of such outputs after the commit; it may be NULL. The views are valid during the
 * call.
 */
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
    const char *cell;  /* id or number, "-1" being the last; NULL for all cells (clear outputs) */
    uint64_t at;       /* insert, move: the cell's new number; too large: the last */
    uint64_t revision; /* edit: that the cell must have; 0: any */
    const struct store_cell *to; /* insert: whole (id NULL to make one); edit: NULL members stay */
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

/* The cells that have run, by exec_id, without outputs and numbers; none without a notebook. */
struct store_call *store_list_cells(struct store *store, const char *session, uint64_t offset,
                                    uint32_t limit, store_cells_fn fn, void *context);

/* ---- images ---------------------------------------------------------------------------------- */

/* A caller that lets a cell's outputs have a member "hash" (of an object in the array itself) keeps
 * that blob alive as long as the cell has it. Images of a cell are numbered by the end of their
 * "ref"
 * (".../image/N") or, without, in order from 0. */

/* What outputs have as "ref" and "url": notebook, cell and number. */
#define STORE_IMAGE_REF "notebook://%s/cell/%s/image/%llu"
#define STORE_IMAGE_URL "/v1/notebooks/%s/cells/%s/images/%llu"

struct store_picture {
    const char *text;
    size_t len;
    bool is_base64; /* else the text itself is what is kept */
    /* Called from the loop when the text is not needed any more; NULL if the text is to be copied.
     */
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

/* Bytes of all pictures of a notebook, each once; without those of cells that run or wait to, whose
 * pictures are not all known here. 0 if there is no such notebook. */
typedef void (*store_bytes_fn)(void *context, uint64_t bytes, const struct err *e);
struct store_call *store_count_images(struct store *store, const char *notebook, store_bytes_fn fn,
                                      void *context);

/* The views are valid during the call. */
typedef void (*store_image_fn)(void *context, const struct store_image *image, const struct err *e);
struct store_call *store_get_image(struct store *store, const char *notebook, const char *cell,
                                   uint64_t n, store_image_fn fn, void *context);
