/* Text as a reader should see it: what was overwritten or says the same again is folded, what is
 * too long is cut at whole lines, with a count of what is left out. Pure functions on bytes. */
#pragma once

#include "base/buf.h"

/* Appends `text` as a screen shows it in the end: of a line that was written again and again after
 * carriage returns its last state; of many tracebacks (those of the children of one cell, whose
 * lines may be mixed) each line once, with a count. True if anything was folded. */
bool prose_fold(const char *text, size_t len, struct buf *out);

/* Appends `text` without the lines below warnings that stand in the cell's own code. */
void prose_fold_warnings(const char *text, size_t len, const char *code, size_t code_len,
                         struct buf *out);

/* Appends a traceback in which frames that repeat stand once, with a count, in Python's words. */
void prose_fold_frames(const char *text, size_t len, struct buf *out);

/* Takes the lines that say "NAME: MESSAGE" from a traceback, which ends with them (Python) or
 * begins with them (Node.js). What has them elsewhere, or other words, stays as it is. */
void prose_drop_message(const char **traceback, size_t *len, const char *name, const char *message,
                        size_t message_len);
/* Whether the last stack of a traceback has such lines still. */
bool prose_has_message(const char *traceback, size_t len, const char *name, const char *message,
                       size_t message_len);

/* Appends a text of `total` bytes and `n_lines` line ends, of which only the first and the last
 * bytes are there, cut at lines where there are any. `where` says how to read the rest; NULL if it
 * does not. Returns the number of bytes left out. */
uint64_t prose_write_cut(const char *head, size_t head_len, const char *tail, size_t tail_len,
                         uint64_t total, uint64_t n_lines, const char *where, struct buf *out);
/* Likewise a text that is all there, within `share` bytes; whole if it fits. */
uint64_t prose_cut(const char *text, size_t len, size_t share, const char *where, struct buf *out);
