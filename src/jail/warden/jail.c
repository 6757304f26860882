/* One jail: made, told its limits, killed, freed. Warden; owns its init, cgroup and page. */
#include "jail/warden/jail.h"

#include "base/fd.h"
#include "jail/inside/enter.h"
#include "jail/syscalls.h"
#include "jail/warden/builder.h"
#include "jail/warden/image.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define JAIL_NAMESPACES                                                                            \
    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

enum { MAKE_TIMEOUT_MS = 5000, GIVE_DESCRIPTORS = 64 };

static int write_map(pid_t pid, const char *file, unsigned outer)
{
    char path[64], text[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    snprintf(text, sizeof(text), "%d %u 1\n", JAIL_UID, outer);
    return fd_write_file(AT_FDCWD, path, text);
}

unsigned jail_outer_id(const struct jail_factory *f, const struct jail *j)
{
    return f->has_id_range ? JAIL_UID + j->user_slot : 0;
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

int jail_give_workspace(const struct jail_factory *factory, const char *name, uint32_t slot)
{
    return factory->has_id_range ? give_all(name, JAIL_UID + slot) : 0;
}

static int make_workspace(const struct jail_factory *f, const char *name, unsigned owner)
{
    struct stat st;
    bool is_new = mkdirat(f->workspaces, name, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return -errno;
    if (fstatat(f->workspaces, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    if (st.st_uid == owner)
        return 0;
    /* An empty one is made anew: its owner may be an id that we had once, and cannot give from. */
    if (!is_new && unlinkat(f->workspaces, name, AT_REMOVEDIR) == 0 &&
        mkdirat(f->workspaces, name, 0700) < 0)
        return -errno;
    return give_all(name, owner);
}

static int start_init(const struct jail_factory *f, struct jail *j, int sync[2], struct err *e)
{
    struct builder_args args = {
        .sync = sync[1],
        .cgroup = &j->cgroup,
        .joins_by_file = f->cgroups.version == 1,
        .workspace = j->workspace,
        .facts = j->facts,
        .filter = f->filter,
    };
    int cgroup_fd = f->cgroups.version == 2 ? j->cgroup.join_fds[0] : -1;
    pid_t pid = sys_clone3(JAIL_NAMESPACES, SIGCHLD, &j->init_pidfd, cgroup_fd);
    if (pid == 0)
        builder_main(&args);
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, pid, "cannot make the namespaces of a jail");
    j->init_pid = pid;
    unsigned outer = jail_outer_id(f, j);
    int r = write_map(pid, "uid_map", outer);
    if (r == 0)
        r = write_map(pid, "gid_map", outer);
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot map the jail's user");
    return 0;
}

static int await_init(struct jail *j, int sync, struct err *e)
{
    struct builder_report report = {0};
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
    jail_discard(f, j);
}

void jail_discard(const struct jail_factory *factory, struct jail *j)
{
    unlinkat(factory->workspaces, j->workspace, AT_REMOVEDIR); /* if nothing is in it */
    jail_free(factory, j);
}

int jail_new(const struct jail_factory *factory, struct jail *source, uint64_t id, uint32_t slot,
             const char *workspace, const struct jail_limits *limits, struct jail **ret,
             struct err *e)
{
    struct jail *j = mem_alloc(sizeof(*j));
    *j = (struct jail){
        .id = id, .slot = slot, .limits = *limits, .facts = -1, .init_pidfd = -1, .proc_fd = -1};
    j->user_slot = source != NULL ? source->user_slot : slot;
    list_init(&j->link);
    list_init(&j->inmates);
    list_init(&j->expected);
    snprintf(j->workspace, sizeof(j->workspace), "%s", workspace);
    int r = make_workspace(factory, workspace, jail_outer_id(factory, j));
    if (r < 0)
        err_errno(e, ERR_UNAVAILABLE, r, "cannot make the workspace");
    if (r == 0 && (r = j->facts = facts_take(factory->facts, limits)) < 0)
        err_errno(e, ERR_UNAVAILABLE, r, "cannot write what the session is told of its machine");
    r = MIN(r, 0);
    char group[32];
    snprintf(group, sizeof(group), "jail-%u", slot);
    if (r == 0)
        r = cgroup_make(&factory->cgroups, group, limits, &j->cgroup, e);
    if (r < 0) {
        jail_discard(factory, j);
        return -1;
    }
    *ret = j;
    return 0;
}

int jail_make(const struct jail_factory *factory, uint64_t id, uint32_t slot, const char *workspace,
              const struct jail_limits *limits, struct jail **ret, struct err *e)
{
    struct jail *j;
    if (jail_new(factory, NULL, id, slot, workspace, limits, &j, e) < 0)
        return -1;
    int sync[2] = {-1, -1};
    int r = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sync) < 0)
        r = err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a socket");
    _fd_ int outer_sync = sync[0];
    _fd_ int inner_sync = sync[1];
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
    if (!cgroup_remove(&factory->cgroups, &j->cgroup) && factory->on_busy_group != NULL)
        factory->on_busy_group(&j->cgroup);
    facts_give(factory->facts, j->facts);
    if (j->init_pidfd >= 0)
        close(j->init_pidfd);
    if (j->proc_fd >= 0)
        close(j->proc_fd);
    list_remove(&j->link);
    free(j);
}
