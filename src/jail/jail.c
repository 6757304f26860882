#include "jail/jail.h"

#include "base/fd.h"
#include "jail/enter.h"
#include "jail/image.h"
#include "jail/syscalls.h"

#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define JAIL_NAMESPACES                                                                            \
    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

enum { MAKE_TIMEOUT_MS = 5000, GIVE_DESCRIPTORS = 64 };

/* ---- inside: what becomes pid 1 ------------------------------------------------------------- */

struct init_args {
    int sync; /* "go" comes in, init_report goes out */
    const struct cgroup *cgroup;
    bool joins_by_file;
    const char *workspace;
    const struct seccomp_blob *filter;
};

struct init_report {
    int32_t errnum;
    char step[60];
};

static int init_await_ids(const struct init_args *a)
{
    char go;
    return read(a->sync, &go, 1) == 1 ? 0 : -EPIPE;
}

/* While still the warden's uid: cgroup v1 lets only the file's opener's own uid in. */
static int init_join_cgroup(const struct init_args *a)
{
    for (size_t i = 0; a->joins_by_file && i < a->cgroup->n_join_fds; i++)
        if (write(a->cgroup->join_fds[i], "0", 1) != 1)
            return -errno;
    /* Only now: a cgroup namespace begins where its maker is. */
    return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

/* Capabilities stay: uid 0 is not mapped here, so this is no step down from root. It must come
 * before the first file is made, because the warden's own uid has no name in this namespace. */
static int init_take_ids(const struct init_args *a)
{
    (void)a;
    if (setresgid(JAIL_GID, JAIL_GID, JAIL_GID) < 0 || setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
        return -errno;
    return 0;
}

static int init_mount(const struct init_args *a)
{
    char workspace[WORKSPACE_NAME_MAX + sizeof(IMAGE_WORKSPACES) + 1];
    snprintf(workspace, sizeof(workspace), IMAGE_WORKSPACES "/%s", a->workspace);
    const unsigned long plain = MS_NOSUID | MS_NODEV;
    const struct {
        const char *source, *target, *type, *options;
        unsigned long flags;
    } mounts[] = {
        /* Mounts inherited from a more privileged namespace are locked in place, and a locked one
         * cannot become the root; a copy of the tree can. */
        {IMAGE_ROOT, IMAGE_ROOT, NULL, NULL, MS_BIND | MS_REC},
        {workspace, IMAGE_ROOT JAIL_WORKSPACE, NULL, NULL, MS_BIND},
        {"tmp", IMAGE_ROOT "/tmp", "tmpfs", "mode=1777,size=256m,nr_inodes=64k", plain},
        {"shm", IMAGE_ROOT "/dev/shm", "tmpfs", "mode=1777,size=64m,nr_inodes=4k", plain},
        {"proc", IMAGE_ROOT "/proc", "proc", "subset=pid,hidepid=invisible", plain | MS_NOEXEC},
    };
    for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
        if (mount(mounts[i].source, mounts[i].target, mounts[i].type, mounts[i].flags,
                  mounts[i].options) < 0)
            return -errno;
    return 0;
}

/* pivot_root onto itself stacks the old root below the new one, where one umount finds it: no
 * directory of the image is needed to hold it. */
static int init_change_root(const struct init_args *a)
{
    (void)a;
    if (chdir(IMAGE_ROOT) < 0)
        return -errno;
    int r = sys_pivot_root(".", ".");
    if (r < 0)
        return r;
    return umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ? -errno : 0;
}

static int init_network(const struct init_args *a)
{
    (void)a;
    _fd_ int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &lo) < 0)
        return -errno;
    return sethostname("cella", 5) < 0 ? -errno : 0;
}

static int init_harden(const struct init_args *a)
{
    signal(SIGCHLD, SIG_IGN); /* orphans are reaped by the kernel */
    int r = jail_drop_capabilities();
    return r == 0 ? seccomp_install(a->filter, NULL) : r;
}

