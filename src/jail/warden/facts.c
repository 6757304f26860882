/* What sessions are told of the machine: what is the same for all jails lies in the image, the rest
 * is a page of small files for each. Warden, and a jail's pid 1 while it is built; owns the pages.
 */
#include "jail/warden/facts.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "jail/syscalls.h"
#include "jail/warden/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

#define FACTS_DIR "/facts"                    /* in the stage: the pages */
#define FACTS_SHARED JAIL_LIB "/surroundings" /* in the image: what all jails have in common */

/* Processors of the machine, as far as they are shown to anybody. */
static uint32_t facts_count_cpus(void);

/* ---- what all jails have in common, in the image --------------------------------------------- */

/* What sessions are told of the machine: what is the same for all jails lies in the image, the rest
 * is a page of small files for each. Warden, and a jail's pid 1 while it is built; owns the pages.
 */

enum { SETTING_MAX = 4096, CPUS_MAX = 1024, PLACE_MAX = 128 /* of a path in the image */ };

/* ---- the image ------------------------------------------------------------------------------- */

/* Below /proc/sys: what libraries ask for. Without a text it is the kernel's own setting, which a
 * program that asks would feel anyway. */
static const struct {
    const char *path, *text;
} settings[] = {
    {"fs/file-max", "1048576\n"},
    {"fs/inotify/max_queued_events", NULL},
    {"fs/inotify/max_user_instances", "8\n"}, /* as in jail/warden/watches.h */
    {"fs/inotify/max_user_watches", "8192\n"},
    {"fs/nr_open", "1048576\n"},
    {"fs/pipe-max-size", "65536\n"},
    {"kernel/cap_last_cap", NULL},
    {"kernel/core_pattern", "core\n"},
    {"kernel/domainname", "(none)\n"},
    {"kernel/hostname", "cella\n"},
    {"kernel/ngroups_max", "65536\n"},
    {"kernel/osrelease", NULL},
    {"kernel/ostype", "Linux\n"},
    {"kernel/overflowgid", "65534\n"},
    {"kernel/overflowuid", "65534\n"},
    {"kernel/perf_event_paranoid", "4\n"},
    {"kernel/pid_max", "4194304\n"},
    {"kernel/random/entropy_avail", "256\n"},
    {"kernel/random/poolsize", "256\n"},
    {"kernel/randomize_va_space", "2\n"},
    {"kernel/shmmax", NULL},
    {"kernel/threads-max", "4194304\n"},
    {"kernel/version", NULL},
    {"net/core/somaxconn", NULL},
    {"net/ipv4/ip_local_port_range", NULL},
    {"vm/max_map_count", NULL},
    {"vm/mmap_min_addr", NULL},
    {"vm/overcommit_memory", NULL},
    {"vm/overcommit_ratio", NULL},
    {"vm/swappiness", NULL},
};

/* In /sys, where there is nothing else: links to the page. */
static const struct {
    const char *path, *target;
} facts_links[] = {
    {"/sys/devices/system/cpu", FACTS_IN_JAIL "/cpu"},
    /* Both versions of cgroups: which one the host has is not the session's concern. */
    {"/sys/fs/cgroup/cpu.max", FACTS_IN_JAIL "/cpu.max"},
    {"/sys/fs/cgroup/memory.max", FACTS_IN_JAIL "/memory.max"},
    {"/sys/fs/cgroup/pids.max", FACTS_IN_JAIL "/pids.max"},
    {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", FACTS_IN_JAIL "/cpu.quota"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", FACTS_IN_JAIL "/memory.max"},
    {"/sys/fs/cgroup/memory/memory.soft_limit_in_bytes", FACTS_IN_JAIL "/memory.max"},
    {"/sys/fs/cgroup/pids/pids.max", FACTS_IN_JAIL "/pids.max"},
    {FACTS_SHARED "/mounts", "self/mounts"},
    {FACTS_SHARED "/net", "self/net"},
};

static int place(const char *path, char *out, size_t size)
{
    snprintf(out, size, IMAGE_ROOT "%s", path);
    return image_make_parents(out);
}

static int write_text(const char *path, const char *text)
{
    char full[PLACE_MAX + sizeof(IMAGE_ROOT)];
    int r = place(path, full, sizeof(full));
    return r < 0 ? r : fd_create_file(AT_FDCWD, full, text, strlen(text), 0444);
}

static int write_link(const char *path, const char *target)
{
    char full[PLACE_MAX + sizeof(IMAGE_ROOT)];
    int r = place(path, full, sizeof(full));
    return r == 0 && symlink(target, full) < 0 ? -errno : r;
}

