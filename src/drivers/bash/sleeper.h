/* Copies of the shell: a checkpoint is one that sleeps on a channel of its own, and whose copies,
 * in turn, become the shell again.
 *
 *     shell --fork--> checkpoint (sleeps) --fork--> shell, as it was
 *                          `--fork--> shell, once more ...
 *
 * All are siblings: children of the shell's parent, so that the user's `wait` knows of none. What a
 * copy keeps, and what it cannot keep, stands in descriptors.h and children.h. `$$` stays what it
 * was, as in every subshell of bash, and `kill $$` means this shell; BASHPID is the process's own.
 */
#pragma once

#include "drivers/bash/channel.h"
#include "drivers/bash/request.h"

/* Makes a checkpoint that sleeps on `sock`; the descriptor is taken. Returns its pid or -errno in
 * the shell itself. Returns 0 in each copy that becomes the shell: then `control` is its own, on
 * which it has announced itself with one byte. */
pid_t sleeper_fork(struct channel *control, int sock);

/* Lets a copy write the state (save.h) to the descriptor that came with the request. */
void sleeper_save(struct channel *control, const struct bash_request *request);
