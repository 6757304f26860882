/* One line on the terminal that says which cell runs, drawn again while it does. */
#pragma once

#include "base/base.h"

struct cli_progress {
    bool is_on; /* a person looks at stderr */
    size_t at, n;
    const char *source; /* of the cell */
    size_t source_len;
    uint64_t started_ms; /* monotonic */
    bool is_drawn;
};

void cli_progress_begin(struct cli_progress *p, const char *source, size_t len);
void cli_progress_draw(struct cli_progress *p);
void cli_progress_end(struct cli_progress *p); /* and takes it away */
