/* The daemon speaks to programs: of members, methods and paths. People at a command line get the
 * same in flags and commands. */
#pragma once

#include "base/buf.h"

/* Appends a message or an advice of the daemon's in words of the command line, as safe as
 * cli_append_safe makes it. */
void cli_append_advice(struct buf *out, const char *text, size_t len);
