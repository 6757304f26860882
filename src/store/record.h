/* A put of a notebook's row or of a cell as one run of bytes: what the journal holds, and what a
 * queued call holds too, so that it is copied once. The bytes are this machine's own: the journal
 * does not travel. */
#pragma once

#include "base/buf.h"
#include "store/notebooks.h"

enum record_type { RECORD_NOTEBOOK = 1, RECORD_CELL = 2 };

struct record_header {
    uint32_t bytes; /* of all, this included */
    uint32_t type;
    uint64_t seq;
    uint64_t sum; /* of all, with this being the journal's seed */
};

struct record {
    enum record_type type;
    uint64_t seq;
    const char *notebook; /* its id */
    struct store_notebook row;
    struct store_cell cell;
};

#define RECORD_BYTES_MAX (STORE_CELL_BYTES + 64 * KIB)

void record_pack_notebook(struct buf *out, const struct store_notebook *row);
void record_pack_cell(struct buf *out, const char *notebook, const struct store_cell *cell);

/* Views into the bytes. False if they are not what a pack gave; the sum is not looked at. */
bool record_unpack(const char *data, size_t len, struct record *ret);
