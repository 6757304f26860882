/* What becomes pid 1 of a jail: it builds the jail from inside, drops everything and turns into the
 * program init. */
#pragma once

#include "jail/seccomp.h"
#include "jail/warden/cgroup.h"

struct builder_args {
    int sync; /* "go" comes in, builder_report goes out */
    const struct cgroup *cgroup;
    bool joins_by_file;
    const char *workspace;
    int facts; /* the page of jail/warden/facts.h */
    const struct seccomp_blob *filter;
    /* A room (jail/warden/branch.h): the report brings a pidfd of it, its namespaces and what opens
     * its cgroup, too. */
    bool is_room;
    const int *guest_fds;
    size_t n_guest_fds;
};

/* Comes with the jail's /proc, by which the keeper counts what still runs in here. */
struct builder_report {
    int32_t errnum;
    char step[60];
};

/* In a process that is the first of its pid namespace. */
_Noreturn void builder_main(const struct builder_args *a);
void builder_say(int sync, const struct builder_report *report, const int *fds, size_t n_fds);
