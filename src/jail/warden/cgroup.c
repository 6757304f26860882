/* One jail's group: its limits, the ways into it, what the kernel counts. */
#include "jail/warden/cgroup.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

enum {
    COUNTS_MAX = 16 * 1024,
    CPU_PERIOD_US = 100000,
    NAME_TRIES = 1000,
    MEMBERS_BYTES_MAX = 1024 * 1024,
    KILLED_PER_TRY = 64,
    SOCKETS_SHARE = 8 /* sockets may hold this part of the memory limit on top of it */
};

/* The directory under which this controller's files of a jail are found. */
static int controller_dir(const struct cgroup_parent *p, int controller)
{
    return p->version == 1 ? p->dirs[controller] : p->dirs[0];
}

static int write_value(const struct cgroup_parent *p, const struct cgroup *g, int controller,
                       const char *file, const char *value)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", g->name, file);
    return fd_write_file(controller_dir(p, controller), path, value);
}

int cgroup_set_limits(const struct cgroup_parent *p, const struct cgroup *g,
                      const struct jail_limits *limits, struct err *e)
{
    bool v1 = p->version == 1;
    char value[64];
    int r = 0;
    if (p->has[CGROUP_MEMORY]) {
        snprintf(value, sizeof(value), "%zu", limits->memory_mb * MIB);
        /* Swap would stretch the limit; hosts without swap accounting have no such file. In v1 it
         * is never below the other, so it goes first on the way up and last on the way down. */
        const char *swap = v1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max";
        write_value(p, g, CGROUP_MEMORY, swap, v1 ? value : "0");
        r = write_value(p, g, CGROUP_MEMORY, v1 ? "memory.limit_in_bytes" : "memory.max", value);
        if (r == 0 && v1)
            write_value(p, g, CGROUP_MEMORY, swap, value);
        if (r == 0 && v1) {
            /* v1 counts what sockets hold apart from memory, and does not limit it unless told to.
             * A host without that file has no such memory either. */
            snprintf(value, sizeof(value), "%zu", limits->memory_mb * MIB / SOCKETS_SHARE);
            r = write_value(p, g, CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", value);
            r = r == -ENOENT ? 0 : r;
        }
    }
    if (r == 0 && p->has[CGROUP_PIDS]) {
        /* The jail's init is ours, not the user's. */
        snprintf(value, sizeof(value), "%u", limits->pids + 1);
        r = write_value(p, g, CGROUP_PIDS, "pids.max", value);
    }
    if (r == 0 && p->has[CGROUP_CPU]) {
        unsigned quota = limits->cpu_percent * (CPU_PERIOD_US / 100);
        if (v1)
            snprintf(value, sizeof(value), "%u", quota);
        else
            snprintf(value, sizeof(value), "%u %u", quota, (unsigned)CPU_PERIOD_US);
        r = write_value(p, g, CGROUP_CPU, v1 ? "cpu.cfs_quota_us" : "cpu.max", value);
    }
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot set the limits of cgroup %s", g->name);
    return 0;
}

/* -EEXIST if one of them is there: somebody may be in it. */
static int make_directories(const struct cgroup_parent *p, const char *name)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (p->dirs[c] < 0 || mkdirat(p->dirs[c], name, 0755) == 0)
            continue;
        int r = -errno;
        while (c-- > 0)
            if (p->dirs[c] >= 0)
                unlinkat(p->dirs[c], name, AT_REMOVEDIR);
        return r;
    }
    return 0;
}

/* A name that no group had before: one that cannot be removed, because somebody slipped into it, is
 * never anybody else's. What an earlier warden left is passed over. */
static int make_under_new_name(const struct cgroup_parent *p, const char *stem, struct cgroup *g)
{
    static unsigned long long number;
    int r = -EEXIST;
    for (int tries = 0; r == -EEXIST && tries < NAME_TRIES; tries++) {
        snprintf(g->name, sizeof(g->name), "%.10s-%llu", stem, number++);
        r = make_directories(p, g->name);
    }
    if (r < 0)
        g->name[0] = '\0'; /* not ours */
    return r;
}

