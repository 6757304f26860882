/* The way into a jail, as a table of steps. Runs in the child of a zygote, which is a prisoner at
 * the end; owns nothing. */
#include "jail/inside/enter.h"

#include "base/fd.h"
#include "jail/denied.h"
#include "jail/inside/capabilities.h"
#include "jail/inside/landlock.h"
#include "jail/syscalls.h"

#include <endian.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
    BRANCHES_COUNTED = 32,
    DESCRIPTORS_USUAL = 1024,
    DESCRIPTORS_MAX = 4096 + 8, /* the drivers reserve eight of them */
    DESCRIPTORS_SHARE = 4,      /* of what the daemon may have, at most one in so many */
    INIT_PIDS = 1,              /* the jail's init counts as one of its user's processes */
    /* What node maps before its first line runs: the stacks of ten threads, hardly touched. */
    PROGRAM_DATA_BYTES = 96 * MIB
};

#define JOINED_NAMESPACES                                                                          \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static int enter_hide(const struct enter_args *a)
{
    (void)a;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* A process that cannot be dumped may not even read its own /proc/self/fd. exec does the same. */
static int show(const struct enter_args *a)
{
    return !a->execs && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Before the first page is touched and the first process made, so that all are counted. and process
 * from here on is counted. Writing ourselves into v1's `tasks` costs 20 us; being moved by someone
 * else waits for an RCU grace period (7 ms).
 */
static int enter_join_cgroups(const struct enter_args *a)
{
    for (size_t i = 0; i < a->n_cgroup_fds; i++)
        if (write(a->cgroup_fds[i], "0", 1) != 1)
            return -errno;
    return 0;
}

static int join_namespaces(const struct enter_args *a)
{
    return setns(a->jail_pidfd, JOINED_NAMESPACES) < 0 ? -errno : 0;
}

/* Nothing of the zygote's descriptors may survive. The order matters: the socket moves out of the
 * way first, because its number may be one of those that /dev/null takes. */
static int enter_take_descriptors(const struct enter_args *a)
{
    int sock = fcntl(a->session_sock, F_DUPFD_CLOEXEC, 64);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (sock < 0 || null < 0)
        return -errno;
    for (int fd = 0; fd <= 2; fd++)
        if (dup2(null, fd) < 0)
            return -errno;
    if (dup3(sock, ENTER_SESSION_FD, O_CLOEXEC) < 0)
        return -errno;
    return sys_close_from(ENTER_SESSION_FD + 1);
}

static int own_session(const struct enter_args *a)
{
    (void)a;
    if (setsid() < 0 && errno != EPERM)
        return -errno;
    umask(022);
    return chdir(JAIL_WORKSPACE) < 0 ? -errno : 0;
}

/* Bytes of private memory that this process already has: limits come on top of it. */
static rlim_t data_in_use(void)
{
    _free_ char *status = NULL;
    if (fd_read_file(AT_FDCWD, "/proc/self/status", 64 * KIB, &status, NULL) < 0)
        return 0;
    const char *line = strstr(status, "VmData:");
    return line ? (rlim_t)strtoull(line + strlen("VmData:"), NULL, 10) * KIB : 0;
}

static int set_limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    struct rlimit old;
    if (getrlimit(resource, &old) < 0)
        return -errno;
    /* An ordinary user may only go down. */
    if (old.rlim_max != RLIM_INFINITY && limit.rlim_max > old.rlim_max)
        limit.rlim_cur = limit.rlim_max = old.rlim_max;
    return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

/* First a signal, which ends the process; for those who catch it there is a second more. */
static int limit_cpu(uint32_t seconds)
{
    struct rlimit limit = {.rlim_cur = seconds, .rlim_max = (rlim_t)seconds + 1};
    struct rlimit old;
    if (getrlimit(RLIMIT_CPU, &old) < 0)
        return -errno;
    limit.rlim_max = MIN(limit.rlim_max, old.rlim_max);
    limit.rlim_cur = MIN(limit.rlim_cur, limit.rlim_max);
    return setrlimit(RLIMIT_CPU, &limit) < 0 ? -errno : 0;
}

static int set_limits(const struct enter_args *a)
{
    const struct {
        __rlimit_resource_t resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_CORE, 1}, /* at 0 the machine may still have a program that is given each core */
        {RLIMIT_MEMLOCK, 64 * KIB},
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_RTPRIO, 0},
        {RLIMIT_NICE, 0},
        {RLIMIT_SIGPENDING, 1024},
        /* Counted for each user namespace since Linux 5.14, so it holds without a cgroup too. Where
         * there is one, that refuses first, because it also counts what it refused; the dead count
         * a little longer here than there, and so do the branches of a session, with theirs. */
        {RLIMIT_NPROC,
         (a->limits.pids + INIT_PIDS + (a->limits.checkpoint_mb > 0 ? JAIL_CHECKPOINT_PIDS : 0)) *
             (a->has_pids_limit ? BRANCHES_COUNTED : 1)},
        {RLIMIT_FSIZE, (rlim_t)a->limits.disk_mb * MIB},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(limits); i++)
        r = set_limit(limits[i].resource, limits[i].value);
    char rank[16];
    snprintf(rank, sizeof(rank), "%d", JAIL_HEAD_RANK);
    if (r == 0)
        r = fd_write_file(AT_FDCWD, "/proc/self/oom_score_adj", rank);
    rlim_t base = a->execs ? PROGRAM_DATA_BYTES : data_in_use();
    if (r == 0 && !a->has_memory_limit)
        r = set_limit(RLIMIT_DATA, base + (rlim_t)a->limits.memory_mb * MIB);
    if (r == 0 && a->limits.cpu_seconds > 0)
        r = limit_cpu(a->limits.cpu_seconds);
    return r;
}

