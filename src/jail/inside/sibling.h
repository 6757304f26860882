/* Forks whose child belongs to our own parent, the warden: an interpreter's copies of itself, which
 * the user's os.wait() must never see. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* No fork handler of libc or of the interpreter runs: for a process with one thread there is
 * nothing that they would have to put right. Returns the pid, 0 in the child, which cannot be
 * dumped, or -errno. */
pid_t sibling_fork(void);

/* How many threads this process has, ours and the user's; -errno if it cannot be told. */
int sibling_count_threads(void);

/* Whether another process traces this one, and which: "NAME (process NUMBER)". A copy would have
 * the breakpoints of a debugger, and no debugger. */
enum { SIBLING_TRACER_SIZE = 64 };
bool sibling_is_traced(char ret_tracer[SIBLING_TRACER_SIZE]);
