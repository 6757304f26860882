/* Resource limits by cgroup, v1 or v2, whichever the host has. The guardian makes one parent group
 * for the daemon's life and gives it to the warden; the warden makes one group for each jail in it.
 *
 * Where no group can be made (an ordinary user without delegation) `version` is 0 and rlimits have
 * to do; doctor says so. */
#pragma once

#include "base/err.h"
#include "jail/spec.h"

#include <limits.h>
#include <sys/types.h>

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_CONTROLLERS };

struct cgroup_parent {
    int version;                  /* 1 or 2; 0 without cgroups */
    bool has[CGROUP_CONTROLLERS]; /* which limits can be set */
    int dirs[CGROUP_CONTROLLERS]; /* v1: one for each controller; v2: only the first; else -1 */
    char paths[CGROUP_CONTROLLERS][PATH_MAX];
    char base[PATH_MAX]; /* v2: the group in which ours was made, else "" */
};

/* Never fails as such: what cannot be had is not in `has`. `owner` is who will make jails' groups.
 */
void cgroup_parent_make(struct cgroup_parent *p, uid_t owner);
void cgroup_parent_empty(struct cgroup_parent *p);  /* likewise: the groups of jails are gone */
void cgroup_parent_remove(struct cgroup_parent *p); /* when no process is left in it */
/* v2: the group to start the warden in, for clone3; else -1. */
int cgroup_open_warden_group(const struct cgroup_parent *p);

/* One jail's group. */
struct cgroup {
    char name[32];
    int join_fds[CGROUP_CONTROLLERS]; /* v1: `tasks` files; v2: the directory itself, for clone3 */
    size_t n_join_fds;
};

/* The name of the group begins with `stem`, and no other group ever has that name. */
int cgroup_make(const struct cgroup_parent *p, const char *stem, const struct jail_limits *limits,
                struct cgroup *ret, struct err *e);
int cgroup_set_limits(const struct cgroup_parent *p, const struct cgroup *g,
                      const struct jail_limits *limits, struct err *e);
/* Open from cgroup_make on, until the caller closes them. */
int cgroup_open_join_fds(const struct cgroup_parent *p, struct cgroup *g); /* 0 or -errno */
void cgroup_close_join_fds(struct cgroup *g);
void cgroup_refuse_forks(const struct cgroup_parent *p, const struct cgroup *g); /* from now on */
/* Files by which a process of a jail's user moves itself into the group with a "0", at most
 * CGROUP_CONTROLLERS of them: the number, or -errno. The kernel asks who opened them: in v1 that
 * has to be the user itself, who is let in first; in v2 the group's owner. */
int cgroup_let_in(const struct cgroup_parent *p, const struct cgroup *g, uid_t user);
int cgroup_open_doors(const struct cgroup_parent *p, const struct cgroup *g, int *fds);
/* What the kernel has counted since the group was made; 0 where it does not. */
uint32_t cgroup_oom_kills(const struct cgroup_parent *p, const struct cgroup *g);
uint32_t cgroup_pids_refused(const struct cgroup_parent *p, const struct cgroup *g);
uint64_t cgroup_anonymous_bytes(const struct cgroup_parent *p, const struct cgroup *g); /* now */
struct cgroup_use {
    uint64_t anonymous_bytes;
    uint64_t shared_bytes; /* shared memory and files of tmpfs */
    uint64_t file_bytes;   /* cached, the shared ones included */
    uint64_t cpu_us;
};
void cgroup_get_use(const struct cgroup_parent *p, const struct cgroup *g, struct cgroup_use *ret);
uint64_t cgroup_peak_bytes(const struct cgroup_parent *p, const struct cgroup *g);
/* Takes a half-made one. False: a process is still in it, which should have been nowhere by now and
 * is being ended; try again in a moment. */
bool cgroup_remove(const struct cgroup_parent *p, struct cgroup *g);
