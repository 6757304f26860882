/* Calls that are refused with an error which programs can live with, in silence: the default,
 * ENOSYS, looks like a kernel that is too old, and few programs have a way on from there. Guardian,
 * and the doctor. */
#include "jail/warden/seccomp_parts.h"

#include <errno.h>

static const struct {
    const char *call;
    uint16_t errnum;
    const char *shown_by; /* the program that lives with this error, or broke without it */
} refused[] = {
    /* These move pages between pipes and files without a copy, which let programs write to files
     * that they could only read (Dirty Pipe). EINVAL is the kernel's answer for files that cannot
     * do it. */
    {"splice", EINVAL, "grep, with /dev/null for its output, reads and writes instead"},
    {"tee", EINVAL, "the same for GNU tee and pv"},
    {"vmsplice", EINVAL, "the same for yes and pv"},
    {"ioprio_set", EPERM, "ionice"},
    {"adjtimex", EPERM, "what an ordinary user is told"},
    {"clock_adjtime", EPERM, "the same"},
    {"kcmp", EPERM, "Mesa and systemd compare descriptors otherwise"},
    {"lookup_dcookie", EPERM, "what an ordinary user is told"},
    {"mbind", EPERM, "numactl, OpenBLAS and the JVM do without"},
    {"migrate_pages", EPERM, "the same"},
    {"modify_ldt", EPERM, "Wine"},
    {"move_pages", EPERM, "numactl, which only asks"},
    {"name_to_handle_at", EPERM, "find and systemd take the inode instead"},
    {"process_madvise", EPERM, "allocators do without"},
    {"sched_setattr", EPERM, "chrt"},
    {"seccomp", EPERM, "OpenSSH and browsers go on without a sandbox of their own"},
    {"set_mempolicy", EPERM, "numactl, OpenBLAS and the JVM do without"},
    {"syslog", EPERM, "dmesg"},
};

int seccomp_add_refused(scmp_filter_ctx ctx)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        int number = seccomp_syscall_resolve_name(refused[i].call);
        if (number == __NR_SCMP_ERROR || number < 0)
            continue; /* unknown to this library or architecture: stays closed by the default */
        int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(refused[i].errnum), number, 0);
        if (r < 0)
            return r;
    }
    /* psutil and prlimit set the limits of a process by its number. Even the caller's own cannot be
     * told from that of a neighbour, whom a limit of processor time would end. */
    return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 2,
                            SCMP_A0(SCMP_CMP_NE, 0, 0), SCMP_A2(SCMP_CMP_NE, 0, 0));
}
