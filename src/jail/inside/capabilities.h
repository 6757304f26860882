/* A wall that is built three times: by who walks in, by a jail's init, by who enters a room. */
#pragma once

/* No capability in any set, and no way to gain one. 0 when the kernel has confirmed it, or -errno.
 */
int jail_drop_capabilities(void);
