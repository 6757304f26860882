/* System calls that this libc has no wrapper for. */
#pragma once

#include "base/base.h"

#include <errno.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/types.h>

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* A fork with clone3's flags. The child shares nothing with the parent, so plain C may go on in
 * both. Returns the pid, 0 in the child, or -errno. */
static inline pid_t sys_clone3(uint64_t flags, int exit_signal, int *ret_pidfd, int cgroup_fd)
{
    struct clone_args args = {
        .flags = flags | (ret_pidfd ? CLONE_PIDFD : 0) | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uintptr_t)ret_pidfd,
        .exit_signal = (uint64_t)exit_signal,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    return pid < 0 ? -errno : (pid_t)pid;
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
    return syscall(SYS_pivot_root, new_root, put_old) < 0 ? -errno : 0;
}

/* Closes every descriptor from `first` on. */
static inline int sys_close_from(unsigned first)
{
    return syscall(SYS_close_range, first, ~0U, 0) < 0 ? -errno : 0;
}
