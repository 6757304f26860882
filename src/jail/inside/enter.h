/* Walking into a jail: the ordered story of how a trusted process becomes a prisoner. Used by the
 * zygote's library, and by whatever starts an interpreter with exec. */
#pragma once

#include "jail/message.h"
#include "jail/seccomp.h"

/* Inside a jail everyone is this user. */
enum { JAIL_UID = 1000, JAIL_GID = 1000 };

/* oom_score_adj of heads and what they start: the jail's own init goes after them. */
enum { JAIL_HEAD_RANK = 200 };

struct enter_args {
    int jail_pidfd;        /* the jail's init */
    const int *cgroup_fds; /* cgroup v1 `tasks` files to join */
    size_t n_cgroup_fds;
    int session_sock;
    struct jail_limits limits;
    bool has_memory_limit; /* a cgroup counts this jail's memory */
    bool has_pids_limit;   /* a cgroup counts its processes */
    bool execs;            /* the caller becomes another program next */
    const struct seccomp_blob *filter;
};

enum { ENTER_SESSION_FD = 3 }; /* where the session's socket is afterwards; 0-2 are /dev/null */

/* The last step says {"ev":"entered","net":…} on the session's socket, as a frame with the
 * descriptor that jail/denied.h listens to, where the kernel has it, and the network it is in.
 *
 * The calling process must have been forked with its pid namespace already pointing at the jail.
 * Returns 0 with every wall standing, or -errno and the step that failed; then the caller must
 * _exit without running anything else.
 *
 * The jail may be inhabited by people of bad intent, who see the process from its first moment.
 * What keeps them out of its memory and descriptors, in this order: it belongs to a namespace above
 * theirs; it has capabilities that they lack; and from the first step to the last it is not
 * dumpable, which no process in the jail can overlook. Nothing that they could change is read: not
 * their files, not their working directory. Where all is one user they may end or stop it, which is
 * their own loss. */
int jail_enter(const struct enter_args *args, const char **ret_step);
