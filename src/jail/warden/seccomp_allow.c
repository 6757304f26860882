/* The first program, an allow-list: what is not named does not exist (ENOSYS), so that a system
 * call of tomorrow's kernel is closed today. What programs are known to try gets an error that they
 * handle better (seccomp_refuse.c). Guardian, and the doctor. */
#include "jail/warden/seccomp_parts.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* CLONE_NEWTIME is none of clone's: there it is a part of the signal's number. */
#define NAMESPACE_FLAGS                                                                            \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)

static const char *const allowed[] = {
    /* files */
    "access",
    "chdir",
    "chmod",
    "chown",
    "close",
    "close_range",
    "copy_file_range",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "fchown",
    "fchownat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flistxattr",
    "flock",
    "fremovexattr",
    "fsetxattr",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "futimesat",
    "getcwd",
    "getdents",
    "getdents64",
    "getxattr",
    "inotify_init",
    "inotify_init1",
    "inotify_rm_watch",
    "ioctl",
    "lchown",
    "lgetxattr",
    "link",
    "linkat",
    "listxattr",
    "llistxattr",
    "lremovexattr",
    "lseek",
    "lsetxattr",
    "lstat",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "newfstatat",
    "open",
    "openat",
    "pipe",
    "pipe2",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "removexattr",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "sendfile",
    "setxattr",
    "stat",
    "statfs",
    "statx",
    "symlink",
    "symlinkat",
    "sync",
    "sync_file_range",
    "syncfs",
    "truncate",
    "umask",
    "unlink",
    "unlinkat",
    "utime",
    "utimensat",
    "utimes",
    "write",
    "writev",
    /* memory */
    "brk",
    "madvise",
    "memfd_create",
    "mincore",
    "mlock",
    "mlock2",
    "mlockall",
    "mmap",
    "mprotect",
    "mremap",
    "msync",
    "munlock",
    "munlockall",
    "munmap",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "membarrier",
    "cachestat",
    "map_shadow_stack",
    /* processes, threads, signals */
    "alarm",
    "arch_prctl",
    "capget",
    "capset", /* can only take away; who enters a room drops what that gave it */
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "fork",
    "vfork",
    "futex",
    "futex_waitv",
    "get_robust_list",
    "set_robust_list",
    "rseq",
    "set_tid_address",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getresgid",
    "getresuid",
    "getrlimit",
    "setrlimit",
    "getrusage",
    "getsid",
    "gettid",
    "getuid",
    "kill",
    "pause",
    "pidfd_open",
    "pidfd_send_signal",
    "prctl",
    "restart_syscall",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigqueueinfo",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "rt_tgsigqueueinfo",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "setpgid",
    "setpriority",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setsid",
    "setuid",
    "sigaltstack",
    "signalfd",
    "signalfd4",
    "tgkill",
    "tkill",
    "wait4",
    "waitid",
    "sysinfo",
    "times",
    "uname",
    /* scheduling, time */
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "getcpu",
    "getitimer",
    "gettimeofday",
    "nanosleep",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_rr_get_interval",
    "sched_setaffinity",
    "sched_setscheduler",
    "sched_setparam",
    "sched_yield",
    "setitimer",
    "time",
    "timer_create",
    "timer_delete",
    "timer_getoverrun",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "ioprio_get",
    "get_mempolicy",
    /* waiting, sockets, ipc inside the jail */
    "accept",
    "accept4",
    "bind",
    "connect",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd",
    "eventfd2",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "poll",
    "ppoll",
    "pselect6",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "getrandom",
    "mq_getsetattr",
    "mq_notify",
    "mq_open",
    "mq_timedreceive",
    "mq_timedsend",
    "mq_unlink",
    "msgctl",
    "msgget",
    "msgrcv",
    "msgsnd",
    "semctl",
    "semget",
    "semop",
    "semtimedop",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",
};

/* Refused, and the caller of the cell hears of it by name: nobody makes these by chance. */
static const char *const named[] = {
    "acct",
    "add_key",
    "bpf",
    "chroot",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "init_module",
    "ioperm",
    "iopl",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "mount",
    "open_by_handle_at",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "quotactl",
    "reboot",
    "request_key",
    "setdomainname",
    "sethostname",
    "settimeofday",
    "swapoff",
    "swapon",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
};

/* The same, unless the session was made with `debug`: then processes of one session may look into
 * each other, which the kernel allows to those of one user that can be dumped, as it allows them
 * to read and write each other's memory by way of /proc. A tracer cannot get around the filter: it
 * is asked after the tracer, about whatever the call has become. */
static const char *const debugging[] = {
    "process_vm_readv", /* py-spy, strace */
    "process_vm_writev",
    "ptrace",
};

