/* Builtins of the shell, called past everything that the user may have put in their place. */
#pragma once

#include "base/buf.h"

/* Runs "shopt -p" or the like, words between single spaces; what it prints is appended to `out`,
 * which may be NULL. Returns its status. */
int builtins_run(const char *command, struct buf *out);

/* What `print` writes to stdout. */
void builtins_capture(void (*print)(void *context), void *context, struct buf *out);
