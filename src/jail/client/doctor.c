/* What this machine can do, by doing each thing once in a child. Command line tool. */
#include "jail/client/doctor.h"

#include "base/err.h"
#include "base/fd.h"
#include "jail/inside/landlock.h"
#include "jail/seccomp.h"
#include "jail/syscalls.h"
#include "jail/warden.h"
#include "jail/warden/cgroup.h"
#include "jail/warden/idmap.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* ---- probes: each is run in a child and answers 0 or -errno --------------------------------- */

static int run_in_child(int (*probe)(void))
{
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(-probe() & 0xff);
    int status;
    if (waitpid(pid, &status, 0) < 0)
        return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static int try_namespaces(uint64_t flags)
{
    pid_t pid = sys_clone3(flags, SIGCHLD, NULL, -1);
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return pid;
    return waitpid(pid, NULL, 0) < 0 ? -errno : 0;
}

static int probe_user_namespace(void)
{
    return try_namespaces(CLONE_NEWUSER);
}

static int probe_other_namespaces(void)
{
    return try_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
                          CLONE_NEWUTS | CLONE_NEWCGROUP);
}

static int probe_seccomp(void)
{
    static struct seccomp_blob filter;
    struct err e;
    if (seccomp_compile(&filter, &e) < 0)
        return -EINVAL;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    int r = seccomp_install(&filter, false, NULL);
    if (r < 0)
        return r;
    /* Without anybody to ask, a call that is asked about does not exist. */
    return unshare(CLONE_NEWUTS) < 0 && (errno == EPERM || errno == ENOSYS) ? 0 : -ENOTSUP;
}

static int probe_tid_address(void)
{
    int *address = NULL;
    return prctl(PR_GET_TID_ADDRESS, &address, 0, 0, 0) < 0 ? -errno : 0;
}

/* ---- checks -------------------------------------------------------------------------------- */

static void explain(struct doctor_check *c, int r, const char *when_ok)
{
    c->is_ok = r == 0;
    snprintf(c->detail, sizeof(c->detail), "%s", r == 0 ? when_ok : strerror(-r));
}

static void check_kernel(struct doctor_check *c)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    uname(&name);
    sscanf(name.release, "%u.%u", &major, &minor);
    c->is_ok = major > 5 || (major == 5 && minor >= 14);
    snprintf(c->detail, sizeof(c->detail), "Linux %.100s", name.release);
}

static void check_user_namespaces(struct doctor_check *c)
{
    explain(c, run_in_child(probe_user_namespace), "can be made");
}

static void check_other_namespaces(struct doctor_check *c)
{
    explain(c, run_in_child(probe_other_namespaces), "pid, mount, network, ipc, uts, cgroup");
}

static void check_seccomp(struct doctor_check *c)
{
    explain(c, run_in_child(probe_seccomp), "the filter loads and refuses");
}

static void check_tid_address(struct doctor_check *c)
{
    explain(c, run_in_child(probe_tid_address), "available");
}

static void check_landlock(struct doctor_check *c)
{
    int abi = landlock_abi();
    c->is_ok = abi > 0;
    snprintf(c->detail, sizeof(c->detail), abi > 0 ? "ABI %d" : "not in this kernel", abi);
}

static int do_nothing(void *context)
{
    (void)context;
    return 0;
}

static void check_ids(struct doctor_check *c)
{
    struct err e = {0};
    c->is_ok = geteuid() == 0 || idmap_run(do_nothing, NULL, &e) == 0;
    if (c->is_ok)
        snprintf(c->detail, sizeof(c->detail), "every session has a uid of its own");
    else
        snprintf(c->detail, sizeof(c->detail), "all sessions are your own user: %.110s", e.message);
}

static void check_cgroup(struct doctor_check *c, enum cgroup_controller controller)
{
    struct cgroup_parent parent;
    cgroup_parent_make(&parent, geteuid());
    c->is_ok = parent.has[controller];
    if (c->is_ok)
        snprintf(c->detail, sizeof(c->detail), "cgroup v%d", parent.version);
    else
        snprintf(c->detail, sizeof(c->detail), "no cgroup that we may write to");
    cgroup_parent_remove(&parent);
}

static void check_memory(struct doctor_check *c)
{
    check_cgroup(c, CGROUP_MEMORY);
}

static void check_pids(struct doctor_check *c)
{
    check_cgroup(c, CGROUP_PIDS);
}

