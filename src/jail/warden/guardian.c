/* The guardian's process: makes the warden, outlives it, removes what it leaves. Owns the cgroups
 * and the ids. */
#include "jail/warden/guardian.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "jail/message.h"
#include "jail/syscalls.h"
#include "jail/warden/cgroup.h"
#include "jail/warden/idmap.h"
#include "jail/warden/image.h"
#include "jail/warden/warden_main.h"
#include "jail/warden/watches.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define WARDEN_NAMESPACES                                                                          \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

enum {
    CONTROL_FD = 3,
    LIFELINE_FD = 4,
    LIFTED_FD = 16, /* above those */
    ORDERLY_END_MS = 2000,
    ENDS_MAX = 4,               /* of wardens that are followed by another, */
    ENDS_WITHIN_MS = 60 * 1000, /* in this time */
    DESCRIPTORS_WANTED = 262144,
    TRIAL_MS = 5000 /* of a warden with ids that the system gave to the user */
};

/* ---- the child that becomes the warden ----------------------------------------------------- */

static _Noreturn void report_failure(const struct err *e)
{
    char message[sizeof(struct report) + sizeof(e->message) + sizeof(e->advice) + 4];
    int n = snprintf(message + sizeof(struct report), sizeof(message) - sizeof(struct report),
                     "%s%s%s", e->message, e->advice[0] ? "; " : "", e->advice);
    struct report report = {.type = REPORT_FAILED, .text_len = (uint32_t)n};
    memcpy(message, &report, sizeof(report));
    fd_send(CONTROL_FD, message, sizeof(report) + (size_t)n, NULL, 0);
    _exit(1);
}

/* Root of the new user namespace. Until here the process still was the starter to the host's file
 * system, which is what opening the sources needed. */
