/* A few threads for work that a session can prolong (reading its directories, the mappings and
 * descriptors of its processes), so that the warden never waits for it. A process
 * has one crew. */
#pragma once

#include "base/list.h"

/* `run` in a thread of the crew; then, by crew_finish, `finish` in the thread that gave it out,
 * which may free the job there. */
struct crew_job {
    struct list link;
    void (*run)(struct crew_job *job);
    void (*finish)(struct crew_job *job);
};

/* Returns a descriptor that can be read when jobs are to be finished, or -errno. No thread is
 * started before the first job. */
int crew_start(void);
/* First come, first served. Where no thread can be had the job is run at once. */
void crew_give(struct crew_job *job);
void crew_finish(void);
