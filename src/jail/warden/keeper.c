/* The keeper's process: measures workspaces against their quota and removes them. Owns what is
 * known of each. */
#include "jail/warden/keeper.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "jail/files/measure.h"
#include "jail/files/tree.h"
#include "jail/message.h"
#include "jail/warden/crew.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
    KEEPER_ENTRY_COST_BYTES = 512,
    REMOVAL_PASSES = 100, /* of a directory that others still put something into */
    SET_ASIDE_TRIES = 5,
    KEEPER_PACE_MIN_MS = 25,
    KEEPER_PACE_MAX_MS = 1000,
    LINGER_MS = 2000,            /* between looks while processes outlive their cell */
    FILL_BYTES_PER_MS = 2 << 20, /* the fastest disk we reckon with: 2 GiB/s */
    SLACK_MB = 64,               /* how far over a quarter more than the limit is tolerated */
    REST_MS = 20000,             /* between looks at the disk while jails are at rest */
    REST_MB = 32,                /* what may vanish from it before they are looked at */
    REST_FILES = 10000,
    HELD_CPU_MS = 1000,    /* of one look, for what processes hold without a name */
    KEEPER_ARENAS_MAX = 2, /* of malloc: threads are for waiting, not for speed */
};

/* One measurement of one jail, by a thread of the crew. What it needs to know is copied when it
 * begins; the ward itself is the main thread's. */
struct look {
    struct crew_job job;
    int workspace, proc; /* the ward's */
    uint64_t limit_bytes;
    uint32_t n_inmates;
    struct measure_held held;
    struct measure found;
    uint64_t began_ms;
    bool was_over, is_over;
    bool is_lingering; /* something runs in the jail besides its init and idle inmates */
};

struct ward {
    struct list link;
    uint64_t jail;
    int workspace;
    int proc;
    uint64_t limit_bytes;
    uint64_t next_ms;     /* 0: at rest, unless it is being looked at */
    uint64_t earliest_ms; /* not to be measured again before */
    struct look look;
    uint32_t n_inmates;
    bool is_busy;
    bool is_over;
    bool is_looked_at; /* by a thread: not to be freed */
    bool is_forgotten; /* meanwhile */
};

static struct list wards = {&wards, &wards};
static int keeper_control;

/* ---- measuring ----------------------------------------------------------------------------- */

/* A descriptor of its own, because reading a directory moves the descriptor's position. */
static int reopen_dir(int fd)
{
    return openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Does anything run in the jail besides its init and idle, single-threaded inmates? */
static bool has_lingering(int proc, uint32_t n_inmates)
{
    int fd = reopen_dir(proc);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL)
        return false;
    int pids = 0;
    bool has_threads = false;
    ino_t init = measure_init_namespace(proc);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !measure_is_resident(dirfd(dir), entry->d_name, init))
            continue;
        pids++;
        char tasks[32];
        struct stat st;
        snprintf(tasks, sizeof(tasks), "%.10s/task", entry->d_name);
        if (fstatat(dirfd(dir), tasks, &st, 0) == 0 && st.st_nlink > 3) /* two of them are names */
            has_threads = true;
    }
    closedir(dir);
    return pids > 1 + (int)n_inmates || has_threads;
}

/* ---- enforcing ----------------------------------------------------------------------------- */

