/* Dropping every capability. Runs in whoever walks into a jail, and in a jail's init. */
#include "jail/inside/capabilities.h"

#include "base/base.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int jail_drop_capabilities(void)
{
    /* The bounding set goes first: dropping it takes CAP_SETPCAP, which capset takes away. */
    for (int cap = 0; cap <= 63; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
            return -errno;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};
    if (syscall(SYS_capset, &header, sets) < 0)
        return -errno;
    /* Believe it only when the kernel says it. */
    if (syscall(SYS_capget, &header, sets) < 0)
        return -errno;
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        if (sets[i].effective || sets[i].permitted || sets[i].inheritable)
            return -EPERM;
    for (int cap = 0; cap <= 63; cap++)
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
            return -EPERM;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
