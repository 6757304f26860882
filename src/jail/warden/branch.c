/* Rooms below jails: built by a child that steps into the jail. Warden; owns those being built. */
#include "jail/warden/branch.h"

#include "base/clock.h"
#include "jail/inside/enter.h"
#include "jail/inside/room.h"
#include "jail/syscalls.h"
#include "jail/warden/builder.h"
#include "jail/witness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define ROOM_NAMESPACE_FLAGS                                                                       \
    (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* ---- below: three processes, each one step deeper ------------------------------------------- */

struct digger {
    const struct jail_factory *factory;
    const struct jail *source;
    const struct jail *room;
    int sync;
    int doors[CGROUP_CONTROLLERS]; /* of the room's cgroup */
    size_t n_doors;
};

static int open_doors(struct digger *d, int version)
{
    if (d->factory->cgroups.version != version)
        return 0;
    int n = cgroup_open_doors(&d->factory->cgroups, &d->room->cgroup, d->doors);
    d->n_doors = (size_t)MAX(n, 0);
    return MIN(n, 0);
}

/* While still the warden's user; in v2 the process was born in the group. */
static int branch_join_cgroup(struct digger *d)
{
    const struct cgroup *g = &d->room->cgroup;
    for (size_t i = 0; d->factory->cgroups.version == 1 && i < g->n_join_fds; i++)
        if (write(g->join_fds[i], "0", 1) != 1)
            return -errno;
    return open_doors(d, 2);
}

/* Its pid namespace is for children: this process stays above, out of sight. */
static int join_source(struct digger *d)
{
    return setns(d->source->init_pidfd, CLONE_NEWUSER | CLONE_NEWPID) < 0 ? -errno : 0;
}

static int become_its_user(struct digger *d)
{
    if (setresgid(JAIL_GID, JAIL_GID, JAIL_GID) < 0 || setresuid(JAIL_UID, JAIL_UID, JAIL_UID) < 0)
        return -errno;
    return open_doors(d, 1);
}

/* Owned by the jail's user, which is what lets its processes in. They may map their own id without
 * being asked for a privilege, but only who can be dumped may open these files. */
static int make_user_namespace(struct digger *d)
{
    (void)d;
    char map[32];
    snprintf(map, sizeof(map), "%d %d 1\n", JAIL_UID, JAIL_UID);
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare(CLONE_NEWUSER) < 0)
        return -errno;
    int r = fd_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
    if (r == 0)
        r = fd_write_file(AT_FDCWD, "/proc/self/uid_map", map);
    if (r == 0)
        r = fd_write_file(AT_FDCWD, "/proc/self/gid_map", map);
    return r;
}

/* From here on those in the source can see us: our memory is a copy of the warden's, and we have
 * its descriptors. Its executable belongs to a namespace above theirs, so nothing of theirs
 * overrules this. */
static int branch_hide(struct digger *d)
{
    (void)d;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* A pid namespace is made below the one that its maker lives in, so first one of us moves down; and
 * all are the warden's children, who reaps the room's init as it reaps every other. */
static int go_down(struct digger *d)
{
    (void)d;
    pid_t pid = sys_clone3(CLONE_PARENT, 0, NULL, -1);
    if (pid > 0)
        _exit(0);
    return pid;
}

static int make_namespaces(struct digger *d)
{
    (void)d;
    pid_t pid = sys_clone3(CLONE_PARENT | ROOM_NAMESPACE_FLAGS, 0, NULL, -1);
    if (pid > 0)
        _exit(0);
    return pid;
}

static _Noreturn void dig(struct digger *d)
{
    static const struct {
        const char *name;
        int (*run)(struct digger *);
    } steps[] = {
        {"join the cgroup", branch_join_cgroup},  {"enter the source's namespaces", join_source},
        {"become its user", become_its_user},     {"make a user namespace", make_user_namespace},
        {"hide from those inside", branch_hide},  {"go down", go_down},
        {"make the namespaces", make_namespaces},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct builder_report report = {.errnum = -steps[i].run(d)};
        if (report.errnum == 0)
            continue;
        snprintf(report.step, sizeof(report.step), "%s", steps[i].name);
        builder_say(d->sync, &report, NULL, 0);
        _exit(1);
    }
    builder_main(&(struct builder_args){
        .sync = d->sync,
        .cgroup = &d->room->cgroup,
        .workspace = d->room->workspace,
        .facts = d->room->facts,
        .filter = d->factory->filter,
        .is_room = true,
        .guest_fds = d->doors,
        .n_guest_fds = d->n_doors,
    });
}

/* ---- above: the warden ---------------------------------------------------------------------- */

static int start_digger(const struct jail_factory *f, const struct jail *source,
                        struct branch_making *m, struct err *e)
{
    int sync[2];
    int r = cgroup_let_in(&f->cgroups, &m->jail->cgroup, jail_outer_id(f, m->jail));
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot open the room's cgroup to its user");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sync) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a socket");
    m->sync = sync[0];
    int group = f->cgroups.version == 2 ? m->jail->cgroup.join_fds[0] : -1;
    pid_t pid = sys_clone3(0, SIGCHLD, &m->builder, group);
    if (pid == 0) {
        struct digger d = {.factory = f, .source = source, .room = m->jail, .sync = sync[1]};
        close(sync[0]);
        dig(&d);
    }
    close(sync[1]);
    cgroup_close_join_fds(&m->jail->cgroup);
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, pid, "cannot fork");
    /* Nobody has to map its ids, so it need not wait. */
    return write(m->sync, "g", 1) == 1 ? 0 : err_set(e, ERR_UNAVAILABLE, "the builder ended");
}

