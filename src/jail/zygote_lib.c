/* libcella_enter.so: what a zygote needs of C. It is opened by ctypes in any CPython from 3.9 on,
 * so it names no Python header: the three fork hooks are looked up in the running interpreter. */
#include "base/fd.h"
#include "jail/enter.h"
#include "jail/syscalls.h"
#include "jail/zygote_memory.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define EXPORT __attribute__((visibility("default")))

enum { FILTER_FD = 4, EXIT_NOT_ENTERED = 126 };

EXPORT int cella_zygote_serve(int control);
EXPORT void cella_unbuffer_stdio(void);
EXPORT void cella_flush_stdio(void);

static struct {
    void (*before_fork)(void);
    void (*after_fork_child)(void);
    void (*after_fork_parent)(void);
} python;

static struct seccomp_blob filter;

/* One request, with what came along with it. */
struct fork_request {
    struct zygote_fork order;
    int fds[FD_PASS_MAX]; /* the jail's init, the session's socket, cgroup files */
    size_t n_fds;
};

static int prepare(void)
{
    *(void **)&python.before_fork = dlsym(RTLD_DEFAULT, "PyOS_BeforeFork");
    *(void **)&python.after_fork_child = dlsym(RTLD_DEFAULT, "PyOS_AfterFork_Child");
    *(void **)&python.after_fork_parent = dlsym(RTLD_DEFAULT, "PyOS_AfterFork_Parent");
    if (!python.before_fork || !python.after_fork_child || !python.after_fork_parent)
        return -ENOSYS;
    ssize_t n = pread(FILTER_FD, &filter, sizeof(filter), 0);
    return n == (ssize_t)sizeof(filter) ? 0 : -EIO;
}

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

static void enter_or_die(const struct fork_request *r)
{
    bool joins_by_file = r->order.cgroup_version == 1;
    struct enter_args args = {
        .jail_pidfd = r->fds[0],
        .session_sock = r->fds[1],
        .cgroup_fds = r->fds + 2,
        .n_cgroup_fds = joins_by_file ? r->n_fds - 2 : 0,
        .limits = r->order.limits,
        .has_memory_limit = r->order.has_memory_limit,
        .filter = &filter,
    };
    const char *step = "";
    int errnum = jail_enter(&args, &step);
    if (errnum == 0)
        return;
    /* A frame like the driver's, so that the daemon learns why. The socket may already have its
     * new number. */
    char frame[512];
    int n = snprintf(frame + 4, sizeof(frame) - 4,
                     "{\"ev\":\"fatal\",\"message\":\"cannot enter the jail: %s: %s\"}", step,
                     strerror(-errnum));
    for (int i = 0; i < 4; i++)
        frame[i] = (char)((n >> (8 * i)) & 0xff);
    if (fd_write_all(r->fds[1], frame, (size_t)n + 4) < 0)
        fd_write_all(ENTER_SESSION_FD, frame, (size_t)n + 4);
    _exit(EXIT_NOT_ENTERED);
}

/* Returns 0 in the child, inside its jail; the child's pid or -errno in the zygote, whose own pid
 * namespace is back in place on every path: pointed at a jail it could not start a thread, and
 * forking into a dead one would fail for ever. */
static pid_t fork_into_jail(const struct fork_request *r, int own_pidfd)
{
    if (setns(r->fds[0], CLONE_NEWPID) < 0)
        return -errno;
    python.before_fork();
    pid_t pid = fork_as_sibling(r->order.cgroup_version == 2 ? r->fds[2] : -1);
    if (pid == 0) {
        enter_or_die(r);
        python.after_fork_child();
        return 0;
    }
    if (setns(own_pidfd, CLONE_NEWPID) < 0)
        abort(); /* the warden starts a new zygote */
    python.after_fork_parent();
    return pid;
}

static bool receive(int control, struct fork_request *r)
{
    r->n_fds = 0;
    ssize_t n = fd_recv(control, &r->order, sizeof(r->order), r->fds, FD_PASS_MAX, &r->n_fds);
    return n == (ssize_t)sizeof(r->order) && r->n_fds >= 2;
}

EXPORT int cella_zygote_serve(int control)
{
    int errnum = prepare();
    if (errnum < 0)
        return errnum;
    _fd_ int own_pidfd = pidfd_open(getpid(), 0);
    if (own_pidfd < 0)
        return -errno;
    zygote_gather_memory();
    struct fork_request request;
    while (receive(control, &request)) {
        pid_t pid = fork_into_jail(&request, own_pidfd);
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

EXPORT void cella_unbuffer_stdio(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stderr, NULL, _IONBF, 0);
}

EXPORT void cella_flush_stdio(void)
{
    fflush(NULL);
}
