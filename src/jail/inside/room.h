/* Entering a room: how a prisoner leaves its jail for one that the warden has prepared below it.
 *
 * A branch is a copy of a session in a jail of its own. Only the copy itself can carry its
 * memory there, and it has lost every privilege long ago. But the owner of a user namespace has all
 * capabilities over it, and the warden makes the room's namespace belong to the jail's user, as a
 * child of the jail's own (jail/warden/branch.h). So the copy joins that, has its capabilities for
 * the moment that the other namespaces take, and drops them again. seccomp and Landlock stay in
 * force all the time: they came along with the memory. */
#pragma once

#include "base/base.h"

/* What a key opens, in the order of the descriptors that wait in it; cgroup files follow. */
enum { ROOM_NAMESPACES = 7 };
extern const char *const room_namespaces[ROOM_NAMESPACES]; /* files of /proc/self/ns */

/* In a copy that the warden is the parent of (sibling_fork) and that has one thread. `key` came
 * with the order to wake and is closed. Returns 0 in the room, in another process that is the same
 * but for its pid: pid namespaces are entered by being born in them. The working directory has the
 * same name if it exists there, else it is JAIL_WORKSPACE. Returns -errno when the walls do not
 * stand: then the caller must _exit. */
int room_enter(int key);
