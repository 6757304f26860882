/* stdin. There is nobody at a terminal: descriptor 0 is /dev/null, for the shell and its children.
 * When a builtin of the shell (read, mapfile, select) reads it, the cell asks its caller for a
 * line, and the builtin gets it as from a terminal. A redirection, also one from /dev/null, is
 * obeyed, and what runs in the background finds the end of the file. */
#pragma once

#include "drivers/bash/channel.h"

/* Opens descriptor 0. */
int input_open(void);
void input_install(struct channel *channel);
/* In a copy of the process that is the session from now on. */
void input_renew(void);
void input_begin_cell(int64_t id);