/* The report carries the jail's /proc, by which the keeper counts what still runs in here. */
static void init_say(int sync, const struct init_report *report, int proc_fd)
{
    if (fd_send(sync, report, sizeof(*report), &proc_fd, proc_fd >= 0 ? 1 : 0) < 0)
        _exit(1);
}

static _Noreturn void init_main(const struct init_args *a)
{
    static const struct {
        const char *name;
        int (*run)(const struct init_args *);
    } steps[] = {
        {"wait for the id maps", init_await_ids}, {"join the cgroup", init_join_cgroup},
        {"take the jail's ids", init_take_ids},   {"mount the file tree", init_mount},
        {"change the root", init_change_root},    {"bring up the loopback", init_network},
        {"drop privileges", init_harden},
    };
    struct init_report report = {0};
    int proc_fd = -1;
    for (size_t i = 0; report.errnum == 0 && i < ARRAY_LEN(steps); i++) {
        report.errnum = -steps[i].run(a);
        snprintf(report.step, sizeof(report.step), "%s", steps[i].name);
        if (i + 2 == ARRAY_LEN(steps)) /* everything is mounted and the filter not yet in force */
            proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    init_say(a->sync, &report, proc_fd);
    if (report.errnum != 0)
        _exit(1);
    /* Every descriptor of ours is close-on-exec, the sync socket too: its end tells the warden that
     * pid 1 has become a program that holds nothing. */
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    execve(JAIL_LIB "/init", (char *[]){"init", NULL}, (char *[]){NULL});
    init_say(a->sync, &(struct init_report){.errnum = errno, .step = "start init"}, -1);
    _exit(1);
}

/* ---- outside: the warden ------------------------------------------------------------------- */

static int write_map(pid_t pid, const char *file, unsigned outer)
{
    char path[64], text[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    snprintf(text, sizeof(text), "%d %u 1\n", JAIL_UID, outer);
    return fd_write_file(AT_FDCWD, path, text);
}

/* The jail's user as the warden's namespace numbers it. */
static unsigned outer_id(const struct jail_factory *f, uint32_t slot)
{
    return f->has_id_range ? JAIL_UID + slot : 0;
}

uint32_t jail_slot_of(const struct jail_factory *f, unsigned owner)
{
    return f->has_id_range && owner >= JAIL_UID ? owner - JAIL_UID : UINT32_MAX;
}

static unsigned new_owner; /* nftw has no context */

static int give_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)type;
    (void)at;
    return st->st_uid != new_owner && lchown(path, new_owner, new_owner) < 0 ? -1 : 0;
}

/* All that a jail of another slot left in a workspace. Nobody lives in it now, so paths are what
 * they seem. */
static int give_all(const char *name, unsigned owner)
{
    char path[WORKSPACE_NAME_MAX + sizeof(IMAGE_WORKSPACES) + 1];
    snprintf(path, sizeof(path), IMAGE_WORKSPACES "/%s", name);
    new_owner = owner;
    return nftw(path, give_one, GIVE_DESCRIPTORS, FTW_PHYS) != 0 ? -errno : 0;
}

