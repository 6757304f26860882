/* The loop of a zygote: an order, a fork, a child that walks in. Zygotes and the launcher, outside
 * of jails. */
#include "jail/inside/zygote_serve.h"

#include "base/fd.h"
#include "jail/inside/enter.h"
#include "jail/syscalls.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { EXIT_NOT_ENTERED = 126 };

static struct seccomp_blob filter;

/* One request, with what came along with it. */
struct fork_request {
    struct zygote_fork order;
    int fds[FD_PASS_MAX]; /* the jail's init, the session's socket, cgroup files */
    size_t n_fds;
};

/* A fork whose child belongs to our parent, the warden. libc's fork cannot do that, so its one
 * necessary duty is done here: the thread id that libc keeps must become the child's. */
static pid_t fork_as_sibling(int cgroup_fd)
{
    int *tid_address = NULL;
    if (prctl(PR_GET_TID_ADDRESS, &tid_address, 0, 0, 0) < 0)
        return -errno;
    struct clone_args args = {
        .flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
                 (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .child_tid = (uintptr_t)tid_address,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    return pid < 0 ? -errno : (pid_t)pid;
}

void zygote_send_fatal(int session_sock, const char *doing, int errnum)
{
    /* A frame like the driver's, so that the daemon learns why. */
    char frame[512];
    int n = snprintf(frame + 4, sizeof(frame) - 4, "{\"ev\":\"fatal\",\"message\":\"%s: %s\"}",
                     doing, strerror(errnum));
    for (int i = 0; i < 4; i++)
        frame[i] = (char)((n >> (8 * i)) & 0xff);
    fd_write_all(session_sock, frame, (size_t)n + 4);
}

static void enter_or_die(const struct fork_request *r, bool execs)
{
    bool joins_by_file = r->order.cgroup_version == 1;
    struct enter_args args = {
        .jail_pidfd = r->fds[0],
        .session_sock = r->fds[1],
        .cgroup_fds = r->fds + 2,
        .n_cgroup_fds = joins_by_file ? r->n_fds - 2 : 0,
        .limits = r->order.limits,
        .has_memory_limit = r->order.has_memory_limit,
        .has_pids_limit = r->order.has_pids_limit,
        .execs = execs,
        .filter = &filter,
    };
    const char *step = "";
    int errnum = jail_enter(&args, &step);
    if (errnum == 0)
        return;
    char doing[128];
    snprintf(doing, sizeof(doing), "cannot enter the jail: %s", step);
    bool has_moved = fcntl(r->fds[1], F_GETFD) < 0; /* the socket may have its new number */
    zygote_send_fatal(has_moved ? ENTER_SESSION_FD : r->fds[1], doing, -errnum);
    _exit(EXIT_NOT_ENTERED);
}

static void call(void (*hook)(void))
{
    if (hook != NULL)
        hook();
}

/* Returns 0 in the child, inside its jail; the child's pid or -errno in the zygote, whose own pid
 * namespace is back in place on every path: pointed at a jail it could not start a thread, and
 * forking into a dead one would fail for ever. */
static pid_t fork_into_jail(const struct fork_request *r, int own_pidfd,
                            const struct zygote_hooks *hooks, bool execs)
{
    if (setns(r->fds[0], CLONE_NEWPID) < 0)
        return -errno;
    call(hooks->before_fork);
    pid_t pid = fork_as_sibling(r->order.cgroup_version == 2 ? r->fds[2] : -1);
    if (pid == 0) {
        enter_or_die(r, execs);
        call(hooks->after_fork_child);
        return 0;
    }
    if (setns(own_pidfd, CLONE_NEWPID) < 0)
        abort(); /* the warden starts a new zygote */
    call(hooks->after_fork_parent);
    return pid;
}

static bool receive(int control, struct fork_request *r)
{
    r->n_fds = 0;
    ssize_t n = fd_recv(control, &r->order, sizeof(r->order), r->fds, FD_PASS_MAX, &r->n_fds);
    return n == (ssize_t)sizeof(r->order) && r->n_fds >= 2;
}

int zygote_serve(int control, const struct zygote_hooks *hooks, bool execs)
{
    if (pread(ZYGOTE_FILTER_FD, &filter, sizeof(filter), 0) != (ssize_t)sizeof(filter))
        return -EIO;
    _fd_ int own_pidfd = pidfd_open(getpid(), 0);
    if (own_pidfd < 0)
        return -errno;
    struct fork_request request;
    while (receive(control, &request)) {
        pid_t pid = fork_into_jail(&request, own_pidfd, hooks, execs);
        if (pid == 0) {
            own_pidfd = -1; /* closed while entering */
            return ENTER_SESSION_FD;
        }
        for (size_t i = 0; i < request.n_fds; i++)
            close(request.fds[i]);
        struct zygote_forked answer = {
            .head = request.order.head,
            .pid = MAX(pid, 0),
            .errnum = pid < 0 ? -pid : 0,
        };
        if (fd_send(control, &answer, sizeof(answer), NULL, 0) < 0)
            break;
    }
    return -EPIPE;
}
