/* One jail's group: its limits, the ways into it, what the kernel counts. */
#include "jail/cgroup.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
    COUNTS_MAX = 16 * 1024,
    CPU_PERIOD_US = 100000,
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

/* v1 counts what sockets hold apart from memory, and does not limit it unless told to. A host
 * without that file has no such memory either. */
static int limit_sockets(const struct cgroup_parent *p, const struct cgroup *g,
                         const struct jail_limits *limits)
{
    char value[64];
    snprintf(value, sizeof(value), "%zu", limits->memory_mb * MIB / SOCKETS_SHARE);
    int r = write_value(p, g, CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", value);
    return r == -ENOENT ? 0 : r;
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
        if (r == 0 && v1)
            r = limit_sockets(p, g, limits);
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

static int make_directories(const struct cgroup_parent *p, struct cgroup *g)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (p->dirs[c] < 0)
            continue;
        /* One that could not be removed in its time would bring its counters along. */
        unlinkat(p->dirs[c], g->name, AT_REMOVEDIR);
        if (mkdirat(p->dirs[c], g->name, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
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

int cgroup_make(const struct cgroup_parent *p, const char *name, const struct jail_limits *limits,
                struct cgroup *ret, struct err *e)
{
    *ret = (struct cgroup){0};
    if (p->version == 0)
        return 0;
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    int r = make_directories(p, ret);
    if (r == 0)
        r = cgroup_open_join_fds(p, ret);
    if (r < 0)
        err_errno(e, ERR_UNAVAILABLE, r, "cannot make the cgroup %s", name);
    if (r < 0 || cgroup_set_limits(p, ret, limits, e) < 0) {
        cgroup_remove(p, ret);
        return -1;
    }
    return 0;
}

/* The number after `word`, which may be empty, in one of the group's files. */
static uint64_t read_count(const struct cgroup_parent *p, const struct cgroup *g, int controller,
                           const char *file, const char *word)
{
    if (!p->has[controller] || g->name[0] == '\0')
        return 0;
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", g->name, file);
    _free_ char *text = NULL;
    if (fd_read_file(controller_dir(p, controller), path, COUNTS_MAX, &text, NULL) < 0)
        return 0;
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
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

void cgroup_remove(const struct cgroup_parent *p, struct cgroup *g)
{
    cgroup_close_join_fds(g);
    for (int c = 0; c < CGROUP_CONTROLLERS && g->name[0] != '\0'; c++)
        if (p->dirs[c] >= 0)
            unlinkat(p->dirs[c], g->name, AT_REMOVEDIR);
    g->name[0] = '\0';
}