int cgroup_open_join_fds(const struct cgroup_parent *p, struct cgroup *g)
{
    if (g->n_join_fds > 0 || g->name[0] == '\0')
        return 0;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (p->dirs[c] < 0)
            continue;
        char path[64];
        snprintf(path, sizeof(path), "%s%s", g->name, p->version == 1 ? "/tasks" : "");
        int flags = p->version == 1 ? O_WRONLY : O_RDONLY | O_DIRECTORY;
        int fd = openat(p->dirs[c], path, flags | O_CLOEXEC);
        if (fd < 0)
            return -errno;
        g->join_fds[g->n_join_fds++] = fd;
    }
    return 0;
}

void cgroup_refuse_forks(const struct cgroup_parent *p, const struct cgroup *g)
{
    if (p->has[CGROUP_PIDS] && g->name[0] != '\0')
        write_value(p, g, CGROUP_PIDS, "pids.max", "0");
}

int cgroup_let_in(const struct cgroup_parent *p, const struct cgroup *g, uid_t user)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/tasks", g->name);
    for (int i = 0; p->version == 1 && i < CGROUP_CONTROLLERS; i++)
        if (p->dirs[i] >= 0 && fchownat(p->dirs[i], path, user, user, 0) < 0)
            return -errno;
    return 0;
}

int cgroup_open_doors(const struct cgroup_parent *p, const struct cgroup *g, int *fds)
{
    int n = 0;
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", g->name, p->version == 1 ? "tasks" : "cgroup.procs");
    for (int i = 0; p->version != 0 && i < CGROUP_CONTROLLERS; i++) {
        if (p->dirs[i] < 0)
            continue;
        fds[n] = openat(p->dirs[i], path, O_WRONLY | O_CLOEXEC);
        if (fds[n] < 0)
            return -errno;
        n++;
    }
    return n;
}

int cgroup_make(const struct cgroup_parent *p, const char *stem, const struct jail_limits *limits,
                struct cgroup *ret, struct err *e)
{
    *ret = (struct cgroup){0};
    if (p->version == 0)
        return 0;
    int r = make_under_new_name(p, stem, ret);
    if (r == 0)
        r = cgroup_open_join_fds(p, ret);
    if (r < 0)
        err_errno(e, ERR_UNAVAILABLE, r, "cannot make the cgroup %s", stem);
    if (r < 0 || cgroup_set_limits(p, ret, limits, e) < 0) {
        cgroup_remove(p, ret);
        return -1;
    }
    return 0;
}

/* One of the group's files, or NULL. */
static char *read_counts(const struct cgroup_parent *p, const struct cgroup *g, int controller,
                         const char *file)
{
    char path[64], *text = NULL;
    if (!p->has[controller] || g->name[0] == '\0')
        return NULL;
    snprintf(path, sizeof(path), "%s/%s", g->name, file);
    if (fd_read_file(controller_dir(p, controller), path, COUNTS_MAX, &text, NULL) < 0)
        return NULL;
    return text;
}

