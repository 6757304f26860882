/* One jail, as the warden sees it. Life:
 *
 *   made --enter--> entering --forked--> inhabited --head exits--> vacant
 *     any of these --destroy--> ending --all reaped, workspace removed--> gone
 */
#pragma once

#include "base/list.h"
#include "jail/cgroup.h"
#include "jail/message.h"
#include "jail/seccomp.h"

/* What all jails are made with; fixed for the warden's life. */
struct jail_factory {
    struct cgroup_parent cgroups;
    const struct seccomp_blob *filter;
    bool has_id_range; /* root: every jail has a uid of its own; else all map to the one user */
    int workspaces;    /* descriptor of IMAGE_WORKSPACES */
};

struct jail {
    struct list link;
    uint64_t id; /* the daemon's name for it */
    uint32_t slot;
    uint32_t zygote;
    struct jail_limits limits;
    char workspace[WORKSPACE_NAME_MAX];
    struct cgroup cgroup;
    pid_t init_pid; /* 0 once reaped */
    int init_pidfd;
    int proc_fd;      /* the jail's own /proc; -1 once handed to the keeper, which then watches */
    pid_t head_pid;   /* 0 before it entered and after it was reaped */
    bool is_entering; /* the zygote owes an answer */
    bool is_ending;
    bool was_refused; /* the daemon has been told and expects no more of it */
    bool keeps_workspace;
    bool is_removing; /* the keeper owes an answer */
};

/* Makes the room: namespaces, file tree, cgroup, init. Blocks for about a millisecond. */
int jail_make(const struct jail_factory *factory, uint64_t id, uint32_t slot, const char *workspace,
              const struct jail_limits *limits, struct jail **ret, struct err *e);
/* Makes one and takes it down again: the only proof that jails can be made here. */
int jail_try(const struct jail_factory *factory, struct err *e);
void jail_kill(struct jail *j); /* all its processes; they are reaped by the warden's loop */
void jail_free(const struct jail_factory *factory, struct jail *j); /* takes NULL */
