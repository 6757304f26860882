/* What all jails are told alike, and how a jail gets to see it. */
#include "base/fd.h"
#include "jail/warden/facts.h"
#include "jail/warden/facts_parts.h"
#include "jail/warden/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

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
} links[] = {
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

uint32_t facts_count_cpus(void)
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
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(links); i++)
        r = write_link(links[i].path, links[i].target);
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

static int bind(const char *source, const char *target)
{
    return mount(source, target, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

/* Nobody but us has looked anything up in this /proc, so the kernel knows no names in it but those
 * that something is mounted on. From now on it finds no others. */
static int forget_the_rest(void)
{
    if (mount("proc", PROC, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "subset=pid,hidepid=invisible") < 0)
        return -errno;
    return access(PROC "/devices", F_OK) == 0 ? -ENOTSUP : 0;
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
    int r = bind(PROC "/uptime", PROC "/uptime");
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(of_page); i++) {
        char source[64], target[64];
        snprintf(source, sizeof(source), "%s/%s", own, of_page[i]);
        snprintf(target, sizeof(target), PROC "/%s", of_page[i]);
        r = bind(source, target);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(of_all); i++) {
        char source[64], target[64];
        snprintf(source, sizeof(source), SHARED "/%s", of_all[i]);
        snprintf(target, sizeof(target), PROC "/%s", of_all[i]);
        r = bind(source, target);
    }
    if (r == 0)
        r = mount_link(SHARED "/mounts", PROC "/mounts");
    if (r == 0)
        r = mount_link(SHARED "/net", PROC "/net");
    if (r == 0)
        r = bind(own, IMAGE_ROOT FACTS_IN_JAIL);
    return r == 0 ? forget_the_rest() : r;
}
