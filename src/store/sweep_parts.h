/* What the files of a sweep share. sweep.c has its course and removes, sweep_mark.c marks what is
 * referred to. */
#pragma once

#include "store/internal.h"

enum { SWEEP_BODIES_A_STEP = 512, SWEEP_MARKS_MAX = 1 << 20 };

enum sweep_phase {
    SWEEP_EXPIRE, /* rows whose time has passed */
    SWEEP_STATES, /* marking ... */
    SWEEP_NAMED,
    SWEEP_SHARED,
    SWEEP_IMAGES,
    SWEEP_PINS,
    SWEEP_LIVE,
    SWEEP_ROWS,  /* removing ... */
    SWEEP_FILES, /* after their rows: invariant 3 */
    SWEEP_DONE,
};

struct sweep {
    enum sweep_phase phase;
    uint64_t cursor;             /* row or place in the present phase */
    unsigned first, width;       /* bytes: what is swept now */
    uint64_t *marks;             /* open addressing; 0 is an empty place */
    size_t n_marks;              /* of SWEEP_MARKS_MAX */
    char (*pins)[BLOB_HEX_SIZE]; /* as they were when their phase began */
    size_t n_pins;
    bool has_young; /* garbage that must wait */
};

void sweep_unmark_all(struct sweep *sw);
bool sweep_is_unused(const struct sweep *sw, const struct blob_hash *hash);

/* Phases: 1 if there is more, 0 if it is done, -1. */
int sweep_mark_states(struct store *store, struct err *e);
int sweep_mark_named(struct store *store, struct err *e);
int sweep_mark_shared(struct store *store, struct err *e);
int sweep_mark_images(struct store *store, struct err *e);
int sweep_mark_pins(struct store *store, struct err *e);
int sweep_mark_live(struct store *store, struct err *e);
