/* Forks whose child belongs to our own parent, the warden: an interpreter's copies of itself, which
 * the user's os.wait() must never see. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* No fork handler of libc or of the interpreter runs: for a process with one thread there is
 * nothing that they would have to put right. Returns the pid, 0 in the child, or -errno. */
pid_t sibling_fork(void);

/* How many threads this process has, whoever started them; -errno if it cannot be told. */
int sibling_count_threads(void);
