/* All that a cell of a session that explores has written: text of its streams as it comes, the
 * words of what it displayed, its value. If that is more than an answer should have
 * (engine_config.output_cap characters), it becomes a file that peek() and grep() look into, and
 * the answer says where it is, with its first and last lines.
 *
 * Credentials are gone before text comes here. A file is a blob that the state of exploring.h
 * names ("spills"), so it follows the session to wherever that goes. */
#pragma once

#include "session/exploring.h"

struct exec;
struct spill;

enum {
    SPILL_MEMORY = 256 * 1024,  /* bytes before a file is begun */
    SPILL_PREVIEW_CHARS = 1500, /* if engine_config.preview_chars is not set */
    SPILL_VALUE_BYTES = 500,    /* of a value that stays in an answer beside the file */
    SPILL_HEAD_LINES = 15,      /* that a preview of more than both has */
    SPILL_TAIL_LINES = 5,
    SPILL_BYTES_MAX = 64 * 1024 * 1024, /* of one file: the first ones */
};

/* What the answer says in the place of the output. */
struct spill_note {
    const char *text; /* the caller's, as long as the cell is there */
    size_t len;
    const json_t *file; /* {"path","chars","lines"} */
    uint64_t bytes;     /* of the output */
};

/* The cell begins: all that its transcript is given comes here, too. */
void spill_begin(struct exec *exec);
/* The cell has ended: what is too long is written. */
void spill_end(struct exec *exec);
/* The session has the file from now on, in place of the oldest if it has too many. After a crash
 * that is when the session has gone back, because the answer comes then. */
void spill_enter(struct exec *exec);
/* False if the output was short, or could not be kept: the answer has what it can of it. */
bool spill_note(const struct exec *exec, struct spill_note *ret);
void spill_free(struct exec *exec); /* if it has one */