static int become_prisoner(const struct enter_args *a)
{
    (void)a;
    /* Refused where the map was written without privilege; then there is no group to lose. */
    if (setgroups(0, NULL) < 0 && errno != EPERM)
        return -errno;
    if (setresgid(JAIL_GID, JAIL_GID, JAIL_GID) < 0 || setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
        return -errno;
    return jail_drop_capabilities();
}

static int reset_signals(const struct enter_args *a)
{
    (void)a;
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int restrict_files(const struct enter_args *a)
{
    return landlock_restrict_self(a->limits.checkpoint_mb > 0);
}

/* A frame like the driver's: the first byte carries the listener, if there is one. */
static int send_entered(int listener)
{
    char frame[128];
    int text =
        snprintf(frame + sizeof(uint32_t), sizeof(frame) - sizeof(uint32_t),
                 "{\"ev\":\"entered\",\"net\":%llu}", (unsigned long long)denied_network("self"));
    const uint32_t text_len = htole32((uint32_t)text);
    memcpy(frame, &text_len, sizeof(text_len));
    size_t len = sizeof(text_len) + (size_t)text;
    ssize_t n = fd_send(ENTER_SESSION_FD, frame, len, &listener, listener >= 0 ? 1 : 0);
    if (n < 0)
        return (int)n;
    return n == (ssize_t)len ? 0 : -EMSGSIZE; /* so few bytes fit into an empty socket */
}

static int install_filter(const struct enter_args *a)
{
    int listener = -1;
    int r = seccomp_install(a->filter, a->limits.debug != 0, &listener);
    if (r == 0)
        r = send_entered(listener);
    if (listener >= 0)
        close(listener);
    return r;
}

/* After the listener was sent: the kernel compares what all of a user's processes have under way in
 * sockets with this limit of whoever sends. So sessions of an ordinary user's daemon could keep it
 * from sending if they may have as many as the daemon: they get a part of that. */
static int limit_descriptors(const struct enter_args *a)
{
    (void)a;
    struct rlimit old;
    if (getrlimit(RLIMIT_NOFILE, &old) < 0)
        return -errno;
    rlim_t most = MAX(MIN((rlim_t)DESCRIPTORS_MAX, old.rlim_max / DESCRIPTORS_SHARE),
                      MIN((rlim_t)DESCRIPTORS_USUAL, old.rlim_max));
    struct rlimit limit = {.rlim_cur = MIN((rlim_t)DESCRIPTORS_USUAL, most), .rlim_max = most};
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

int jail_enter(const struct enter_args *args, const char **ret_step)
{
    static const struct {
        const char *name;
        int (*run)(const struct enter_args *);
    } steps[] = {
        {"hide from those inside", enter_hide},
        {"join the cgroup", enter_join_cgroups},
        {"join the jail's namespaces", join_namespaces},
        {"start a session of its own", own_session},
        {"set resource limits", set_limits}, /* reads /proc, so before descriptors close */
        {"close inherited descriptors", enter_take_descriptors},
        {"drop privileges", become_prisoner},
        {"reset signals", reset_signals},
        {"restrict files with Landlock", restrict_files},
        {"install the system call filter", install_filter}, /* it forbids what came before */
        {"limit descriptors", limit_descriptors},
        {"come out of hiding", show},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int r = steps[i].run(args);
        if (r < 0) {
            *ret_step = steps[i].name;
            return r;
        }
    }
    return 0;
}
