/* An allow-list: what is not named does not exist (ENOSYS), so that a system call of tomorrow's
 * kernel is closed today. What programs are known to try gets EPERM, which they handle better. */
#include "jail/seccomp.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/mman.h>
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
    "openat2",
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

/* Refused, and the caller of the cell hears of it by name: nobody makes these by chance. inotify is
 * among them: its few instances are counted for the user who started the daemon, on the host too,
 * and it would tell what others do in /usr and how far the keeper's walk through /workspace has
 * come. */
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
    "inotify_init",
    "inotify_init1",
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
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
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

/* Refused in silence: libraries try these to see what they may do, and do without. */
static const char *const forbidden[] = {
    "adjtimex",
    "clock_adjtime",
    "inotify_add_watch",
    "ioprio_set",
    "kcmp",
    "lookup_dcookie",
    "mbind",
    "migrate_pages",
    "modify_ldt",
    "move_pages",
    "name_to_handle_at",
    "process_madvise",
    "sched_setattr",
    "seccomp",
    "set_mempolicy",
    "syslog",
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
static int add_sockets(scmp_filter_ctx ctx)
{
    static const int families[] = {AF_INET, AF_INET6};
    static const int protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP};
    int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                             SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(families) * ARRAY_LEN(protocols); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i % 2], 0),
                             SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)protocols[i / 2], 0));
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

/* For those who enter the room of a branch (jail/room.h), one namespace at a time. Anybody may try,
 * and finds that nothing is below but the rooms that the warden made. */
static int add_setns(scmp_filter_ctx ctx)
{
    int r = 0;
    for (uint64_t flag = 1; r == 0 && flag <= NAMESPACE_FLAGS; flag <<= 1)
        if (NAMESPACE_FLAGS & flag)
            r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(setns), 1,
                                 SCMP_A1(SCMP_CMP_EQ, flag, 0));
    return r;
}

/* Calls whose arguments decide. */
static int add_conditional(scmp_filter_ctx ctx, uint32_t refuse)
{
    int r = add_clone(ctx, refuse);
    if (r == 0)
        r = add_setns(ctx);
    if (r == 0)
        r = add_sockets(ctx);
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                             SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    static const uint64_t personalities[] = {0, 0xffffffff};
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(personalities); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1,
                             SCMP_A0(SCMP_CMP_EQ, personalities[i], 0));
    if (r == 0) /* another process's limits are none of its business */
        r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                             SCMP_A0(SCMP_CMP_EQ, 0, 0));
    return r;
}

/* Whether the kernel can ask somebody (Linux 5.0). */
static bool can_ask(void)
{
    uint32_t action = SECCOMP_RET_USER_NOTIF;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int build_allow_list(scmp_filter_ctx ctx)
{
    uint32_t refuse = can_ask() ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0)
        r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a chain */
    if (r == 0)
        r = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
    if (r == 0)
        r = add_all(ctx, SCMP_ACT_ERRNO(EPERM), forbidden, ARRAY_LEN(forbidden));
    if (r == 0)
        r = add_all(ctx, refuse, named, ARRAY_LEN(named));
    return r == 0 ? add_conditional(ctx, refuse) : r;
}

static int deny_masked(scmp_filter_ctx ctx, int number, unsigned arg, uint64_t value, int errnum)
{
    /* The kernel looks at the low 32 bits of these arguments only, and so must the filter. */
    return seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)errnum), number, 1,
                            SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value));
}

/* Streams and datagrams only. A branch that kept its capabilities could have raw ones, and one type
 * is another name for the family of packets. */
static int deny_socket_types(scmp_filter_ctx ctx)
{
    enum { TYPES = 16, PACKET = 10 }; /* above them are flags */
    static const int families[] = {AF_INET, AF_INET6};
    int r = 0;
    for (int type = SOCK_RAW; type < TYPES; type++)
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(families); i++) {
            uint16_t errnum = type == SOCK_RAW || type == PACKET ? EPERM : ESOCKTNOSUPPORT;
            r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(errnum), SCMP_SYS(socket), 2,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)families[i]),
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, TYPES - 1, (scmp_datum_t)type));
        }
    return r;
}

/* The same for a protocol: programs then try a common one. */
static int deny_protocols(scmp_filter_ctx ctx)
{
    static const int families[] = {AF_INET, AF_INET6};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(families); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)families[i]),
                             SCMP_A2(SCMP_CMP_GT, IPPROTO_UDP, 0));
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_INET),
                             SCMP_A2(SCMP_CMP_EQ, IPPROTO_ICMP, 0));
    return r;
}

/* A branch that keeps the capabilities which entering its room gave it (jail/room.h) rules over a
 * network namespace. It gains nothing by that but a way to parts of the kernel that nobody else in
 * a jail can reach: packet filters, routes, interfaces, buffers without a limit. */
