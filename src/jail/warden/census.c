/* Who lives in a jail, and ending who should not. Warden; through the jail's own /proc. */
#include "jail/warden/census.h"

#include "base/clock.h"
#include "base/fd.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

enum {
    INIT_PID = 1,
    EXITING = 0x4, /* PF_EXITING: no code of its own will run again */
    TRIES_MAX = 200,
    SETTLE_MS = 50, /* for those that were hit: one in the middle of a long write takes its time */
};

struct census_facts {
    char state; /* of its first thread, like `flags`: others may outlive that one */
    pid_t session;
    unsigned flags;
    long threads;
    uint64_t ticks; /* of the processor, all its threads */
    uint64_t started;
};

/* A jail's /proc. The warden holds no descriptor of it: there may be a thousand jails. */
static DIR *open_proc(pid_t init_pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root/proc", (int)init_pid);
    return opendir(path);
}

/* Of the process whose directory this is. The name in brackets is the process's to choose. */
static bool read_facts(int dir, struct census_facts *ret)
{
    char text[1024];
    int fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    cleanup_fd(&fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *rest = strrchr(text, ')');
    int session;
    unsigned long user, system;
    unsigned long long started;
    if (rest == NULL ||
        sscanf(rest + 1,
               " %c %*d %*d %d %*d %*d %u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld %*d %llu",
               &ret->state, &session, &ret->flags, &user, &system, &ret->threads, &started) != 7)
        return false;
    ret->session = session;
    ret->ticks = user + system;
    ret->started = started;
    return true;
}

static bool is_among(pid_t pid, const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* The next process that is neither init nor one of `skipped`; -1 at the end. */
static int next_process(DIR *proc, const pid_t *skipped, size_t n_skipped, pid_t *ret_pid,
                        struct census_facts *ret)
{
    struct dirent *entry;
    while ((entry = readdir(proc)) != NULL) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0])
                        ? (pid_t)strtol(entry->d_name, NULL, 10)
                        : INIT_PID;
        if (pid == INIT_PID || is_among(pid, skipped, n_skipped))
            continue;
        int dir = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            continue;
        if (read_facts(dir, ret)) {
            *ret_pid = pid;
            return dir;
        }
        close(dir);
    }
    return -1;
}

static void add(struct census *c, pid_t pid, uint64_t started)
{
    if ((c->count & (c->count - 1)) == 0) /* full: it grows by powers of two */
        c->residents =
            mem_realloc(c->residents, MAX(2 * c->count, (size_t)1) * sizeof(*c->residents));
    c->residents[c->count++] = (struct resident){.pid = pid, .started = started};
}

static bool contains(const struct census *c, pid_t pid, uint64_t started)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->residents[i].pid == pid && c->residents[i].started == started)
            return true;
    return false;
}

void census_take(pid_t init_pid, const pid_t *leaders, size_t n_leaders, struct census *ret)
{
    *ret = (struct census){0};
    DIR *proc = open_proc(init_pid);
    pid_t pid;
    struct census_facts facts;
    int dir;
    while (proc != NULL && (dir = next_process(proc, leaders, n_leaders, &pid, &facts)) >= 0) {
        add(ret, pid, facts.started);
        close(dir);
    }
    if (proc != NULL)
        closedir(proc);
}

void census_signal(pid_t init_pid, const pid_t *spared, size_t n_spared, int sig)
{
    DIR *proc = open_proc(init_pid);
    pid_t pid;
    struct census_facts facts;
    int dir;
    while (proc != NULL && (dir = next_process(proc, spared, n_spared, &pid, &facts)) >= 0) {
        pidfd_send_signal(dir, sig, NULL, 0); /* fails if the process has ended */
        close(dir);
    }
    if (proc != NULL)
        closedir(proc);
}

size_t census_look(pid_t init_pid, const pid_t *leaders, size_t n_leaders, uint64_t *ret_ticks)
{
    DIR *proc = open_proc(init_pid);
    pid_t pid;
    struct census_facts facts;
    size_t n = 0;
    int dir;
    *ret_ticks = 0;
    while (proc != NULL && (dir = next_process(proc, NULL, 0, &pid, &facts)) >= 0) {
        bool is_over = facts.state == 'Z' || facts.state == 'X';
        if (is_among(pid, leaders, n_leaders))
            n += (size_t)MAX(facts.threads - 1, 0L);
        else
            n += !is_over;
        *ret_ticks += facts.ticks;
        close(dir);
    }
    if (proc != NULL)
        closedir(proc);
    return n;
}

/* Of the process whose directory this is. */
static uint64_t own_bytes(int dir)
{
    _free_ char *text = NULL;
    unsigned long long resident, shared;
    if (fd_read_file(dir, "statm", 256, &text, NULL) < 0 ||
        sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void census_use(pid_t init_pid, const pid_t *skipped, size_t n_skipped, uint64_t *ret_bytes,
                uint64_t *ret_ticks)
{
    DIR *proc = open_proc(init_pid);
    pid_t pid;
    struct census_facts facts;
    int dir;
    *ret_bytes = *ret_ticks = 0;
    while (proc != NULL && (dir = next_process(proc, skipped, n_skipped, &pid, &facts)) >= 0) {
        *ret_bytes += own_bytes(dir);
        *ret_ticks += facts.ticks;
        close(dir);
    }
    if (proc != NULL)
        closedir(proc);
}

void census_drop_younger(struct census *c, pid_t init_pid, pid_t pid)
{
    char path[64];
    struct census_facts facts;
    snprintf(path, sizeof(path), "/proc/%d/root/proc/%d", (int)init_pid, (int)pid);
    _fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || !read_facts(dir, &facts))
        return;
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct resident *r = &c->residents[i];
        /* Within one tick of the clock the number decides: they are given out in order. */
        if (r->started < facts.started || (r->started == facts.started && r->pid < pid))
            c->residents[n++] = *r;
    }
    c->count = n;
}

