/* Running cells that a notebook has, one or several: their code goes to the queue of the notebook's
 * session, one cell after another, so that other callers get their turn between two of them. A
 * notebook without a session gets one of the same id, without state. Callbacks come from the loop,
 * never from within the call. */
#pragma once

#include "session/exec.h"
#include "session/task.h"

/* The cell was handed to its session, or `e` says why not. `exec` is what the request's waiter
 * waits for; NULL if its listener was answered already. */
typedef void (*runs_begun_fn)(void *context, struct exec *exec, const struct err *e);

/* Runs a cell by its id or number. Code and cell of the request are set here. If `session_exec`
 * fails, so does this. */
struct task *runs_cell(struct engine *engine, const char *id, const char *cell,
                       const struct exec_request *request, runs_begun_fn fn, void *context);

struct runs_range {
    const char *from, *to; /* ids or numbers; NULL for the first, the last */
    bool goes_on;          /* after a cell that failed */
    bool cancels;          /* task_forget interrupts the cell that runs, and no other begins */
    uint32_t timeout_ms;   /* of each */
};

/* How a cell of a range ended. */
struct runs_ended {
    const char *cell;
    uint64_t number; /* of the run; 0 if it did not begin */
    uint64_t index;
    enum cell_state state;
    int last_status;      /* of a shell's last command; -1 if the cell has none */
    int exit_code;        /* that the cell left with; -1 if it did not leave */
    const char *replaced; /* typographic signs without which it ran; NULL if none */
};

struct runs_listener {
    void (*on_cell)(void *context, const struct runs_ended *ended);
    /* `failed` is the id of the first that failed and was not meant to; NULL if none did. */
    void (*on_end)(void *context, uint64_t n_ran, const char *failed, const struct err *e);
};

/* Runs the code cells of a range. A cell has failed if it did not complete, or if the last command
 * of a shell did not; a cell with the tag "raises-exception" may. A cell that leaves with 0 is the
 * last. Who forgets the task lets no further cell begin. */
struct task *runs_cells(struct engine *engine, const char *id, const struct runs_range *range,
                        const struct runs_listener *listener, void *context);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* Nothing is left of the session with this id that ended: a run that waits for that goes on. */
void runs_on_left(struct engine *engine, const char *id);