static int write_settings(void)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(settings); i++) {
        char from[PLACE_MAX], to[PLACE_MAX];
        _free_ char *own = NULL;
        snprintf(from, sizeof(from), "/proc/sys/%s", settings[i].path);
        snprintf(to, sizeof(to), FACTS_SHARED "/sys/%s", settings[i].path);
        const char *text = settings[i].text;
        if (text == NULL && fd_read_file(AT_FDCWD, from, SETTING_MAX, &own, NULL) == 0)
            text = own;
        if (text != NULL) /* else this kernel has no such setting */
            r = write_text(to, text);
    }
    return r;
}

static uint32_t facts_count_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return (uint32_t)MIN(MAX(n, 1), (long)CPUS_MAX);
}

/* Each is a core of its own, of the one socket that there is. */
static int write_cpu(uint32_t cpu)
{
    char mask[CPUS_MAX / 32 * 9 + 16], number[16];
    size_t len = (size_t)snprintf(mask, sizeof(mask), "%08x", 1U << cpu % 32);
    for (uint32_t i = 0; i < cpu / 32; i++)
        len += (size_t)snprintf(mask + len, sizeof(mask) - len, ",00000000");
    snprintf(mask + len, sizeof(mask) - len, "\n");
    snprintf(number, sizeof(number), "%u\n", cpu);
    const struct {
        const char *name, *text;
    } files[] = {
        {"core_id", number}, {"physical_package_id", "0\n"},   {"thread_siblings", mask},
        {"core_cpus", mask}, {"thread_siblings_list", number}, {"core_cpus_list", number},
    };
    static const char *const of_all[][2] = {
        {"core_siblings", "mask"},
        {"package_cpus", "mask"},
        {"core_siblings_list", "cpus"},
        {"package_cpus_list", "cpus"},
    };
    char path[PLACE_MAX], target[PLACE_MAX];
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof(path), FACTS_SHARED "/cpus/%u/topology/%s", cpu, files[i].name);
        r = write_text(path, files[i].text);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(of_all); i++) {
        snprintf(path, sizeof(path), FACTS_SHARED "/cpus/%u/topology/%s", cpu, of_all[i][0]);
        snprintf(target, sizeof(target), FACTS_IN_JAIL "/cpu/%s", of_all[i][1]);
        r = write_link(path, target);
    }
    return r;
}

/* The same for every session, and on every host. */
static const struct {
    const char *path, *text;
} texts[] = {
    /* the host's load is not the session's, and nobody counts that */
    {FACTS_SHARED "/loadavg", "0.00 0.00 0.00 1/1 1\n"},
    /* counters that programs want to see and that nobody counts for a session */
    {FACTS_SHARED "/vmstat", "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n"},
    /* of which a session may see something mounted */
    {FACTS_SHARED "/filesystems", "nodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\nnodev\tdevpts\n"
                                  "nodev\toverlay\n\text4\n\txfs\n\tbtrfs\n"},
    {"/sys/class/net/lo/address", "00:00:00:00:00:00\n"},
    {"/sys/class/net/lo/mtu", "65536\n"},
    {"/sys/class/net/lo/operstate", "unknown\n"},
    {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
    {"/sys/fs/cgroup/memory.high", "max\n"},
};

int facts_write_image(struct err *e)
{
    struct utsname name;
    char text[sizeof(name) + 64];
    uname(&name);
    snprintf(text, sizeof(text), "Linux version %s (cella@cella) %s\n", name.release, name.version);
    int r = write_settings();
    if (r == 0)
        r = write_text(FACTS_SHARED "/version", text);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(texts); i++)
        r = write_text(texts[i].path, texts[i].text);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(facts_links); i++)
        r = write_link(facts_links[i].path, facts_links[i].target);
    for (uint32_t cpu = 0; r == 0 && cpu < facts_count_cpus(); cpu++)
        r = write_cpu(cpu);
    if (r == 0 && mkdir(IMAGE_ROOT FACTS_IN_JAIL, 0755) < 0) /* its parent has our drivers */
        r = -errno;
    return r < 0 ? err_errno(e, ERR_UNAVAILABLE, r, "cannot write what sessions are told") : 0;
}

/* ---- a jail ---------------------------------------------------------------------------------- */

#define PROC IMAGE_ROOT "/proc"
#define SHARED IMAGE_ROOT FACTS_SHARED