static ino_t pid_namespace(const char *pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%.10s/ns/pid", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* The jail's pid namespace, told by any of its processes: /proc of the jail shows `1` only to it.
 */
static ino_t jail_namespace(int proc)
{
    struct stat st;
    DIR *dir = fdopendir(reopen_dir(proc));
    ino_t found = 0;
    struct dirent *entry;
    while (dir != NULL && found == 0 && (entry = readdir(dir)) != NULL) {
        char path[32];
        snprintf(path, sizeof(path), "%.10s/ns/pid", entry->d_name);
        if (isdigit((unsigned char)entry->d_name[0]) && fstatat(dirfd(dir), path, &st, 0) == 0)
            found = st.st_ino;
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

static void send_word(const struct keeper_word *word)
{
    if (fd_send(keeper_control, word, sizeof(*word), NULL, 0) < 0)
        _exit(0); /* the warden is gone */
}

static void keeper_say(enum keeper_word_type type, uint64_t jail, uint64_t bytes)
{
    send_word(&(struct keeper_word){.type = type, .jail = jail, .bytes = bytes});
}

/* ---- looks ---------------------------------------------------------------------------------- */

/* A session can prolong every line of this. */
static void run_look(struct crew_job *job)
{
    struct look *l = CONTAINER_OF(job, struct look, job);
    l->began_ms = clock_mono_ms();
    l->found = measure_workspace(l->workspace, l->proc, KEEPER_ENTRY_COST_BYTES,
                                 clock_scaled_ms(HELD_CPU_MS), &l->held);
    l->is_over = l->found.is_excessive || l->found.bytes > l->limit_bytes;
    if (l->is_over != l->was_over) {
        /* Children inherit the limit, so one pass over what runs now is enough for honest programs.
         */
        ino_t namespace = jail_namespace(l->proc);
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        while (namespace != 0 && dir != NULL && (entry = readdir(dir)) != NULL) {
            if (!isdigit((unsigned char)entry->d_name[0]) ||
                pid_namespace(entry->d_name) != namespace)
                continue;
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
            struct rlimit limit;
            if (prlimit(pid, RLIMIT_FSIZE, NULL, &limit) < 0)
                continue;
            limit.rlim_cur = l->is_over ? 0 : limit.rlim_max;
            prlimit(pid, RLIMIT_FSIZE, &limit, NULL);
        }
        if (dir != NULL)
            closedir(dir);
    }
    l->is_lingering = has_lingering(l->proc, l->n_inmates);
}

static void free_ward(struct ward *w)
{
    close(w->workspace);
    close(w->proc);
    free(w);
}

static void finish_look(struct crew_job *job)
{
    struct look *l = CONTAINER_OF(job, struct look, job);
    struct ward *w = CONTAINER_OF(l, struct ward, look);
    w->is_looked_at = false;
    if (w->is_forgotten) {
        free_ward(w);
        return;
    }
    const struct measure *m = &l->found;
    struct keeper_word word = {
        .jail = w->jail, .bytes = m->bytes, .is_uncountable = m->is_uncountable};
    if (w->look.is_over != w->is_over) {
        word.type = w->look.is_over ? KEEPER_SAYS_OVER : KEEPER_SAYS_UNDER;
        send_word(&word);
    }
    /* Empty files cannot be refused, but who goes on making them can be stopped. */
    bool is_flooded = m->is_endless || m->entries * KEEPER_ENTRY_COST_BYTES > 2 * w->limit_bytes;
    if (is_flooded || m->bytes > w->limit_bytes + w->limit_bytes / 4 + SLACK_MB * MIB) {
        word.type = KEEPER_SAYS_FAR_OVER;
        send_word(&word);
    }
    w->is_over = l->is_over;
    uint64_t bytes = l->found.bytes;
    uint64_t now_ms = clock_mono_ms();
    uint64_t room = bytes >= w->limit_bytes ? 0 : w->limit_bytes - bytes;
    uint64_t pace_ms = MIN(MAX(room / FILL_BYTES_PER_MS, (uint64_t)KEEPER_PACE_MIN_MS),
                           (uint64_t)KEEPER_PACE_MAX_MS);
    pace_ms = MAX(pace_ms, 10 * (now_ms - w->look.began_ms)); /* no jail may eat a core */
    uint64_t asked_ms = w->next_ms, next_ms = 0; /* asked: while the look was under way */
    w->earliest_ms = now_ms + pace_ms;
    if (w->is_busy)
        next_ms = w->earliest_ms;
    else if (w->is_over || w->look.is_lingering)
        next_ms = now_ms + MAX(pace_ms, (uint64_t)LINGER_MS);
    if (asked_ms != 0)
        asked_ms = MAX(asked_ms, w->earliest_ms);
    w->next_ms = next_ms == 0 || (asked_ms != 0 && asked_ms < next_ms) ? asked_ms : next_ms;
}

static void begin_look(struct ward *w)
{
    struct look *l = &w->look;
    l->job = (struct crew_job){.run = run_look, .finish = finish_look};
    list_init(&l->job.link);
    l->workspace = w->workspace;
    l->proc = w->proc;
    l->limit_bytes = w->limit_bytes;
    l->n_inmates = w->n_inmates;
    l->was_over = w->is_over;
    w->next_ms = 0;
    w->is_looked_at = true;
    crew_give(&l->job);
}

/* ---- removing ------------------------------------------------------------------------------ */

static void remove_workspace(int workspaces, const char *name)
{
    for (int pass = 0; pass < REMOVAL_PASSES; pass++) {
        _fd_ int top = tree_open(workspaces, name, O_RDONLY | O_DIRECTORY, 0);
        if (top < 0)
            return;
        tree_empty(top);
        if (unlinkat(workspaces, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
            return;
    }
}

#define LEFTOVERS ".old" /* not a name that a workspace may have */

void keeper_set_aside(int workspaces, const char *name)
{
    static unsigned number;
    for (int tries = 0; tries < SET_ASIDE_TRIES; tries++) {
        char to[sizeof(LEFTOVERS) + 2 * WORKSPACE_NAME_MAX];
        snprintf(to, sizeof(to), LEFTOVERS "/%.*s.%u", WORKSPACE_NAME_MAX, name, number++);
        if (renameat(workspaces, name, workspaces, to) == 0)
            return;
        /* Whoever removes the rest may just have removed the place for it. */
        if (mkdirat(workspaces, LEFTOVERS, 0700) < 0 && errno != EEXIST)
            return;
    }
}

void keeper_set_leftovers_aside(int workspaces)
{
    int fd = reopen_dir(workspaces);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        bool is_ours = entry->d_name[0] == '.' && !fd_is_dots(entry->d_name);
        if (is_ours && strcmp(entry->d_name, LEFTOVERS) != 0)
            keeper_set_aside(workspaces, entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
}

/* In a process of its own, which stays: orders must not wait for it, and many of them are one. */
static void sweep(int workspaces)
{
    static int orders = -1;
    if (orders >= 0 && (write(orders, "s", 1) == 1 || errno == EAGAIN))
        return;
    cleanup_fd(&orders);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return; /* the next order, or the next start, tries again */
    orders = ends[1];
    if (fork() == 0) {
        close(ends[1]);
        fd_set_nonblocking(ends[0], false);
        prctl(PR_SET_NAME, "cella-sweeper");
        close(keeper_control);
        char bytes[KIB];
        while (read(ends[0], bytes, sizeof(bytes)) > 0)
            remove_workspace(workspaces, LEFTOVERS);
        _exit(0);
    }
    close(ends[0]);
    if (write(orders, "s", 1) < 0)
        close(take_fd(&orders));
}

/* A tree may take minutes, in which the quotas of others must hold: what is not empty is removed by
 * a process of its own, unless there can be none. */
static void remove_and_say(int workspaces, const struct keeper_order *order)
{
    if (unlinkat(workspaces, order->workspace, AT_REMOVEDIR) < 0 && errno != ENOENT) {
        pid_t pid = fork();
        if (pid > 0)
            return;
        remove_workspace(workspaces, order->workspace);
        keeper_say(KEEPER_SAYS_REMOVED, order->jail, 0);
        if (pid == 0)
            _exit(0);
        return;
    }
    keeper_say(KEEPER_SAYS_REMOVED, order->jail, 0);
}

/* ---- memory --------------------------------------------------------------------------------- */

struct memory_look {
    struct crew_job job;
    struct keeper_order order;
    uint64_t bytes;
};

static void run_memory_look(struct crew_job *job)
{
    static const char *const parts[] = {"\nPrivate_Clean:", "\nPrivate_Dirty:"};
    struct memory_look *l = CONTAINER_OF(job, struct memory_look, job);
    char path[64];
    _free_ char *text = NULL;
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)l->order.pid);
    if (l->order.pid <= 0 || fd_read_file(AT_FDCWD, path, 16 * KIB, &text, NULL) < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *at = strstr(text, parts[i]);
        l->bytes += at != NULL ? strtoull(at + strlen(parts[i]), NULL, 10) * KIB : 0;
    }
}

static void finish_memory_look(struct crew_job *job)
{
    struct memory_look *l = CONTAINER_OF(job, struct memory_look, job);
    send_word(&(struct keeper_word){
        .type = KEEPER_SAYS_MEASURED, .head = l->order.head, .bytes = l->bytes});
    free(l);
}

/* ---- orders -------------------------------------------------------------------------------- */

static struct ward *find(uint64_t jail)
{
    LIST_EACH(&wards, at) {
        struct ward *w = CONTAINER_OF(at, struct ward, link);
        if (w->jail == jail)
            return w;
    }
    return NULL;
}

static void forget(struct ward *w)
{
    if (w == NULL)
        return;
    list_remove(&w->link);
    if (w->is_looked_at)
        w->is_forgotten = true;
    else
        free_ward(w);
}

static void obey(const struct keeper_order *order, const int *fds, size_t n_fds, int workspaces)
{
    struct ward *w = find(order->jail);
    struct memory_look *look;
    if (w != NULL)
        w->n_inmates = order->n_inmates;
    switch (order->type) {
    case KEEPER_WATCH:
        if (n_fds == 2) {
            w = mem_alloc(sizeof(*w));
            w->jail = order->jail;
            w->workspace = fds[0];
            w->proc = fds[1];
            w->n_inmates = order->n_inmates;
            list_append(&wards, &w->link);
        }
        if (w != NULL)
            w->limit_bytes = order->disk_mb * MIB;
        break;
    case KEEPER_BUSY:
        if (w != NULL) {
            /* A short cell is not worth a look of its own, but what it may have left running is.
             * Where much room was left by the last look, one that follows soon waits for its pace:
             * a session with many checkpoints has thousands of mappings to look at. */
            uint64_t due_ms = clock_mono_ms() + (order->is_busy ? 0 : KEEPER_PACE_MAX_MS);
            w->is_busy = order->is_busy;
            due_ms = MAX(due_ms, w->earliest_ms);
            if (w->next_ms == 0 || w->next_ms > due_ms)
                w->next_ms = due_ms;
        }
        break;
    case KEEPER_COUNT:
        break;
    case KEEPER_MEASURE:
        /* Reading it takes milliseconds for a large process, and more for one with many mappings.
         */
        look = mem_alloc(sizeof(*look));
        *look = (struct memory_look){.order = *order,
                                     .job = {.run = run_memory_look, .finish = finish_memory_look}};
        list_init(&look->job.link);
        crew_give(&look->job);
        break;
    case KEEPER_FORGET:
        forget(w);
        break;
    case KEEPER_REMOVE:
        forget(w);
        remove_and_say(workspaces, order);
        break;
    case KEEPER_SWEEP:
        sweep(workspaces);
        break;
    }
}

/* A head that says it is at rest may write all the same (a signal handler, a forged verdict), but
 * the disk shows it, unless others leave as much of it at the same time: so every other look is a
 * look at the jails themselves. */
static struct {
    uint64_t next_ms;
    unsigned n_looks;
    uint64_t free_bytes;
    uint64_t free_files;
} disk;

static bool has_disk_shrunk(int workspaces)
{
    struct statvfs st;
    if (fstatvfs(workspaces, &st) < 0)
        return true;
    uint64_t bytes = (uint64_t)st.f_bfree * st.f_frsize;
    bool has_shrunk =
        bytes + REST_MB * MIB < disk.free_bytes || st.f_ffree + REST_FILES < disk.free_files;
    /* Small losses add up to one that counts. */
    if (has_shrunk || bytes > disk.free_bytes)
        disk.free_bytes = bytes;
    if (has_shrunk || st.f_ffree > disk.free_files)
        disk.free_files = st.f_ffree;
    return has_shrunk;
}

/* Once in a while, as long as anybody rests. */
static void look_at_disk(int workspaces)
{
    uint64_t now_ms = clock_mono_ms();
    if (disk.next_ms == 0 || disk.next_ms > now_ms)
        return;
    disk.next_ms = now_ms + REST_MS;
    if (!has_disk_shrunk(workspaces) && ++disk.n_looks % 2 != 0)
        return;
    LIST_EACH(&wards, at) {
        struct ward *w = CONTAINER_OF(at, struct ward, link);
        if (w->next_ms == 0)
            w->next_ms = MAX(now_ms, w->earliest_ms);
    }
}

/* Does what is due and returns the milliseconds until something is due again, -1 for never. */
static int check_due(int workspaces)
{
    uint64_t soonest_ms = UINT64_MAX;
    bool is_any_at_rest = false;
    look_at_disk(workspaces);
    LIST_EACH(&wards, at) {
        struct ward *w = CONTAINER_OF(at, struct ward, link);
        if (w->is_looked_at)
            continue; /* its end plans the next one */
        if (w->next_ms != 0 && w->next_ms <= clock_mono_ms())
            begin_look(w);
        else if (w->next_ms != 0)
            soonest_ms = MIN(soonest_ms, w->next_ms);
        else
            is_any_at_rest = true;
    }
    if (!is_any_at_rest) {
        disk.next_ms = 0;
    } else if (disk.next_ms == 0) {
        has_disk_shrunk(workspaces); /* remembers how it is now */
        disk.next_ms = clock_mono_ms() + REST_MS;
    }
    if (disk.next_ms != 0)
        soonest_ms = MIN(soonest_ms, disk.next_ms);
    uint64_t now_ms = clock_mono_ms();
    if (soonest_ms == UINT64_MAX)
        return -1;
    return soonest_ms > now_ms ? (int)(soonest_ms - now_ms) : 0;
}

_Noreturn void keeper_main(int sock, int workspaces)
{
    enum { ORDERS, LOOKS };
    prctl(PR_SET_NAME, "cella-keeper");
    mallopt(M_ARENA_MAX, KEEPER_ARENAS_MAX);
    keeper_control = sock;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    struct pollfd waits[] = {[ORDERS] = {.fd = sock, .events = POLLIN},
                             [LOOKS] = {.fd = crew_start(), .events = POLLIN}};
    if (waits[LOOKS].fd < 0)
        _exit(1);
    if (faccessat(workspaces, LEFTOVERS, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        sweep(workspaces);
    for (;;) {
        int ready = poll(waits, ARRAY_LEN(waits), check_due(workspaces));
        if (ready < 0 && errno != EINTR)
            _exit(1);
        if (ready <= 0)
            continue;
        if (waits[LOOKS].revents)
            crew_finish();
        if (waits[ORDERS].revents) {
            struct keeper_order order;
            int fds[2];
            size_t n_fds = 0;
            if (fd_recv(sock, &order, sizeof(order), fds, 2, &n_fds) != sizeof(order))
                _exit(0); /* the warden is gone */
            order.workspace[WORKSPACE_NAME_MAX - 1] = '\0';
            obey(&order, fds, n_fds, workspaces);
        }
    }
}
