/* When SIGINT ends a cell. A shell that runs a script dies of it, or runs its trap and goes on; one
 * with a user at the terminal drops what it was doing. Ours does the latter while a cell runs, and
 * runs the user's trap then. `trap '' INT` is obeyed.
 *
 * Between cells an interrupt is ignored: it came too late. Unless the next cell is on its way,
 * unread or taken but not begun: then it is meant for that one, and is kept. (The daemon sends a
 * cell only after every interrupt of the one before has been delivered.) */
#pragma once

#include "drivers/bash/channel.h"

void interrupts_install(const struct channel *channel);

/* In a copy of the process that is the session from now on. */
void interrupts_renew(void);

/* A frame is being read; from here on to the cell's begin interrupts are kept for it. */
void interrupts_take_cell(void);

/* The request runs no cell. The next may run one, and an interrupt is kept for that. */
void interrupts_drop_cell(void);

/* Interrupts that were kept count at once. */
void interrupts_begin_cell(void);
void interrupts_end_cell(void);

/* Was the running cell interrupted? From then on it is not any more: what follows is the trap. */
bool interrupts_take_hit(void);

/* Waits for what the daemon says to the running cell, for at most `timeout_ms` (negative: for
 * ever). 1: something has arrived, 0: the time is over, -EINTR: the shell has a signal to look at.
 */
int interrupts_wait(const struct channel *channel, int64_t timeout_ms);
