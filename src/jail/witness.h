/* Who wrote a byte: the kernel vouches for the writer's pid, so that nothing which a sandbox says
 * about itself needs to be believed. */
#pragma once

#include <sys/types.h>

/* Takes exactly one byte, which must be waiting, from a stream socket with SO_PASSCRED. Descriptors
 * that came along are closed. Returns the writer's pid as our pid namespace numbers it, or -errno;
 * -EPIPE at the end of the stream, -ESRCH if the kernel does not tell. */
pid_t witness_byte(int sock);
