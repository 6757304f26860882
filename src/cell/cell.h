/* cell: one run of one cell, from the queue to its end, and what it has shown. Promises: there is
 * one object of it (struct cell) with one transcript, which the answer to its caller, the row of
 * its notebook and what is told to watchers are views of; whatever a session sends, memory stays
 * within the limits of cell/transcript.h. Owns no session, no process and no file. May call wire
 * and base. */
#pragma once

#include "cell/transcript.h"

enum {
    CELL_ID_MAX = 64, /* bytes of an id: A-Z a-z 0-9 - _ */
    CELL_ID_SIZE = CELL_ID_MAX + 1,
};

enum cell_kind { CELL_CODE, CELL_MARKDOWN, CELL_RAW };

/* The state of a struct cell is changed by cell_move alone: cell_new (queued), queue_begin
 * (running), outcome_record (how it ended) and recording_dropped (it never ran). CELL_INPUT,
 * CELL_TOOLS, and running while it is queued, are said in answers only. Rows are written by
 * recording_put, and store/changes.c (edited: idle) and store/recover.c (the daemon was killed:
 * died). */
enum cell_state {
    CELL_IDLE,
    CELL_QUEUED,
    CELL_RUNNING,
    CELL_INPUT, /* it runs, and waits for a line, */
    CELL_TOOLS, /* or for results of tools that its caller has handed in */
    CELL_COMPLETED,
    CELL_ERROR,
    CELL_TIMEOUT,
    CELL_INTERRUPTED,
    CELL_DIED,
    CELL_STATES
};

const char *cell_state_name(enum cell_state state);     /* of a row: "completed" */
const char *cell_state_status(enum cell_state state);   /* wherever it is told: "ok" */
const char *cell_status_of(const char *name);           /* likewise, by the name in a row */
const char *cell_state_document(enum cell_state state); /* of a document: "COMPLETED" */
/* The state that a document or a row names, in upper or lower case. False if documents have no such
 * state. */
bool cell_find_state(const char *name, enum cell_state *ret);
/* The state of a cell that has ended, by the status of its answer. False if there is none; `name`
 * may be NULL. */
bool cell_find_status(const char *name, enum cell_state *ret);
const char *cell_kind_name(enum cell_kind kind); /* "code", as in nbformat */
bool cell_is_id(const char *id, size_t len);
/* Whether the metadata of a cell, an object or NULL, have the tag. */
bool cell_has_tag(const json_t *metadata, const char *tag);

static inline bool cell_has_ended(enum cell_state state)
{
    return state >= CELL_COMPLETED;
}

struct cell {
    unsigned refs;
    char id[CELL_ID_SIZE]; /* in its notebook; "" if it is in none */
    uint64_t number;       /* cells before it in the notebook */
    uint64_t exec_id;      /* counts from 1 in each session */
    char *source;          /* UTF-8; NUL characters count */
    size_t source_len;
    enum cell_state state;
    uint64_t created_ms, executed_ms; /* wall clock; 0 if it did not begin */
    uint64_t duration_us;
    struct transcript transcript;
};

/* The source is copied; the rings are the session's and must outlive what is appended. */
struct cell *cell_new(uint64_t exec_id, const char *source, size_t len, struct output_ring *rings);
/* queued -> running -> ended; queued -> interrupted, if the cell never ran. */
void cell_move(struct cell *cell, enum cell_state to);
struct cell *cell_ref(struct cell *cell);
void cell_release(struct cell *cell);
/* The session's reference goes, and maybe its rings. */
void cell_leave(struct cell *cell);
