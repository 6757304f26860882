/* Running the cells of a document: they become the notebook of a new session, the daemon runs that,
 * and what the daemon's notebook has of each goes into the document. */
#pragma once

#include "cli/api.h"
#include "cli/document.h"
#include "cli/progress.h"

enum { CLI_RUN_ID_SIZE = 65 };

/* A cell of the document that runs. */
struct cli_run_cell {
    size_t number;            /* in the document */
    char id[CLI_RUN_ID_SIZE]; /* in the session's notebook */
    uint64_t ended_ms;        /* wall clock; 0 until the daemon has said that it ended */
    int64_t last_status;      /* of the last command of a shell; 0 if the cell ran no command */
    int64_t exit_code;        /* that it left with; -1 if it did not leave */
};

struct cli_run {
    struct document *doc; /* the caller's; gets the outputs */
    const char *out;      /* where it is written after every cell */
    enum notebook_format format;
    bool is_written_often; /* a plain file; a pipe or device is written once, at the end */
    bool allows_errors;
    int64_t timeout_ms; /* of each cell; 0: as the daemon says */
    const char *session_id;
    struct cli_progress progress;
    struct cli_run_cell *cells;
    size_t n_cells;

    /* What became of it. */
    size_t n_ended; /* as the daemon told, cell by cell */
    size_t n_ran, n_failed;
    const struct cli_run_cell *stopped_by; /* the cell that ended it; NULL if none did */
    int left_by;                           /* the signal that ended it, or 0 */
    bool is_interrupted;
    uint64_t duration_ms;

    struct cli_client reader;           /* asks for results while the other is busy with the run */
    json_t *answer;                     /* of the run; NULL until it is over */
    uint64_t written_ms, write_cost_ms; /* the last time it was written, and what that took */
    bool owes_write;                    /* what ran since then is to be written when it is due */
    struct err problem;                 /* of an event, if `is_spoilt` */
    bool is_spoilt;
};

/* Takes the outputs of earlier runs out of the document, and finds cells that cannot be run. */
int cli_run_prepare(struct cli_run *r, struct err *e);
/* 0 also if a cell failed: `stopped_by` and `n_failed` tell. */
int cli_run_cells(struct cli_run *r, struct cli_client *c, struct err *e);
int cli_run_write(struct cli_run *r, struct err *e);
void cli_run_free(struct cli_run *r);
