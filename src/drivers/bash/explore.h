/* The builtin `explore`: operations of the daemon about this session, called by the code of a cell.
 *
 *     explore grep 'error|failed' --context-lines 0 | head
 *
 * Subshells and pipelines may call it too, one after the other: who talks on the session's socket
 * holds a lock of it. None talks once the cell is over. */
#pragma once

#include "drivers/bash/channel.h"

/* Adds the builtin, and the map `artifacts` if there is no such variable; the first time only. */
void explore_install(struct channel *channel);
/* In a copy of the process that is the session from now on. */
void explore_renew(void);
void explore_begin_cell(int64_t id);
/* Calls of the cell's processes that are under way come to an end. */
void explore_end_cell(void);