/* A link, which mount() would follow. */
static int mount_link(const char *source, const char *target)
{
    _fd_ int fd = (int)syscall(SYS_open_tree, AT_FDCWD, source,
                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    if (fd < 0 || syscall(SYS_move_mount, fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return -errno;
    return 0;
}

static int facts_bind(const char *source, const char *target)
{
    return mount(source, target, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

int facts_mount(int page)
{
    char own[32];
    snprintf(own, sizeof(own), FACTS_DIR "/%d", page);
    if (mount("proc", PROC, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible") < 0)
        return -errno;
    static const char *const of_page[] = {"meminfo", "stat", "cpuinfo"};
    static const char *const of_all[] = {"loadavg", "version", "vmstat", "filesystems", "sys"};
    /* The clocks of every process tell the same, and `ps` compares it with theirs. */
    int r = facts_bind(PROC "/uptime", PROC "/uptime");
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(of_page); i++) {
        char source[64], target[64];
        snprintf(source, sizeof(source), "%s/%s", own, of_page[i]);
        snprintf(target, sizeof(target), PROC "/%s", of_page[i]);
        r = facts_bind(source, target);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(of_all); i++) {
        char source[64], target[64];
        snprintf(source, sizeof(source), SHARED "/%s", of_all[i]);
        snprintf(target, sizeof(target), PROC "/%s", of_all[i]);
        r = facts_bind(source, target);
    }
    if (r == 0)
        r = mount_link(SHARED "/mounts", PROC "/mounts");
    if (r == 0)
        r = mount_link(SHARED "/net", PROC "/net");
    if (r == 0)
        r = facts_bind(own, IMAGE_ROOT FACTS_IN_JAIL);
    /* Nobody but us has looked anything up in this /proc, so the kernel knows no names in it but
     * those that something is mounted on. From now on it finds no others. */
    if (r == 0 && mount("proc", PROC, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                        "subset=pid,hidepid=invisible") < 0)
        r = -errno;
    if (r == 0 && access(PROC "/devices", F_OK) == 0)
        r = -ENOTSUP;
    return r;
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum {
    CPUINFO_MAX = 1 << 20, /* of the host */
    TEXT_MAX = 1 << 22,
    PERIOD_US = 100000,
    TICKS_PER_SECOND = 100, /* USER_HZ, whatever the kernel's own is */
};

struct page {
    struct jail_limits limits;
    uint64_t began_ms;
};

struct facts {
    int dir;          /* writable, unlike FACTS_DIR */
    uint32_t n_cpus;  /* of the machine */
    time_t booted_at; /* what the kernel counts the start of processes from */
    char *cpuinfo;    /* the machine's first processor */
    struct page *pages;
    int n_pages;
    int *free_pages;
    int n_free;
};

/* ---- what the files say ---------------------------------------------------------------------- */

static uint32_t shown_cpus(const struct facts *f, const struct jail_limits *limits)
{
    uint32_t wanted = (limits->cpu_percent + 99) / 100;
    return MIN(MAX(wanted, 1U), f->n_cpus);
}

static void print_meminfo(struct buf *out, const struct jail_limits *limits,
                          const struct cgroup_use *use)
{
    const uint64_t total = limits->memory_mb * MIB;
    /* Checkpoints have room of their own beyond the limit, and are counted all the same. */
    const uint64_t held = MIN(use->anonymous_bytes + use->shared_bytes, total);
    const uint64_t cached = MIN(MAX(use->file_bytes, use->shared_bytes), total - held);
    const struct {
        const char *name;
        uint64_t bytes;
    } lines[] = {
        {"MemTotal", total},
        {"MemFree", total - held - cached},
        {"MemAvailable", total - held},
        {"Buffers", 0},
        {"Cached", cached},
        {"SwapCached", 0},
        {"Active", held},
        {"Inactive", cached},
        {"SwapTotal", 0},
        {"SwapFree", 0},
        {"Dirty", 0},
        {"Writeback", 0},
        {"AnonPages", use->anonymous_bytes},
        {"Mapped", 0},
        {"Shmem", use->shared_bytes},
        {"Slab", 0},
        {"SReclaimable", 0},
        {"SUnreclaim", 0},
        {"CommitLimit", total},
        {"Committed_AS", held},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s:", lines[i].name);
        buf_printf(out, "%-16s%8llu kB\n", name, (unsigned long long)(lines[i].bytes / KIB));
    }
}

static void print_cpu_times(struct buf *out, const char *name, uint64_t busy, uint64_t idle)
{
    buf_printf(out, "%s %llu 0 0 %llu 0 0 0 0 0 0\n", name, (unsigned long long)busy,
               (unsigned long long)idle);
}

/* All processors are alike: which of them ran what is the host's affair. */
static void print_stat(struct buf *out, const struct facts *f, const struct page *page,
                       const struct cgroup_use *use)
{
    const uint64_t n = shown_cpus(f, &page->limits);
    const uint64_t lived_ms = clock_mono_ms() - page->began_ms;
    const uint64_t busy = use->cpu_us * TICKS_PER_SECOND / 1000000;
    const uint64_t whole = MAX(n * lived_ms * TICKS_PER_SECOND / 1000, busy);
    print_cpu_times(out, "cpu ", busy, whole - busy);
    for (uint64_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "cpu%u", (unsigned)i);
        print_cpu_times(out, name, busy / n, (whole - busy) / n);
    }
    buf_printf(out,
               "intr 0\nctxt 0\nbtime %lld\nprocesses 0\nprocs_running 1\nprocs_blocked 0\n"
               "softirq 0\n",
               (long long)f->booted_at);
}

/* The machine's first processor again and again, with other numbers. */
static void print_cpuinfo(struct buf *out, const struct facts *f, uint32_t n_cpus)
{
    static const struct {
        const char *key;
        bool is_number, is_count;
    } others[] = {{"processor", true, false},   {"core id", true, false},
                  {"apicid", true, false},      {"initial apicid", true, false},
                  {"siblings", false, true},    {"cpu cores", false, true},
                  {"physical id", false, false}};
    for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
        for (const char *at = f->cpuinfo; *at != '\0';) {
            const size_t len = strcspn(at, "\n");
            const size_t key_len = strcspn(at, "\t:\n");
            size_t i = 0;
            while (i < ARRAY_LEN(others) &&
                   (strlen(others[i].key) != key_len || memcmp(others[i].key, at, key_len) != 0))
                i++;
            if (i == ARRAY_LEN(others))
                buf_printf(out, "%.*s\n", (int)len, at);
            else
                buf_printf(out, "%.*s: %u\n", (int)strcspn(at, ":\n"), at,
                           others[i].is_number  ? cpu
                           : others[i].is_count ? n_cpus
                                                : 0);
            at += len + (at[len] == '\n');
        }
        buf_printf(out, "\n");
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* In place: the file is mounted. Where all is one user the session may hold a lease on it, for
 * which nobody waits. */
static int write_file(const struct facts *f, int page, const char *name, struct buf *text)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/%s", page, name);
    _fd_ int fd =
        openat(f->dir, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0444);
    if (fd < 0)
        return -errno;
    ssize_t n = pwrite(fd, text->data, text->len, 0);
    int r = n < 0 ? -errno : n != (ssize_t)text->len ? -ENOSPC : 0;
    if (r == 0 && ftruncate(fd, (off_t)text->len) < 0)
        r = -errno;
    buf_clear(text);
    return r;
}

static int write_use(const struct facts *f, int page, const struct cgroup_use *use)
{
    _buf_ struct buf text = BUF_INIT(TEXT_MAX);
    print_meminfo(&text, &f->pages[page].limits, use);
    int r = write_file(f, page, "meminfo", &text);
    print_stat(&text, f, &f->pages[page], use);
    if (r == 0)
        r = write_file(f, page, "stat", &text);
    return r;
}

/* Of each processor that is shown: its folder in the image. */
static int write_cpu_links(const struct facts *f, int page, uint32_t n_cpus)
{
    for (uint32_t i = 0; i < f->n_cpus; i++) {
        char path[64], target[64];
        snprintf(path, sizeof(path), "%d/cpu/cpu%u", page, i);
        snprintf(target, sizeof(target), FACTS_SHARED "/cpus/%u", i);
        if (i >= n_cpus && unlinkat(f->dir, path, 0) < 0)
            return errno == ENOENT ? 0 : -errno; /* they are made and removed in order */
        if (i < n_cpus && symlinkat(target, f->dir, path) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int write_limits(const struct facts *f, int page)
{
    const struct jail_limits *limits = &f->pages[page].limits;
    const uint32_t n_cpus = shown_cpus(f, limits);
    const unsigned quota_us = limits->cpu_percent * (PERIOD_US / 100);
    _buf_ struct buf text = BUF_INIT(TEXT_MAX);
    buf_printf(&text, "%s%u\n", n_cpus > 1 ? "0-" : "", n_cpus - 1);
    int r = write_file(f, page, "cpu/cpus", &text);
    /* The first processors, as words of 32 with commas between, the highest first. */
    for (uint32_t word = (n_cpus - 1) / 32 + 1; word-- > 0;) {
        uint32_t n = MIN(n_cpus - word * 32, 32U);
        buf_printf(&text, "%08x%s", n == 32 ? UINT32_MAX : (1U << n) - 1, word > 0 ? "," : "\n");
    }
    if (r == 0)
        r = write_file(f, page, "cpu/mask", &text);
    if (r == 0)
        r = write_cpu_links(f, page, n_cpus);
    print_cpuinfo(&text, f, n_cpus);
    if (r == 0)
        r = write_file(f, page, "cpuinfo", &text);
    buf_printf(&text, "%zu\n", limits->memory_mb * MIB);
    if (r == 0)
        r = write_file(f, page, "memory.max", &text);
    buf_printf(&text, "%u %d\n", quota_us, PERIOD_US);
    if (r == 0)
        r = write_file(f, page, "cpu.max", &text);
    buf_printf(&text, "%u\n", quota_us);
    if (r == 0)
        r = write_file(f, page, "cpu.quota", &text);
    buf_printf(&text, "%u\n", limits->pids);
    if (r == 0)
        r = write_file(f, page, "pids.max", &text);
    return r;
}

int facts_set_limits(struct facts *f, int page, const struct jail_limits *limits)
{
    if (memcmp(&f->pages[page].limits, limits, sizeof(*limits)) == 0)
        return 0;
    f->pages[page].limits = *limits;
    int r = write_limits(f, page);
    if (r == 0)
        r = write_use(f, page, &(struct cgroup_use){0});
    if (r < 0)
        f->pages[page].limits = (struct jail_limits){0}; /* it says something else */
    return r;
}

void facts_refresh(struct facts *f, int page, const struct cgroup_use *use)
{
    write_use(f, page, use);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int make_page(struct facts *f)
{
    char path[16];
    snprintf(path, sizeof(path), "%d", f->n_pages);
    int r = mkdirat(f->dir, path, 0755);
    snprintf(path, sizeof(path), "%d/cpu", f->n_pages);
    if (r < 0 || mkdirat(f->dir, path, 0755) < 0)
        return -errno;
    static const char *const names[] = {"online", "possible", "present"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d/cpu/%s", f->n_pages, names[i]);
        if (symlinkat("cpus", f->dir, name) < 0)
            return -errno;
    }
    size_t n = (size_t)f->n_pages + 1;
    f->pages = mem_realloc(f->pages, n * sizeof(*f->pages));
    f->free_pages = mem_realloc(f->free_pages, n * sizeof(*f->free_pages));
    f->pages[f->n_pages] = (struct page){0};
    return f->n_pages++;
}

/* A page that was used before is likely to say the right limits already; what its last jail had
 * used is nobody else's business. */
int facts_take(struct facts *f, const struct jail_limits *limits)
{
    int page = f->n_free > 0 ? f->free_pages[--f->n_free] : make_page(f);
    if (page < 0)
        return page;
    f->pages[page].began_ms = clock_mono_ms();
    int r = facts_set_limits(f, page, limits);
    if (r == 0)
        r = write_use(f, page, &(struct cgroup_use){0});
    if (r == 0)
        return page;
    facts_give(f, page);
    return r;
}

void facts_give(struct facts *f, int page)
{
    if (page >= 0)
        f->free_pages[f->n_free++] = page;
}

/* Jails are made from the mount at FACTS_DIR, which is read-only; we write through another one,
 * which has no place in any tree. A file system without a size does not tell how full it is, which
 * is how many sessions there are. */
static int mount_pages(struct facts *f)
{
    if ((mkdir(FACTS_DIR, 0755) < 0 && errno != EEXIST) ||
        mount("facts", FACTS_DIR, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "mode=755,size=0,nr_inodes=0") < 0)
        return -errno;
    f->dir = (int)syscall(SYS_open_tree, AT_FDCWD, FACTS_DIR, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (f->dir < 0 ||
        syscall(SYS_mount_setattr, AT_FDCWD, FACTS_DIR, 0, &read_only, sizeof(read_only)) < 0)
        return -errno;
    return 0;
}

int facts_new(struct facts **ret, struct err *e)
{
    struct facts *f = mem_alloc(sizeof(*f));
    struct timespec now, since_boot;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    f->dir = -1;
    f->n_cpus = facts_count_cpus();
    f->booted_at = now.tv_sec - since_boot.tv_sec;
    if (fd_read_file(AT_FDCWD, "/proc/cpuinfo", CPUINFO_MAX, &f->cpuinfo, NULL) < 0)
        f->cpuinfo = mem_strdup("processor\t: 0\n");
    char *end = strstr(f->cpuinfo, "\n\n");
    if (end != NULL)
        end[1] = '\0'; /* the first processor is enough */
    int r = mount_pages(f);
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot make the place for what sessions are told");
    *ret = f;
    return 0;
}
