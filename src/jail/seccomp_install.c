/* Apart from seccomp.c because the zygote's library installs filters without libseccomp. */
#include "jail/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

int seccomp_install(const struct seccomp_blob *blob)
{
    const unsigned char *at = blob->code;
    for (size_t i = 0; i < SECCOMP_PROGRAMS; i++) {
        struct sock_fprog program = {
            .len = (unsigned short)(blob->sizes[i] / sizeof(struct sock_filter)),
            .filter = (struct sock_filter *)(uintptr_t)at,
        };
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
            return -errno;
        at += blob->sizes[i];
    }
    return 0;
}
