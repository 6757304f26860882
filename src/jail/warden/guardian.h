/* The guardian: parent of the warden. It does the few things that need the starter's own rights
 * (the range of user ids, see jail/warden/idmap.h for those of an ordinary user; the cgroup) and
 * stays, asleep, to undo them when the daemon ends, however that happens. A warden that ends while
 * the daemon lives is followed by a new one, unless that happens again and again. It reads nothing
 * but one byte of the daemon's. */
#pragma once

#include "jail/seccomp.h"

#include <sys/types.h>

/* Host ids of a root daemon's world: the daemon and warden run as the first, jails as the others.
 * Above what distributions hand out to people and containers, below 2^31. */
enum { GUARDIAN_ID_BASE = 2000000000, GUARDIAN_ID_COUNT = 65536 };

/* What goes over the lifeline, each a message of one byte. */
enum {
    GUARDIAN_STAY = 's',       /* the first warden has started: from now on it is to be followed */
    GUARDIAN_NEW_WARDEN = 'n', /* its first report is yet to come */
};

struct guardian_args {
    int control;  /* the warden's end */
    int lifeline; /* a socket that ends with the daemon; GUARDIAN_STAY comes in, and with each
                     GUARDIAN_NEW_WARDEN its control socket goes out */
    const char *workspaces;
    const char *blobs;
    const char *const *read_only_dirs;
    const struct seccomp_blob *filter;
};

_Noreturn void guardian_main(const struct guardian_args *args);
