/* The answer to a cell as one text: exactly what a model should read, in the order in which things
 * happened. */
#pragma once

#include "session/exec.h"

/* A reader that has the tools of the set `core` and is told of these, not of requests. */
struct exec_reader {
    const char *session; /* as it has to name the session to them; NULL if it need not */
};

/* `reader` is NULL if the reader has requests. */
void exec_text_put(struct buf *out, const struct exec_result *result,
                   const struct exec_reader *reader);
/* "[names +a, b -c]" of {"added", "changed", "removed"}; nothing if there is nothing to say. */
void exec_text_put_changes(struct buf *out, const char *what, const json_t *changes);
/* "[WHAT a, b]" of a list of names or of objects that have one; likewise. */
void exec_text_put_named(struct buf *out, const char *what, const json_t *list);
