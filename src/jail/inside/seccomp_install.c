/* Apart from seccomp.c because the zygote's library installs filters without libseccomp. */
#include "jail/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Returns the listener. */
static int install_with_questions(const struct sock_fprog *program)
{
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
    return fd < 0 ? -errno : (int)fd;
}

int seccomp_install(const struct seccomp_blob *blob, bool has_debug, int *ret_listener)
{
    const unsigned char *at = blob->code;
    int listener = -1;
    const size_t passed_over = has_debug ? SECCOMP_ALLOW : SECCOMP_ALLOW_DEBUG;
    for (size_t i = 0; i < SECCOMP_PROGRAMS; at += blob->sizes[i++]) {
        if (i == passed_over)
            continue;
        struct sock_fprog program = {
            .len = (unsigned short)(blob->sizes[i] / sizeof(struct sock_filter)),
            .filter = (struct sock_filter *)(uintptr_t)at,
        };
        int r = 0;
        if (i != SECCOMP_DENY && blob->has_questions && ret_listener != NULL)
            r = listener = install_with_questions(&program);
        else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
            r = -errno;
        if (r < 0)
            return r;
    }
    if (ret_listener != NULL)
        *ret_listener = listener;
    return 0;
}