void census_free(struct census *c)
{
    free(c->residents);
    *c = (struct census){0};
}

pid_t census_inner_pid(pid_t pid)
{
    char path[32];
    _free_ char *status = NULL;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (fd_read_file(AT_FDCWD, path, 64 * KIB, &status, NULL) < 0)
        return 0;
    const char *line = strstr(status, "\nNSpid:");
    if (line == NULL)
        return 0;
    line += strlen("\nNSpid:");
    const char *last = line;
    for (const char *end = line + strcspn(line, "\n"); line < end; line++)
        if (isspace((unsigned char)*line))
            last = line;
    return (pid_t)strtol(last, NULL, 10);
}

static ino_t census_namespace_of(int dir, const char *path)
{
    struct stat st;
    return fstatat(dir, path, &st, 0) == 0 ? st.st_ino : 0;
}

ino_t census_namespace(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    return census_namespace_of(AT_FDCWD, path);
}

bool census_is_same_jail(pid_t pid, pid_t init_pid)
{
    ino_t namespace = census_namespace(pid);
    return namespace != 0 && namespace == census_namespace(init_pid);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static bool is_spared(const struct census_clearing *c, int dir, pid_t pid,
                      const struct census_facts *facts)
{
    if (is_among(facts->session, c->leaders, c->n_leaders))
        return true;
    /* A namespace below ours is a jail of its own. Who does not show his is no such thing. */
    ino_t namespace = census_namespace_of(dir, "ns/pid");
    return contains(&c->spared, pid, facts->started) ||
           (namespace != 0 && namespace != c->namespace);
}

struct pass {
    bool has_new;     /* somebody was there who had not been hit */
    bool has_running; /* somebody who was hit has not felt it yet */
};

static void visit(struct census_clearing *c, int dir, pid_t pid, const struct census_facts *facts,
                  struct pass *pass)
{
    bool is_leaving = facts->state == 'Z' || facts->state == 'X' || (facts->flags & EXITING);
    if (is_leaving && facts->threads <= 1)
        return;
    bool is_victim = pid == c->victim, is_held = is_victim && c->holds_victim;
    if (contains(&c->ended, pid, facts->started)) {
        /* One that was to be stopped and has become two is ended: who knows whether both heard of
         * it. */
        if (!is_held || facts->threads != 1 || facts->state != 'T') {
            if (is_held && facts->threads > 1) {
                c->holds_victim = false;
                pidfd_send_signal(dir, SIGKILL, NULL, 0);
            }
            pass->has_running = true;
        }
        return;
    }
    int sig = is_held && facts->threads == 1 ? SIGSTOP : SIGKILL;
    if ((!is_victim && is_spared(c, dir, pid, facts)) || pidfd_send_signal(dir, sig, NULL, 0) < 0)
        return;
    add(&c->ended, pid, facts->started);
    c->was_victim_hit |= is_victim;
    pass->has_new = true;
}

static bool visit_all(struct census_clearing *c, struct pass *ret)
{
    *ret = (struct pass){0};
    DIR *proc = open_proc(c->init_pid);
    if (proc == NULL)
        return false;
    pid_t pid;
    struct census_facts facts;
    int dir;
    while ((dir = next_process(proc, c->leaders, c->n_leaders, &pid, &facts)) >= 0) {
        visit(c, dir, pid, &facts, ret);
        close(dir);
    }
    closedir(proc);
    return true;
}

void census_clearing_begin(struct census_clearing *ret, pid_t init_pid, pid_t victim,
                           bool holds_victim, const struct census *spared)
{
    *ret = (struct census_clearing){.init_pid = init_pid,
                                    .namespace = census_namespace(init_pid),
                                    .victim = victim,
                                    .holds_victim = holds_victim};
    for (size_t i = 0; spared != NULL && i < spared->count; i++)
        add(&ret->spared, spared->residents[i].pid, spared->residents[i].started);
}

enum census_pass census_clearing_pass(struct census_clearing *c, const pid_t *leaders,
                                      size_t n_leaders)
{
    struct pass pass;
    c->leaders = leaders;
    c->n_leaders = n_leaders;
    if (c->namespace == 0 || !visit_all(c, &pass))
        return CENSUS_CLEARED; /* the jail is gone */
    uint64_t now_ms = clock_mono_ms();
    /* Who forked before it was hit left somebody whom only the next pass sees. */
    if (pass.has_new) {
        c->quiet_since_ms = now_ms;
        return ++c->n_tries < TRIES_MAX ? CENSUS_AGAIN : CENSUS_GIVEN_UP;
    }
    bool is_settled = !pass.has_running || now_ms - c->quiet_since_ms >= SETTLE_MS;
    return is_settled ? CENSUS_CLEARED : CENSUS_WAIT;
}

size_t census_clearing_count(const struct census_clearing *c)
{
    return c->ended.count - (c->was_victim_hit ? 1 : 0);
}

void census_clearing_free(struct census_clearing *c)
{
    census_free(&c->spared);
    census_free(&c->ended);
}
