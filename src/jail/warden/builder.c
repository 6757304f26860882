/* How a jail is built from inside. Runs in a jail's pid 1, before that becomes init. */
#include "jail/warden/builder.h"

#include "base/fd.h"
#include "jail/inside/capabilities.h"
#include "jail/inside/enter.h"
#include "jail/inside/room.h"
#include "jail/syscalls.h"
#include "jail/warden/facts.h"
#include "jail/warden/image.h"
#include "jail/warden/watches.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

static int await_ids(const struct builder_args *a)
{
    char go;
    return read(a->sync, &go, 1) == 1 ? 0 : -EPIPE;
}

/* While still the warden's uid: cgroup v1 lets only the file's opener's own uid in. */
static int builder_join_cgroup(const struct builder_args *a)
{
    for (size_t i = 0; a->joins_by_file && i < a->cgroup->n_join_fds; i++)
        if (write(a->cgroup->join_fds[i], "0", 1) != 1)
            return -errno;
    /* Only now: a cgroup namespace begins where its maker is. */
    return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

/* Capabilities stay: uid 0 is not mapped here, so this is no step down from root. It must come
 * before the first file is made, because the warden's own uid has no name in this namespace. */
static int take_ids(const struct builder_args *a)
{
    (void)a;
    if (setresgid(JAIL_GID, JAIL_GID, JAIL_GID) < 0 || setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
        return -errno;
    return 0;
}

static int mount_tree(const struct builder_args *a)
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
        /* Of its own, whatever the others have: no terminal of another session or of the host is in
         * it. All sessions together may have what the host does not reserve, three thousand. */
        {"devpts", IMAGE_ROOT "/dev/pts", "devpts", "ptmxmode=0666,mode=0620,max=32",
         MS_NOSUID | MS_NOEXEC},
    };
    for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
        if (mount(mounts[i].source, mounts[i].target, mounts[i].type, mounts[i].flags,
                  mounts[i].options) < 0)
            return -errno;
    return facts_mount(a->facts); /* /proc and what it says */
}

static int limit_watches(const struct builder_args *a)
{
    (void)a;
    return watches_limit_jail();
}

static int change_root(const struct builder_args *a)
{
    (void)a;
    return image_become_root();
}

static int bring_up_network(const struct builder_args *a)
{
    (void)a;
    _fd_ int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &lo) < 0)
        return -errno;
    return sethostname("cella", 5) < 0 ? -errno : 0;
}

static int harden(const struct builder_args *a)
{
    signal(SIGCHLD, SIG_IGN); /* orphans are reaped by the kernel */
    int r = jail_drop_capabilities();
    return r == 0 ? seccomp_install(a->filter, false, NULL) : r;
}

void builder_say(int sync, const struct builder_report *report, const int *fds, size_t n_fds)
{
    if (fd_send(sync, report, sizeof(*report), fds, n_fds) < 0)
        _exit(1);
}

struct kept {
    int fds[FD_PASS_MAX];
    size_t n;
};

static int keep(struct kept *k, int fd)
{
    if (fd < 0)
        return -errno;
    k->fds[k->n++] = fd;
    return 0;
}

/* What goes along with the report; taken when everything is mounted and the filter not yet in
 * force.
 */
static int builder_take_descriptors(const struct builder_args *a, struct kept *ret)
{
    int r = keep(ret, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (r == 0 && a->is_room)
        r = keep(ret, pidfd_open(getpid(), 0));
    for (size_t i = 0; r == 0 && a->is_room && i < ROOM_NAMESPACES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/proc/self/ns/%s", room_namespaces[i]);
        r = keep(ret, open(path, O_RDONLY | O_CLOEXEC));
    }
    for (size_t i = 0; r == 0 && a->is_room && i < a->n_guest_fds; i++)
        r = keep(ret, a->guest_fds[i]);
    return r;
}

static int builder_build(const struct builder_args *a, struct kept *ret_kept, const char **ret_step)
{
    static const struct {
        const char *name;
        int (*run)(const struct builder_args *);
    } steps[] = {
        {"wait for the id maps", await_ids},         {"join the cgroup", builder_join_cgroup},
        {"take the jail's ids", take_ids},           {"mount the file tree", mount_tree},
        {"limit watches of files", limit_watches},   {"change the root", change_root},
        {"bring up the loopback", bring_up_network}, {"drop privileges", harden},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++) {
        *ret_step = steps[i].name;
        if (i + 1 == ARRAY_LEN(steps))
            r = builder_take_descriptors(a, ret_kept);
        if (r == 0)
            r = steps[i].run(a);
    }
    return r;
}

_Noreturn void builder_main(const struct builder_args *a)
{
    struct kept kept = {.n = 0};
    const char *step = "";
    struct builder_report report = {.errnum = -builder_build(a, &kept, &step)};
    snprintf(report.step, sizeof(report.step), "%s", step);
    builder_say(a->sync, &report, kept.fds, report.errnum == 0 ? kept.n : 0);
    if (report.errnum != 0)
        _exit(1);
    /* Every descriptor of ours is close-on-exec, the sync socket too: its end tells the warden that
     * pid 1 has become a program that holds nothing. */
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    execve(JAIL_LIB "/init", (char *[]){"init", NULL}, (char *[]){NULL});
    builder_say(a->sync, &(struct builder_report){.errnum = errno, .step = "start init"}, NULL, 0);
    _exit(1);
}
