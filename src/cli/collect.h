/* What a cell shows, gathered from the events of its stream into the typed outputs of its place in
 * a document: text of one stream joined while it goes on, displays replaced by their updates (also
 * those of earlier cells), cleared when the cell says so, the value and the error at the end. */
#pragma once

#include "notebook/model.h"

enum {
    CLI_COLLECT_BYTES_MAX = 64 << 20,     /* of one cell */
    CLI_COLLECT_NOTEBOOK_MAX = 160 << 20, /* of all; a notebook that is larger is not read */
    CLI_COLLECT_OUTPUTS_MAX = 10000,
};

struct cli_collect {
    struct document *doc;
    size_t number;          /* the cell */
    size_t room, room_max;  /* bytes of outputs that it may still have, and could have at first */
    struct buf text;        /* of the stream that goes on */
    bool is_stderr;         /* which one that is */
    bool is_clear_pending;  /* by what comes next */
    uint64_t omitted_bytes; /* of outputs for which there was no room */
    void *context;          /* the caller's */
};

void cli_collect_begin(struct cli_collect *c, struct document *doc, size_t number, size_t room);
/* False if it is not what the daemon says in its events. `context` is the struct cli_collect. */
bool cli_collect_event(void *context, const char *name, json_t *event);
/* `answer` NULL: it never came, and `why` says that instead. */
void cli_collect_end(struct cli_collect *c, const json_t *answer, const struct err *why);
