/* A session records its own cells: each cell of a listed session becomes a row of its notebook.
 *
 *   queued -> begun -> (lasting, output, shown, clear)... -> ended
 *   queued -> dropped, if it never began
 *
 * What the cell showed is in its transcript by then: a record accumulates nothing, and the row is
 * put when the cell has ended, or has run for a while. */
#pragma once

#include "session/exec.h"
#include "session/notebooks.h"
#include "store/notebooks.h"

enum recording_place {
    RECORDING_SHOWN,
    RECORDING_UPDATED, /* in the place of outputs with its display_id, if there are any */
    RECORDING_VALUE,   /* of the last expression */
};

/* The row of a cell that waits or runs, or that waits for pictures which it showed. */
struct cell_record {
    struct list node;
    struct live_notebook *notebook;
    struct exec *exec; /* NULL once it has ended */
    struct cell *cell; /* the run's own: the row is a view of it */
    uint64_t serial;   /* of the notebook's records */
    int64_t place;
    bool is_put;     /* the row was there, or has been put */
    bool is_lasting; /* the row was put while the cell ran */
    bool is_dirty;   /* the cell has news since */
    bool is_known;   /* a watcher may have seen that the cell waits */
    uint64_t n_images;
    unsigned n_storing; /* images that are on their way to the store */
    bool is_outrun; /* the cell runs again, is text or gone: this run's output is not the cell's */
};

/* ---- the cell's life: nothing happens if the cell is not recorded ---------------------------- */

void recording_queued(struct exec *exec);
void recording_begun(struct exec *exec);
/* The cell is not short, or a watcher is told of it before its end. */
void recording_lasting(struct exec *exec);
/* Whole characters, as far as the bytes are text. */
void recording_output(struct exec *exec, enum output_stream stream, const char *bytes, size_t len);
/* The transcript has the output. */
void recording_shown(struct exec *exec, const json_t *output, enum recording_place place);
void recording_clear(struct exec *exec, bool waits);
/* `error` is NULL if nothing went wrong. */
void recording_ended(struct exec *exec, const struct exec_error *error);
void recording_dropped(struct exec *exec, const char *why);

/* The session went to another point of its history: what cells with larger numbers than `after` did
 * is not in it any more, but for those in `redone`. */
void recording_moved(struct session *session, uint64_t after, const uint64_t *redone,
                     size_t n_redone);

/* ---- records --------------------------------------------------------------------------------- */

void recording_put(struct cell_record *record); /* what there is of it so far */
void recording_free(struct cell_record *record);
/* To watchers, if the output is this cell's. */
void recording_tell(struct cell_record *record, const json_t *output, enum recording_place place);
/* The record of a cell by its id, if the cell has not ended; else NULL. */
struct cell_record *recording_find(struct live_notebook *notebook, const char *cell);
/* The store has applied an update of what another cell shows. */
void recording_on_updated(void *engine, const char *notebook, const struct store_shown *shown);
