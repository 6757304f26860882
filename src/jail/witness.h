/* Which process wrote a byte: the kernel vouches for the writer's pid, so that nothing which a
 * sandbox says about itself needs to be believed. The daemon reads the byte, and sends the warden a
 * pidfd: no socket that a sandbox can write to is ever the warden's to read or to close. */
#pragma once

#include <sys/types.h>

/* Takes exactly one byte, which must be waiting, from a channel (base/channel.h) with SO_PASSCRED.
 * Returns the writer's pid as our pid namespace numbers it, or -errno; -EPIPE at the end of the
 * stream, -ESRCH if the kernel does not tell, -EBADMSG if a descriptor came along. */
pid_t witness_byte(int sock);

/* Likewise, but a pidfd of the writer. -ESRCH also if it has ended. */
int witness_writer(int sock);

/* Of whom a pidfd is, as the pid namespace of our /proc numbers it. 0 or less if there is none. */
pid_t witness_pid(int pidfd);
