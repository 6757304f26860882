/* Threads that share a large piece of work. They are started before the walls of a box are closed,
 * because no thread can be started afterwards, and sleep until there is something to do. */
#pragma once

#include "base/base.h"

struct crew;

/* `n_threads` with the caller's own; as many as the machine has cores, at most
 * EXPLORE_THREADS_MAX, if it is 0. Never NULL; fewer threads if there are not as many to be had. */
struct crew *crew_new(unsigned n_threads);
void crew_free(struct crew *crew); /* takes NULL */

/* Calls fn(context, 0) to fn(context, n_jobs - 1), begun in this order on at most `n_threads`
 * threads (0: all of them), and returns when the last call has. `crew` may be NULL; then this
 * thread does all of it. */
typedef void (*crew_fn)(void *context, size_t job);
void crew_run(struct crew *crew, unsigned n_threads, size_t n_jobs, crew_fn fn, void *context);
