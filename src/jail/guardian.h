/* The guardian: parent of the warden. It does the few things that need the starter's own rights (as
 * root: the range of user ids, the cgroup) and stays, asleep, to undo them when the warden ends,
 * however that happens. It never reads anything from anybody. */
#pragma once

#include "jail/seccomp.h"

#include <sys/types.h>

/* Host ids of a root daemon's world: the daemon and warden run as the first, jails as the others.
 * Above what distributions hand out to people and containers, below 2^31. */
enum { GUARDIAN_ID_BASE = 2000000000, GUARDIAN_ID_COUNT = 65536 };

struct guardian_args {
    int control;  /* the warden's end */
    int lifeline; /* a pipe that ends with the daemon */
    const char *workspaces;
    const char *const *read_only_dirs;
    const struct seccomp_blob *filter;
};

_Noreturn void guardian_main(const struct guardian_args *args);