static int become_namespace_root(struct err *e)
{
    if (setgroups(0, NULL) < 0 && errno != EPERM)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot leave the starter's groups");
    if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot become root of the user namespace");
    /* Changing ids clears both: our own /proc files must be ours, and the end of the guardian must
     * be our end. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot set up the warden");
    return 0;
}

#define PID_MAX "/proc/sys/kernel/pid_max" /* of the pid namespace of who reads or writes it */

/* Every process of a session has a number in the host's table too, which all users share: a quarter
 * of it is left to others. 0: not known. */
static unsigned long find_pid_limit(void)
{
    _free_ char *text = NULL;
    if (fd_read_file(AT_FDCWD, PID_MAX, 64, &text, NULL) < 0)
        return 0;
    unsigned long all = strtoul(text, NULL, 10);
    return all - all / 4;
}

/* The two ends of what guardian and warden say to each other before the warden is one. */
struct guardian_start {
    int go;    /* a byte comes when the ids are mapped */
    int trial; /* -1, or where the result of the first jail goes: one NUL, or why there is none */
};

/* Without such ids there may be one. */
static _Noreturn void guardian_give_up(const struct guardian_start *start, const struct err *e)
{
    if (start->trial < 0)
        report_failure(e);
    fd_write_all(start->trial, e->message, strlen(e->message));
    _exit(1);
}

static _Noreturn void warden_child(const struct guardian_args *args, struct jail_factory *factory,
                                   const struct guardian_start *start)
{
    struct err e = {0};
    char byte;
    if (read(start->go, &byte, 1) != 1)
        _exit(1);
    struct image_spec spec = {.workspaces = args->workspaces,
                              .read_only_dirs = args->read_only_dirs};
    struct image_sources *sources = NULL;
    if (image_open_sources(&spec, &sources, &e) < 0)
        guardian_give_up(start, &e);
    /* The path ends at our own mounts, the descriptor does not. */
    factory->blobs = open(args->blobs, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (factory->blobs < 0)
        err_errno(&e, ERR_UNAVAILABLE, errno, "cannot open %s", args->blobs);
    if (factory->blobs < 0 || become_namespace_root(&e) < 0 || image_build(sources, &e) < 0)
        guardian_give_up(start, &e);
    int r = watches_limit_all();
    if (r < 0)
        err_errno(&e, ERR_UNAVAILABLE, r, "cannot limit how many files sessions watch");
    if (r < 0 || facts_new(&factory->facts, &e) < 0)
        guardian_give_up(start, &e);
    /* Before Linux 6.14 there is one limit for all, which is not ours to set. */
    char text[32];
    snprintf(text, sizeof(text), "%lu", factory->pid_limit);
    if (factory->pid_limit > 0)
        fd_write_file(AT_FDCWD, PID_MAX, text);
    factory->workspaces = open(IMAGE_WORKSPACES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (jail_try(factory, &e) < 0)
        guardian_give_up(start, &e);
    if (start->trial >= 0 && write(start->trial, "", 1) != 1)
        _exit(1);
    close(start->go);
    if (start->trial >= 0)
        close(start->trial);
    warden_main(CONTROL_FD, factory);
}

/* ---- the guardian -------------------------------------------------------------------------- */

static int write_proc(pid_t pid, const char *file, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    return fd_write_file(AT_FDCWD, path, text);
}

/* Which ids of the host the warden's world has. */
enum id_source {
    IDS_OF_ROOT, /* a range that nobody else has */
    IDS_GIVEN,   /* the user itself, and those that the system gave to it */
    IDS_ONE,     /* the user itself */
};

static struct {
    enum id_source source;
    struct idmap given;
} ids;

static int map_ids(pid_t pid, struct err *e)
{
    char uids[64], gids[64];
    int r = 0;
    if (ids.source == IDS_GIVEN)
        return idmap_write(pid, &ids.given, e);
    if (ids.source == IDS_OF_ROOT) {
        snprintf(uids, sizeof(uids), "0 %d %d\n", GUARDIAN_ID_BASE, GUARDIAN_ID_COUNT);
        memcpy(gids, uids, sizeof(gids));
    } else {
        snprintf(uids, sizeof(uids), "0 %u 1\n", (unsigned)geteuid());
        snprintf(gids, sizeof(gids), "0 %u 1\n", (unsigned)getegid());
        r = write_proc(pid, "setgroups", "deny");
    }
    if (r == 0)
        r = write_proc(pid, "uid_map", uids);
    if (r == 0)
        r = write_proc(pid, "gid_map", gids);
    return r < 0 ? err_errno(e, ERR_UNAVAILABLE, r, "cannot map the ids of the warden") : 0;
}

static void do_without_range(struct jail_factory *factory, const struct err *why)
{
    ids.source = IDS_ONE;
    factory->has_id_range = false;
    snprintf(factory->id_note, sizeof(factory->id_note),
             "all sessions have the user id %u on this host: %s", (unsigned)geteuid(),
             why->message);
}

static void choose_ids(const struct guardian_args *args, struct jail_factory *factory)
{
    struct err e;
    factory->has_id_range = true;
    if (geteuid() == 0) {
        ids.source = IDS_OF_ROOT;
        return;
    }
    ids.source = IDS_GIVEN;
    int r = idmap_find(&ids.given, &e);
    /* Sessions with ids of their own are strangers to the user's files, which they have to read if
     * an interpreter is among them. */
    const char *const *dirs = args->read_only_dirs;
    struct stat st;
    for (size_t i = 0; r == 0 && dirs != NULL && dirs[i] != NULL; i++)
        if (stat(dirs[i], &st) == 0 && (st.st_mode & 0005) != 0005)
            r = err_set(&e, ERR_UNAVAILABLE, "%.200s may not be read by other users", dirs[i]);
    if (r < 0)
        do_without_range(factory, &e);
}

struct guardian_ward {
    pid_t pid;
    int pidfd;
    int daemons_end; /* of its control socket, or -1: not for it to inherit */
};

static int let_go(pid_t pid, int go, int trial, struct err *e)
{
    if (map_ids(pid, e) < 0)
        return -1;
    if (write(go, "g", 1) != 1)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot speak to the warden");
    if (ids.source != IDS_GIVEN)
        return 0;
    /* Whether a jail could be made with these ids: a file system may refuse them, for one. */
    char text[sizeof(e->message)] = "";
    struct pollfd wait = {.fd = trial, .events = POLLIN};
    if (poll(&wait, 1, TRIAL_MS) != 1)
        return err_set(e, ERR_UNAVAILABLE, "no jail was made in %d s", TRIAL_MS / 1000);
    ssize_t n = read(trial, text, sizeof(text) - 1);
    if (n == 1 && text[0] == '\0')
        return 0;
    return err_set(e, ERR_UNAVAILABLE, "%s", n > 0 ? text : "the warden ended");
}

static int start_warden(const struct guardian_args *args, struct jail_factory *factory,
                        struct guardian_ward *ret, struct err *e)
{
    int go[2], trial[2];
    if (pipe2(go, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a pipe");
    _fd_ int their_go = go[0];
    _fd_ int our_go = go[1];
    if (pipe2(trial, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a pipe");
    _fd_ int our_trial = trial[0];
    _fd_ int their_trial = trial[1];
    _fd_ int group = cgroup_open_warden_group(&factory->cgroups);
    pid_t pid = sys_clone3(WARDEN_NAMESPACES, SIGCHLD, &ret->pidfd, group);
    if (pid == 0) {
        cleanup_fd(&group);
        cleanup_fd(&our_go);
        cleanup_fd(&our_trial);
        close(LIFELINE_FD);
        cleanup_fd(&ret->daemons_end);
        if (ids.source != IDS_GIVEN)
            close(take_fd(&their_trial));
        warden_child(args, factory, &(struct guardian_start){.go = their_go, .trial = their_trial});
    }
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, pid, "cannot make the warden's namespaces");
    close(take_fd(&their_trial)); /* or its end would not be seen */
    if (let_go(pid, our_go, our_trial, e) < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(ret->pidfd);
        return -1;
    }
    ret->pid = pid;
    return 0;
}

/* Whatever is wrong with the ids that the system gave to the user, there is a way without. Those
 * that follow have the ids of the first: what belongs to them is there by then. */
static int start_first_warden(const struct guardian_args *args, struct jail_factory *factory,
                              struct guardian_ward *ret, struct err *e)
{
    int r = start_warden(args, factory, ret, e);
    if (r == 0 || ids.source != IDS_GIVEN)
        return r;
    do_without_range(factory, e);
    return start_warden(args, factory, ret, e);
}

static bool should_stay;

/* False: it is gone. */
static bool hear_daemon(void)
{
    char word;
    ssize_t n = recv(LIFELINE_FD, &word, 1, MSG_DONTWAIT);
    should_stay |= n == 1 && word == GUARDIAN_STAY;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* The warden ends by itself when the daemon does; one that hangs is helped. Returns whether the
 * daemon is still there. */
static bool await_end(const struct guardian_ward *w)
{
    struct pollfd waits[2] = {{.fd = w->pidfd, .events = POLLIN},
                              {.fd = LIFELINE_FD, .events = POLLIN}};
    bool is_daemon_there = true;
    while (is_daemon_there && !(waits[0].revents & POLLIN)) {
        if (poll(waits, 2, -1) < 0)
            continue;
        if (waits[1].revents)
            is_daemon_there = hear_daemon();
    }
    if (!is_daemon_there && poll(waits, 1, ORDERLY_END_MS) <= 0)
        kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0); /* all that it started is gone before it is */
    close(w->pidfd);
    return is_daemon_there;
}

/* ---- one warden after the other -------------------------------------------------------------- */

/* The daemon may have gone at the same moment: then there is nobody to follow for. */
static bool should_follow(void)
{
    struct pollfd wait = {.fd = LIFELINE_FD, .events = POLLIN};
    if (poll(&wait, 1, 0) == 1 && !hear_daemon())
        return false;
    if (!should_stay)
        return false;
    /* Whether this end is one too many. */
    static uint64_t ends_ms[ENDS_MAX];
    static size_t n;
    uint64_t now_ms = clock_mono_ms(), *oldest = &ends_ms[n++ % ENDS_MAX];
    bool is_often = *oldest != 0 && now_ms - *oldest < ENDS_WITHIN_MS;
    *oldest = now_ms;
    return !is_often;
}

/* Puts one end of a new control socket where the warden looks for it; returns the other. */
static int make_control(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    int ours = fcntl(pair[0], F_DUPFD_CLOEXEC, LIFTED_FD), theirs = pair[1];
    int r = ours < 0 || (theirs != CONTROL_FD && dup3(theirs, CONTROL_FD, O_CLOEXEC) < 0) ? -errno
                                                                                          : ours;
    for (int i = 0; i < 2; i++)
        if (pair[i] != CONTROL_FD)
            close(pair[i]);
    return r;
}

static int follow(const struct guardian_args *args, struct jail_factory *factory,
                  struct guardian_ward *w)
{
    cgroup_parent_empty(&factory->cgroups);
    _fd_ int ours = make_control();
    if (ours < 0)
        return ours;
    w->daemons_end = ours;
    struct err e;
    int r = start_warden(args, factory, w, &e);
    close(CONTROL_FD);
    if (r < 0)
        return r;
    const char word = GUARDIAN_NEW_WARDEN;
    fd_send(LIFELINE_FD, &word, 1, &ours, 1); /* if it fails the lifeline tells why */
    return 0;
}

_Noreturn void guardian_main(const struct guardian_args *args)
{
    prctl(PR_SET_NAME, "cella-guardian");
    setsid(); /* a terminal's Ctrl-C is for the daemon, which then ends us in order */
    static const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN);
    /* Every descriptor that the daemon had, its listening sockets above all, must not live on here.
     */
    int control = fcntl(args->control, F_DUPFD_CLOEXEC, LIFTED_FD);
    int lifeline = fcntl(args->lifeline, F_DUPFD_CLOEXEC, LIFTED_FD);
    if (control < 0 || lifeline < 0 || dup3(control, CONTROL_FD, O_CLOEXEC) < 0 ||
        dup3(lifeline, LIFELINE_FD, O_CLOEXEC) < 0)
        _exit(1);
    sys_close_from(LIFELINE_FD + 1);
    /* A thousand jails hold some thousand descriptors of the warden's. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) >= 0) {
        struct rlimit more = {.rlim_cur = DESCRIPTORS_WANTED,
                              .rlim_max = MAX(limit.rlim_max, (rlim_t)DESCRIPTORS_WANTED)};
        if (setrlimit(RLIMIT_NOFILE, &more) != 0) {
            limit.rlim_cur = limit.rlim_max; /* not root: as far as it goes */
            setrlimit(RLIMIT_NOFILE, &limit);
        }
    }
    bool is_root = geteuid() == 0;
    struct jail_factory factory = {.filter = args->filter, .pid_limit = find_pid_limit()};
    choose_ids(args, &factory);
    cgroup_parent_make(&factory.cgroups, is_root ? GUARDIAN_ID_BASE : geteuid());
    struct guardian_ward w = {.daemons_end = -1};
    struct err e;
    if (start_first_warden(args, &factory, &w, &e) < 0) {
        err_advise(&e, "run `cella doctor` to see what this machine refuses");
        cgroup_parent_remove(&factory.cgroups);
        report_failure(&e);
    }
    close(CONTROL_FD); /* so that the daemon sees the warden's end at once */
    /* Until the daemon is gone, or there is no warden to be had. */
    int r = 0;
    while (r == 0 && await_end(&w)) {
        r = -EAGAIN;
        while (r < 0 && should_follow())
            r = follow(args, &factory, &w);
    }
    cgroup_parent_remove(&factory.cgroups);
    _exit(0);
}