/* The number after `word`, which may be empty, in what read_counts gave. */
static uint64_t count_after(const char *text, const char *word)
{
    const char *at = text ? strstr(text, word) : NULL;
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static uint64_t read_count(const struct cgroup_parent *p, const struct cgroup *g, int controller,
                           const char *file, const char *word)
{
    _free_ char *text = read_counts(p, g, controller, file);
    return count_after(text, word);
}

uint32_t cgroup_oom_kills(const struct cgroup_parent *p, const struct cgroup *g)
{
    const char *file = p->version == 1 ? "memory.oom_control" : "memory.events";
    return (uint32_t)read_count(p, g, CGROUP_MEMORY, file, "oom_kill ");
}

uint32_t cgroup_pids_refused(const struct cgroup_parent *p, const struct cgroup *g)
{
    return (uint32_t)read_count(p, g, CGROUP_PIDS, "pids.events", "max ");
}

uint64_t cgroup_anonymous_bytes(const struct cgroup_parent *p, const struct cgroup *g)
{
    return read_count(p, g, CGROUP_MEMORY, "memory.stat", p->version == 1 ? "\nrss " : "anon ");
}

/* In v1 processor time is counted by another hierarchy, which need not be mounted with ours. */
void cgroup_get_use(const struct cgroup_parent *p, const struct cgroup *g, struct cgroup_use *ret)
{
    bool v1 = p->version == 1;
    _free_ char *memory = read_counts(p, g, CGROUP_MEMORY, "memory.stat");
    *ret = (struct cgroup_use){
        .anonymous_bytes = count_after(memory, v1 ? "\nrss " : "anon "),
        .shared_bytes = count_after(memory, "\nshmem "),
        .file_bytes = count_after(memory, v1 ? "cache " : "\nfile "),
        .cpu_us = v1 ? read_count(p, g, CGROUP_CPU, "cpuacct.usage", "") / 1000
                     : read_count(p, g, CGROUP_CPU, "cpu.stat", "usage_usec "),
    };
}

uint64_t cgroup_peak_bytes(const struct cgroup_parent *p, const struct cgroup *g)
{
    const char *file = p->version == 1 ? "memory.max_usage_in_bytes" : "memory.peak";
    return read_count(p, g, CGROUP_MEMORY, file, "");
}

void cgroup_close_join_fds(struct cgroup *g)
{
    for (size_t i = 0; i < g->n_join_fds; i++)
        close(g->join_fds[i]);
    g->n_join_fds = 0;
}

/* The first of them: the number. A process counts if one of its threads is in the group. */
static size_t list_members(const struct cgroup_parent *p, int c, const char *name, pid_t *ret,
                           size_t max)
{
    char path[64];
    size_t n = 0;
    _free_ char *text = NULL;
    snprintf(path, sizeof(path), "%s/cgroup.procs", name);
    if (fd_read_file(p->dirs[c], path, MEMBERS_BYTES_MAX, &text, NULL) < 0)
        return 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line && n < max;
         line = strtok_r(NULL, "\n", &save)) {
        pid_t pid = (pid_t)strtol(line, NULL, 10);
        if (pid > 0) /* 0: of another pid namespace */
            ret[n++] = pid;
    }
    return n;
}

bool cgroup_remove(const struct cgroup_parent *p, struct cgroup *g)
{
    bool is_gone = true;
    cgroup_close_join_fds(g);
    for (int c = 0; c < CGROUP_CONTROLLERS && g->name[0] != '\0'; c++) {
        if (p->dirs[c] < 0 || unlinkat(p->dirs[c], g->name, AT_REMOVEDIR) == 0 || errno != EBUSY)
            continue;
        /* All of them at once where the kernel can; else those on the list, again and again. Who is
         * on it both before and after a descriptor of that number was opened is who is meant. */
        char path[64];
        pid_t before[KILLED_PER_TRY], after[KILLED_PER_TRY];
        int fds[KILLED_PER_TRY];
        snprintf(path, sizeof(path), "%s/cgroup.kill", g->name);
        if (p->version != 2 || fd_write_file(p->dirs[c], path, "1") != 0) {
            size_t n_before = list_members(p, c, g->name, before, KILLED_PER_TRY);
            for (size_t i = 0; i < n_before; i++)
                fds[i] = pidfd_open(before[i], 0);
            size_t n_after = list_members(p, c, g->name, after, KILLED_PER_TRY);
            for (size_t i = 0; i < n_before; i++) {
                for (size_t k = 0; k < n_after && fds[i] >= 0; k++)
                    if (after[k] == before[i])
                        pidfd_send_signal(fds[i], SIGKILL, NULL, 0);
                cleanup_fd(&fds[i]);
            }
        }
        is_gone = false;
    }
    if (is_gone)
        g->name[0] = '\0';
    return is_gone;
}