static int make_workspace(const struct jail_factory *f, const char *name, unsigned owner)
{
    struct stat st;
    if (mkdirat(f->workspaces, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (fstatat(f->workspaces, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    if (st.st_uid == owner)
        return 0;
    return give_all(name, owner);
}

static int start_init(const struct jail_factory *f, struct jail *j, int sync[2], struct err *e)
{
    struct init_args args = {
        .sync = sync[1],
        .cgroup = &j->cgroup,
        .joins_by_file = f->cgroups.version == 1,
        .workspace = j->workspace,
        .filter = f->filter,
    };
    int cgroup_fd = f->cgroups.version == 2 ? j->cgroup.join_fds[0] : -1;
    pid_t pid = sys_clone3(JAIL_NAMESPACES, SIGCHLD, &j->init_pidfd, cgroup_fd);
    if (pid == 0)
        init_main(&args);
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, pid, "cannot make the namespaces of a jail");
    j->init_pid = pid;
    unsigned outer = outer_id(f, j->slot);
    int r = write_map(pid, "uid_map", outer);
    if (r == 0)
        r = write_map(pid, "gid_map", outer);
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot map the jail's user");
    return 0;
}

static int await_init(struct jail *j, int sync, struct err *e)
{
    struct init_report report = {0};
    struct pollfd wait = {.fd = sync, .events = POLLIN};
    ssize_t n = write(sync, "g", 1);
    while (n > 0 && report.errnum == 0) {
        n = poll(&wait, 1, MAKE_TIMEOUT_MS) == 1 ? 0 : -ETIMEDOUT;
        if (n == 0)
            n = fd_recv(sync, &report, sizeof(report), &j->proc_fd, j->proc_fd < 0, NULL);
    }
    report.step[sizeof(report.step) - 1] = '\0';
    if (report.errnum != 0)
        return err_errno(e, ERR_UNAVAILABLE, report.errnum, "cannot build a jail: %s", report.step);
    if (n < 0 || report.step[0] == '\0')
        return err_set(e, ERR_UNAVAILABLE, "the jail's init did not answer");
    return 0;
}

/* A jail that nobody enters: its init is ours to reap here, before the loop can see it. */
static void discard(const struct jail_factory *f, struct jail *j)
{
    if (j->init_pid > 0) {
        kill(j->init_pid, SIGKILL);
        waitpid(j->init_pid, NULL, 0);
        j->init_pid = 0;
    }
    unlinkat(f->workspaces, j->workspace, AT_REMOVEDIR);
    jail_free(f, j);
}

int jail_make(const struct jail_factory *factory, uint64_t id, uint32_t slot, const char *workspace,
              const struct jail_limits *limits, struct jail **ret, struct err *e)
{
    struct jail *j = mem_alloc(sizeof(*j));
    *j = (struct jail){.id = id, .slot = slot, .limits = *limits, .init_pidfd = -1, .proc_fd = -1};
    list_init(&j->link);
    list_init(&j->inmates);
    snprintf(j->workspace, sizeof(j->workspace), "%s", workspace);
    _fd_ int outer_sync = -1;
    _fd_ int inner_sync = -1;
    int sync[2] = {-1, -1};
    int r = make_workspace(factory, workspace, outer_id(factory, slot));
    if (r < 0)
        err_errno(e, ERR_UNAVAILABLE, r, "cannot make the workspace");
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sync) < 0)
        r = err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a socket");
    outer_sync = sync[0];
    inner_sync = sync[1];
    char group[32];
    snprintf(group, sizeof(group), "jail-%u", slot);
    if (r == 0)
        r = cgroup_make(&factory->cgroups, group, limits, &j->cgroup, e);
    if (r == 0)
        r = start_init(factory, j, sync, e);
    if (r == 0) {
        close(take_fd(&inner_sync)); /* or its end would never be seen */
        r = await_init(j, outer_sync, e);
    }
    if (r < 0) {
        discard(factory, j);
        return -1;
    }
    *ret = j;
    return 0;
}

int jail_try(const struct jail_factory *factory, struct err *e)
{
    struct jail *j;
    if (jail_make(factory, 0, 0, ".try", &JAIL_LIMITS_DEFAULT, &j, e) < 0)
        return -1;
    discard(factory, j);
    return 0;
}

void jail_kill(struct jail *j)
{
    /* The kernel takes every process of the pid namespace along with its init. */
    if (j->init_pid > 0)
        pidfd_send_signal(j->init_pidfd, SIGKILL, NULL, 0);
}

void jail_free(const struct jail_factory *factory, struct jail *j)
{
    if (j == NULL)
        return;
    cgroup_remove(&factory->cgroups, &j->cgroup);
    if (j->init_pidfd >= 0)
        close(j->init_pidfd);
    if (j->proc_fd >= 0)
        close(j->proc_fd);
    list_remove(&j->link);
    free(j);
}
