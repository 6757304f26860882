/* What processes use, and which belong to a daemon, from /proc. cella-bench. */
#include "base/fd.h"
#include "bench/bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum { PROC_FILE_MAX = 64 << 10, PROCESSES_MAX = 65536 };

struct process {
    pid_t pid, parent;
    bool is_below; /* of the root that is asked about */
};

struct process_list {
    struct process *all;
    size_t n, cap;
};

/* A file of /proc; NULL if the process is gone or not ours to look at. */
static char *read_proc(const char *path)
{
    char *text = NULL;
    return fd_read_file(AT_FDCWD, path, PROC_FILE_MAX, &text, NULL) == 0 ? text : NULL;
}

/* The number after "Name:" at the start of a line; 0 if there is none. */
static double field_of(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            return strtod(line + len + 1, NULL);
    }
    return 0;
}

double bench_mem_available(void)
{
    _free_ char *text = read_proc("/proc/meminfo");
    return text != NULL ? field_of(text, "MemAvailable") * 1024 : 0;
}

/* --- who is below whom ------------------------------------------------------------------------ */

static void list_add(struct process_list *l, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    _free_ char *text = read_proc(path);
    if (text == NULL)
        return;
    if (l->n == l->cap) {
        l->cap = MAX((size_t)256, 2 * l->cap);
        l->all = mem_realloc(l->all, l->cap * sizeof(*l->all));
    }
    l->all[l->n++] = (struct process){.pid = pid, .parent = (pid_t)field_of(text, "PPid")};
}

static void list_read(struct process_list *l)
{
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid > 0 && *end == '\0' && l->n < PROCESSES_MAX)
            list_add(l, (pid_t)pid);
    }
    if (dir != NULL)
        closedir(dir);
}

static bool is_below(const struct process_list *l, pid_t pid, pid_t root)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->all[i].pid == pid)
            return pid == root || l->all[i].is_below;
    return false;
}

/* A child may stand before its parent in the list, so until nothing changes. */
static void mark_below(struct process_list *l, pid_t root)
{
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < l->n; i++) {
            struct process *p = &l->all[i];
            if (p->is_below || !(p->pid == root || is_below(l, p->parent, root)))
                continue;
            p->is_below = is_changed = true;
        }
    }
}

/* --- what they use ---------------------------------------------------------------------------- */

static ssize_t read_program(pid_t pid, char ret_path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/%d/exe", pid);
    return readlink(link, ret_path, PATH_MAX);
}

static bool is_same_program(pid_t a, pid_t b)
{
    char of_a[PATH_MAX], of_b[PATH_MAX];
    ssize_t n = read_program(a, of_a), m = read_program(b, of_b);
    return n > 0 && n == m && memcmp(of_a, of_b, (size_t)n) == 0;
}

static bool is_in_part(const struct process *p, pid_t root, enum bench_part part)
{
    switch (part) {
    case BENCH_PART_ALL:
        return true;
    case BENCH_PART_DAEMON:
        return p->pid == root;
    case BENCH_PART_PROGRAM:
        return is_same_program(p->pid, root);
    case BENCH_PART_OTHERS:
        return !is_same_program(p->pid, root);
    }
    return false;
}

static double switches_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    double sum = 0;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char status_path[PATH_MAX];
        snprintf(status_path, sizeof(status_path), "%s/%s/status", path, entry->d_name);
        _free_ char *text = entry->d_name[0] != '.' ? read_proc(status_path) : NULL;
        if (text != NULL)
            sum += field_of(text, "voluntary_ctxt_switches") +
                   field_of(text, "nonvoluntary_ctxt_switches");
    }
    if (dir != NULL)
        closedir(dir);
    return sum;
}

static int add_usage(pid_t pid, struct bench_usage *u, struct err *e)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
    _free_ char *text = NULL;
    int status = fd_read_file(AT_FDCWD, path, PROC_FILE_MAX, &text, NULL);
    if (status == -EACCES || status == -EPERM)
        return err_set(e, ERR_FORBIDDEN, "memory of sessions may not be read by this user");
    if (status < 0)
        return 0; /* it has ended meanwhile */
    u->rss += field_of(text, "Rss") * 1024;
    u->pss += field_of(text, "Pss") * 1024;
    u->anon += field_of(text, "Pss_Anon") * 1024;
    u->switches += switches_of(pid);
    return 0;
}

/* Its own to the nanosecond; of children that it waited for, which ended, to a tick of 10 ms. */
static double cpu_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    _free_ char *stat = read_proc(path);
    const char *at = stat != NULL ? strrchr(stat, ')') : NULL;
    unsigned long long user = 0, kernel = 0;
    if (at == NULL || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu %llu",
                             &user, &kernel) != 2)
        return 0;
    double sum = (double)(user + kernel) * 1e9 / (double)sysconf(_SC_CLK_TCK);
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char task[PATH_MAX];
        snprintf(task, sizeof(task), "%s/%s/schedstat", path, entry->d_name);
        _free_ char *text = entry->d_name[0] != '.' ? read_proc(task) : NULL;
        sum += text != NULL ? strtod(text, NULL) : 0;
    }
    if (dir != NULL)
        closedir(dir);
    return sum;
}

double bench_cpu_of(pid_t root)
{
    struct process_list list = {0};
    list_read(&list);
    mark_below(&list, root);
    double sum = 0;
    for (size_t i = 0; i < list.n; i++)
        if (list.all[i].is_below)
            sum += cpu_of(list.all[i].pid);
    free(list.all);
    return sum;
}

int bench_usage_of(pid_t root, enum bench_part part, struct bench_usage *ret, struct err *e)
{
    struct process_list list = {0};
    list_read(&list);
    mark_below(&list, root);
    *ret = (struct bench_usage){0};
    int status = 0;
    for (size_t i = 0; status == 0 && i < list.n; i++)
        if (list.all[i].is_below && is_in_part(&list.all[i], root, part))
            status = add_usage(list.all[i].pid, ret, e);
    free(list.all);
    return status;
}