static int add_all(scmp_filter_ctx ctx, uint32_t action, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        if (number == __NR_SCMP_ERROR || number < 0)
            continue; /* unknown to this library or architecture: stays closed by the default */
        int r = seccomp_rule_add(ctx, action, number, 0);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Only the protocols of every day: asking for another one makes the kernel load its module. */
static int add_sockets(scmp_filter_ctx ctx, uint32_t ask)
{
    static const int families[] = {AF_INET, AF_INET6};
    static const int protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP};
    int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                             SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(families) * ARRAY_LEN(protocols); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i % 2], 0),
                             SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)protocols[i / 2], 0));
    if (r == 0) /* the list of interfaces: jail/denied.h decides */
        r = seccomp_rule_add(ctx, ask, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0),
                             SCMP_A2(SCMP_CMP_EQ, 0 /* NETLINK_ROUTE */, 0));
    return r;
}

/* Any number of new namespaces is one too many. */
static int add_clone(scmp_filter_ctx ctx, uint32_t refuse)
{
    int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACE_FLAGS, 0));
    for (uint64_t flag = 1; r == 0 && flag <= NAMESPACE_FLAGS; flag <<= 1)
        if (NAMESPACE_FLAGS & flag)
            r = seccomp_rule_add(ctx, refuse, SCMP_SYS(clone), 1,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    return r;
}

/* For those who enter the room of a branch (jail/inside/room.h), one namespace at a time. Anybody
 * may try, and finds that nothing is below but the rooms that the warden made. */
static int add_setns(scmp_filter_ctx ctx)
{
    int r = 0;
    for (uint64_t flag = 1; r == 0 && flag <= NAMESPACE_FLAGS; flag <<= 1)
        if (NAMESPACE_FLAGS & flag)
            r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(setns), 1,
                                 SCMP_A1(SCMP_CMP_EQ, flag, 0));
    return r;
}

/* Files may be watched for changes, within limits (jail/warden/watches.h). Who is told that a file
 * was opened, read or closed would learn what others do in /usr, which all share, and how far the
 * keeper's walk through /workspace has come. */
static int add_watching(scmp_filter_ctx ctx)
{
    static const uint64_t looks[] = {IN_ACCESS, IN_OPEN, IN_CLOSE_NOWRITE};
    int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(inotify_add_watch), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, looks[0] | looks[1] | looks[2], 0));
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(looks); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(inotify_add_watch), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, looks[i], looks[i]));
    return r;
}

/* Asking for the present one, the usual one, and for debuggers the one whose addresses are the same
 * in every run. */
static int add_personalities(scmp_filter_ctx ctx, bool has_debug)
{
    static const uint64_t personalities[] = {0, 0xffffffff, 0x40000 /* ADDR_NO_RANDOMIZE */};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(personalities) - !has_debug; i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1,
                             SCMP_A0(SCMP_CMP_EQ, personalities[i], 0));
    return r;
}

/* Calls whose arguments decide. */
static int add_conditional(scmp_filter_ctx ctx, uint32_t refuse)
{
    int r = add_clone(ctx, refuse);
    if (r == 0)
        r = add_setns(ctx);
    if (r == 0)
        r = add_watching(ctx);
    if (r == 0)
        r = add_sockets(ctx, seccomp_can_ask() ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EOPNOTSUPP));
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                             SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                             SCMP_A0(SCMP_CMP_EQ, 0, 0));
    if (r == 0) /* another process's limits may be read; seccomp_refuse.c has the rest */
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                             SCMP_A2(SCMP_CMP_EQ, 0, 0));
    return r;
}

bool seccomp_can_ask(void)
{
    uint32_t action = SECCOMP_RET_USER_NOTIF;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int add_list(scmp_filter_ctx ctx, bool has_debug)
{
    uint32_t refuse = seccomp_can_ask() ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a chain */
    if (r == 0)
        r = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
    if (r == 0)
        r = seccomp_add_refused(ctx);
    if (r == 0)
        r = add_all(ctx, refuse, named, ARRAY_LEN(named));
    if (r == 0)
        r = add_all(ctx, has_debug ? SCMP_ACT_ALLOW : refuse, debugging, ARRAY_LEN(debugging));
    if (r == 0)
        r = add_personalities(ctx, has_debug);
    return r == 0 ? add_conditional(ctx, refuse) : r;
}

int seccomp_add_allowed(scmp_filter_ctx ctx)
{
    return add_list(ctx, false);
}

int seccomp_add_allowed_debug(scmp_filter_ctx ctx)
{
    return add_list(ctx, true);
}
