/* Running the cells of a notebook one after the other in a session of its own. */
#pragma once

#include "cli/api.h"
#include "cli/document.h"
#include "cli/progress.h"

struct cli_run {
    struct document *doc; /* the caller's; gets the outputs */
    const char *out;      /* where it is written after every cell */
    enum notebook_format format;
    bool is_written_often; /* a plain file; what is none is written once, at the end */
    bool allows_errors;
    int64_t timeout_ms; /* of each cell; 0: as the daemon says */
    const char *session_id;
    struct cli_progress progress;

    /* What became of it. */
    size_t n_ran, n_failed;
    size_t stopped_at; /* the cell that ended it; SIZE_MAX: none */
    int left_by;       /* the signal that ended it, or 0 */
    int left_with;     /* the code that the last cell left with, sys.exit(3); -1: it did not */
    bool is_interrupted;
    uint64_t duration_ms;

    size_t outputs_bytes;               /* collected so far */
    uint64_t written_ms, write_cost_ms; /* the last time it was written, and what that took */
    bool owes_write;                    /* what ran since then is to be written when it is due */
};

/* Makes the document one that was not run yet, of this session, and finds what cannot be run. */
int cli_run_prepare(struct cli_run *r, struct err *e);
/* 0 also if a cell failed: `stopped_at` and `n_failed` tell. */
int cli_run_cells(struct cli_run *r, struct cli_client *c, struct err *e);
int cli_run_write(struct cli_run *r, struct err *e);

bool cli_run_runs(const struct notebook_cell *cell); /* it is code, not empty, not to be skipped */
