/* Checkpoints: a copy of an interpreter that sleeps, and wakes by being copied once more.
 *
 * Everything that the copy does before it is woken is C, so that the interpreter's memory stays
 * shared: a sleeping copy costs what its head changes later. It understands no order itself: for
 * each frame that arrives on its channel it forks, and what that copy does with the frame is the
 * interpreter's affair. At the end of the channel it ends. */
#pragma once

#include "jail/inside/descriptors.h"

#include <sys/types.h>

enum { SLEEPER_MAX_FDS = 4, SLEEPER_MAX_FRAME = 4096 };

/* library.py knows this as it lies in memory. */
struct sleeper_order {
    uint32_t n_fds;
    int32_t fds[SLEEPER_MAX_FDS];
    uint32_t length;
    char frame[SLEEPER_MAX_FRAME]; /* JSON */
};

/* Forks the copy that sleeps at `channel`. Returns its pid; -errno if there is none; and 0, once
 * for each order, in a copy of it that is to carry the order out, in a session of its own. There
 * `channel` and `ours[0]`, the head's own channel, are closed, the other descriptors as
 * descriptors.h tells, 1 and 2 lead nowhere, and no other process may look into it. */
pid_t sleeper_fork(int channel, const int *ours, size_t n_ours, struct sleeper_order *ret_order);

/* Forks a copy that does not sleep: it returns 0 at once, as one of those above would. `kept` and
 * the place of `ours[0]` stay open in it. */
pid_t sleeper_fork_awake(int kept, const int *ours, size_t n_ours);

/* In a copy that is about to go into another jail. 0, or -errno: then it must _exit. */
int sleeper_leave(void);

/* In a copy that is to live on: it may be looked into again, and its files are its own, as are, in
 * a jail other than the one it fell asleep in, its shared mappings. NULL if they could not be made
 * so: then it must _exit. */
struct descriptors *sleeper_wake(bool has_moved);