static int deny_options(scmp_filter_ctx ctx)
{
    static const struct {
        int level, option;
    } options[] = {
        {SOL_SOCKET, 32 /* SO_SNDBUFFORCE */},
        {SOL_SOCKET, 33 /* SO_RCVBUFFORCE */},
        {IPPROTO_TCP, 19 /* TCP_REPAIR */},
        {IPPROTO_IPV6, 64 /* IP6T_SO_SET_REPLACE */},
        {IPPROTO_IPV6, 65 /* ..ADD_COUNTERS */},
        {IPPROTO_IPV6, 68 /* ..GET_REVISION_MATCH */},
        {IPPROTO_IPV6, 69 /* ..GET_REVISION_TARGET */},
    };
    static const int calls[] = {SCMP_SYS(setsockopt), SCMP_SYS(getsockopt)};
    int r = 0;
    for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(options); i++)
            r = seccomp_rule_add(
                ctx, SCMP_ACT_ERRNO(EPERM), calls[c], 2,
                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)options[i].level),
                SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)options[i].option));
        /* From IPT_BASE_CTL on all are tables, of one kind or another. */
        for (uint64_t bit = 64; r == 0 && bit <= 0x80000000; bit <<= 1)
            r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), calls[c], 2,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, IPPROTO_IP),
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
        for (uint64_t bit = 128; r == 0 && bit <= 0x80000000; bit <<= 1)
            r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), calls[c], 2,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, IPPROTO_IPV6),
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
    }
    return r;
}

static int deny_interfaces(scmp_filter_ctx ctx)
{
    /* SIOCADDRT to SIOCRTMSG, and what sets or adds: SIOCSIFLINK to SIOCDELDLCI. */
    static const int changes[] = {
        0x890b, 0x890c, 0x890d, 0x8911, 0x8914, 0x8916, 0x8918, 0x891a, 0x891c, 0x891e, 0x8920,
        0x8922, 0x8923, 0x8924, 0x8926, 0x8930, 0x8931, 0x8932, 0x8934, 0x8936, 0x8937, 0x8941,
        0x8943, 0x8946, 0x8948, 0x8949, 0x894a, 0x8953, 0x8955, 0x8960, 0x8962, 0x8971,
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(changes); i++)
        r = deny_masked(ctx, SCMP_SYS(ioctl), 1, (uint64_t)changes[i], EPERM);
    if (r == 0) /* bridges, bonds, tunnels, whatever a driver likes */
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffff80, 0x8980));
    return r;
}

static int build_deny_list(scmp_filter_ctx ctx)
{
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0)
        r = deny_masked(ctx, SCMP_SYS(ioctl), 1, 0x5412 /* TIOCSTI */, EPERM);
    if (r == 0)
        r = deny_masked(ctx, SCMP_SYS(ioctl), 1, 0x541c /* TIOCLINUX */, EPERM);
    if (r == 0) /* kill(-1) would take the driver's relatives along */
        r = deny_masked(ctx, SCMP_SYS(kill), 0, 0xffffffff, EPERM);
    if (r == 0) /* inotify's ancestor would tell what others do in /usr */
        r = deny_masked(ctx, SCMP_SYS(fcntl), 1, 1026 /* F_NOTIFY */, EPERM);
    if (r == 0) /* the pages of a cell's pipes are counted for the daemon, of all sessions */
        r = deny_masked(ctx, SCMP_SYS(fcntl), 1, 1031 /* F_SETPIPE_SZ */, EPERM);
    /* An unknown socket family must say so: ENOSYS would look like a kernel without sockets. */
    for (int family = 0; r == 0 && family < 64; family++)
        if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
            r = deny_masked(ctx, SCMP_SYS(socket), 0, (uint64_t)family, EAFNOSUPPORT);
    if (r == 0)
        r = deny_protocols(ctx);
    if (r == 0) /* a cookie of its own would keep others off the neighbouring hyperthread */
        r = deny_masked(ctx, SCMP_SYS(prctl), 0, 62 /* PR_SCHED_CORE */, EPERM);
    if (r == 0)
        r = deny_masked(ctx, SCMP_SYS(prctl), 0, 22 /* PR_SET_SECCOMP */, EPERM);
    if (r == 0)
        r = deny_masked(ctx, SCMP_SYS(prctl), 0, 35 /* PR_SET_MM */, EPERM);
    if (r == 0)
        r = deny_socket_types(ctx);
    if (r == 0)
        r = deny_options(ctx);
    if (r == 0)
        r = deny_interfaces(ctx);
    return r;
}

/* Appends the compiled program at `used`; returns its size or -errno. */
static int export_program(uint32_t default_action, int (*build)(scmp_filter_ctx),
                          struct seccomp_blob *blob, size_t used)
{
    scmp_filter_ctx ctx = seccomp_init(default_action);
    if (ctx == NULL)
        return -ENOMEM;
    int r = build(ctx);
    _fd_ int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (r == 0)
        r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
    seccomp_release(ctx);
    if (r < 0)
        return r;
    ssize_t n = pread(fd, blob->code + used, sizeof(blob->code) - used, 0);
    return n < 0 ? -errno : (int)n;
}

int seccomp_compile(struct seccomp_blob *ret_blob, struct err *e)
{
    static const struct {
        uint32_t default_action;
        int (*build)(scmp_filter_ctx);
    } programs[SECCOMP_PROGRAMS] = {
        {SCMP_ACT_ERRNO(ENOSYS), build_allow_list},
        {SCMP_ACT_ALLOW, build_deny_list}, /* last: it refuses further filters */
    };
    size_t used = 0;
    for (size_t i = 0; i < SECCOMP_PROGRAMS; i++) {
        int n = export_program(programs[i].default_action, programs[i].build, ret_blob, used);
        if (n <= 0)
            return err_errno(e, ERR_INTERNAL, n, "cannot compile the system call filter");
        ret_blob->sizes[i] = (uint32_t)n;
        used += (size_t)n;
    }
    ret_blob->has_questions = can_ask();
    return 0;
}