static void check_cpu(struct doctor_check *c)
{
    check_cgroup(c, CGROUP_CPU);
}

/* The proof: a warden with its image, exactly as the daemon starts it; it makes a jail before it
 * says that it is up. */
static void check_jail(struct doctor_check *c)
{
    const char *folder = getenv("TMPDIR");
    char directory[PATH_MAX];
    snprintf(directory, sizeof(directory), "%s/cella-doctor-XXXXXX", folder ? folder : "/tmp");
    struct err e = {0};
    struct warden *warden = NULL;
    if (mkdtemp(directory) == NULL) {
        explain(c, -errno, "");
        return;
    }
    struct warden_config config = {.data_dir = directory};
    c->is_ok = warden_start(&config, &warden, &e) == 0;
    snprintf(c->detail, sizeof(c->detail), "%.*s", (int)sizeof(c->detail) - 1,
             c->is_ok ? "built and taken down" : e.message);
    warden_free(warden);
    static const char *const made[] = {"workspaces", "blobs"};
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        char path[sizeof(directory) + 16];
        snprintf(path, sizeof(path), "%s/%s", directory, made[i]);
        rmdir(path);
    }
    rmdir(directory);
}

static const struct {
    struct doctor_check facts;
    void (*run)(struct doctor_check *c);
} checks[] = {
    {{.name = "kernel",
      .is_required = true,
      .why = "the sandbox uses system calls up to those of Linux 5.14",
      .fix = "use Linux 5.14 or newer"},
     check_kernel},
    {{.name = "user namespaces",
      .is_required = true,
      .why = "no process of a session, and no Python of ours, is ever root on the host",
      .fix =
          "sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1; on Ubuntu "
          "also kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile with "
          "`userns,`; in a container allow clone and unshare"},
     check_user_namespaces},
    {{.name = "other namespaces",
      .is_required = true,
      .why = "a session sees no process, file, network or memory segment but its own",
      .fix = "check user.max_*_namespaces in sysctl; in a container allow clone and unshare"},
     check_other_namespaces},
    {{.name = "seccomp",
      .is_required = true,
      .why = "a session reaches only the system calls that programs need",
      .fix = "use a kernel with CONFIG_SECCOMP_FILTER"},
     check_seccomp},
    {{.name = "fork by zygote",
      .is_required = true,
      .why = "sessions start by a fork whose child belongs to the warden",
      .fix = "use a kernel with CONFIG_CHECKPOINT_RESTORE (distributions' kernels have it)"},
     check_tid_address},
    {{.name = "whole jail",
      .is_required = true,
      .why = "the only proof that the parts work together here",
      .fix = "see the message; in a container run with an unmasked /proc"},
     check_jail},
    {{.name = "Landlock",
      .why = "a second wall around files, and one around abstract sockets and signals",
      .fix = "boot with lsm=landlock,... on a kernel from 5.13 on"},
     check_landlock},
    {{.name = "own user ids",
      .why = "should a session break out of its namespaces, it is still nobody; and what the "
             "kernel counts for each user, none uses up for the others",
      .fix = "install newuidmap and newgidmap (package uidmap) and have root give you ids: usermod "
             "--add-subuids 200000-265535 --add-subgids 200000-265535 YOU (a range that nobody "
             "has in /etc/subuid and /etc/subgid); or run the daemon as root, which it drops "
             "itself"},
     check_ids},
    {{.name = "memory limit",
      .why =
          "with a cgroup a session's processes share one limit; without, each process has its own",
      .fix = "run as root, or give the user a cgroup: systemd-run --user --scope -p Delegate=yes"},
     check_memory},
    {{.name = "process limit",
      .why =
          "with a cgroup it is exact; without, the kernel counts processes of the user namespace",
      .fix = "run as root, or give the user a cgroup: systemd-run --user --scope -p Delegate=yes"},
     check_pids},
    {{.name = "cpu limit",
      .why = "without it a busy session competes with others like any process",
      .fix = "run as root, or give the user a cgroup: systemd-run --user --scope -p Delegate=yes"},
     check_cpu},
};

size_t doctor_run(struct doctor_check *out, size_t max)
{
    size_t n = MIN(max, ARRAY_LEN(checks));
    for (size_t i = 0; i < n; i++) {
        out[i] = checks[i].facts;
        checks[i].run(&out[i]);
        if (out[i].is_ok)
            out[i].fix = "";
    }
    return n;
}