int branch_begin(const struct jail_factory *factory, struct jail *source, uint64_t id,
                 uint32_t slot, const char *workspace, const struct jail_limits *limits,
                 struct branch_making **ret, struct err *e)
{
    struct jail *j;
    if (source->depth >= BRANCH_DEPTH_MAX) {
        err_set(e, ERR_LIMIT, "branches of branches end %d deep", BRANCH_DEPTH_MAX);
        return err_advise(e, "branch a session further up");
    }
    if (jail_new(factory, source, id, slot, workspace, limits, &j, e) < 0)
        return -1;
    struct branch_making *m = mem_alloc(sizeof(*m));
    *m = (struct branch_making){
        .jail = j, .sync = -1, .builder = -1, .until_ms = clock_mono_ms() + BRANCH_MAKE_MS};
    list_init(&m->link);
    if (start_digger(factory, source, m, e) < 0) {
        branch_free(m);
        jail_discard(factory, j);
        return -1;
    }
    j->is_being_built = true;
    j->source = source;
    j->depth = source->depth + 1;
    source->n_rooms++;
    *ret = m;
    return 0;
}

static int take_report(struct branch_making *m, const struct builder_report *report, const int *fds,
                       size_t n_fds, struct err *e)
{
    enum { PROC, INIT, REST };
    if (report->errnum != 0)
        return err_errno(e, ERR_UNAVAILABLE, report->errnum, "cannot build a room: %s",
                         report->step);
    if (m->is_reported || n_fds < REST + ROOM_NAMESPACES)
        return err_set(e, ERR_UNAVAILABLE, "cannot build a room: descriptors are missing");
    m->is_reported = true;
    m->jail->proc_fd = fds[PROC];
    m->jail->init_pidfd = fds[INIT];
    m->jail->init_pid = witness_pid(fds[INIT]);
    m->n_fds = n_fds - REST;
    memcpy(m->fds, fds + REST, m->n_fds * sizeof(int));
    if (m->jail->init_pid <= 0)
        return err_set(e, ERR_UNAVAILABLE, "the room's init has ended");
    return 0;
}

int branch_read(struct branch_making *m, struct err *e)
{
    struct builder_report report = {0};
    int fds[FD_PASS_MAX];
    size_t n_fds = 0;
    ssize_t n = fd_recv(m->sync, &report, sizeof(report), fds, FD_PASS_MAX, &n_fds);
    if (n == -EAGAIN || n == -EINTR)
        return 0;
    if (n <= 0)
        return m->is_reported ? 1 : err_set(e, ERR_UNAVAILABLE, "whoever built the room was ended");
    report.step[sizeof(report.step) - 1] = '\0';
    bool was_reported = m->is_reported;
    int r = take_report(m, &report, fds, n_fds, e);
    for (size_t i = 0; was_reported == m->is_reported && i < n_fds; i++)
        close(fds[i]); /* they were not taken */
    return r;
}

int branch_make_key(struct branch_making *m)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ssize_t n = fd_send(pair[0], "r", 1, m->fds, m->n_fds);
    close(pair[0]); /* what was sent stays */
    if (n == 1)
        return pair[1];
    close(pair[1]);
    return n < 0 ? (int)n : -EMSGSIZE;
}

void branch_free(struct branch_making *m)
{
    list_remove(&m->link);
    if (m->sync >= 0)
        close(m->sync);
    if (m->builder >= 0) {
        pidfd_send_signal(m->builder, SIGKILL, NULL, 0); /* it has ended, if all went well */
        close(m->builder);
    }
    for (size_t i = 0; i < m->n_fds; i++)
        close(m->fds[i]);
    free(m);
}
