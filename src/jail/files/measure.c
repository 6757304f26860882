/* What a workspace takes of the disk, names and what processes hold. Keeper and archivist. */
#include "jail/files/measure.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/fd.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 64,       /* directories below each other; deeper trees count as over the limit */
    ENTRIES_MAX = 200000, /* files of one workspace */
    DEPTH_ENDLESS = 4 * DEPTH_MAX,
    ENTRIES_ENDLESS = ENTRIES_MAX + ENTRIES_MAX / 4,
    MAPS_EVERY_MS = 500,        /* what is mapped takes longer to read than what is open */
    MEASURE_HELD_MAX = 1 << 20, /* descriptors and mappings that lead to files without a name */
    STEPS_PER_LOOK_AT_CLOCK = 32,
    UNFINISHED_EXCESSIVE = 3, /* measurements in a row */
    UNFINISHED_ENDLESS = 6,
    TASK_PATH = 32,
};

static DIR *open_dir(int fd, const char *name)
{
    int child = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = child < 0 ? NULL : fdopendir(child);
    if (dir == NULL && child >= 0) {
        close(child);
        errno = ENOMEM;
    }
    return dir;
}

/* ---- files with a name --------------------------------------------------------------------- */

struct walk {
    struct measure m;
    uint64_t entry_cost;
    bool is_unfinished;
};

static void walk_dir(int fd, const char *name, int depth, struct walk *w)
{
    DIR *dir = open_dir(fd, name);
    struct dirent *entry;
    if (dir == NULL && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        w->is_unfinished = true;
    /* What is not counted could hide anything, so only an end of the jail may cut this short. */
    while (dir != NULL && !w->m.is_endless && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (fd_is_dots(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        struct measure *m = &w->m;
        m->bytes +=
            MAX((uint64_t)st.st_blocks * 512 / MAX((uint64_t)st.st_nlink, 1), w->entry_cost);
        m->entries++;
        m->is_excessive |= m->entries > ENTRIES_MAX || depth > DEPTH_MAX;
        m->is_endless |= m->entries > ENTRIES_ENDLESS || depth > DEPTH_ENDLESS;
        if (S_ISDIR(st.st_mode) && !w->m.is_endless)
            walk_dir(dirfd(dir), entry->d_name, depth + 1, w);
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- files without a name ------------------------------------------------------------------ */

struct held {
    ino_t inode;
    uint64_t bytes;
};

struct held_list {
    dev_t device;
    ino_t init; /* the jail's pid namespace */
    struct held *items;
    size_t len, cap;
    uint64_t until_cpu_ns; /* of this thread */
    unsigned n_steps;
    bool is_unfinished;
};

static uint64_t measure_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A session decides how many steps there are, and we how many we take. */
static bool may_go_on(struct held_list *list)
{
    if (++list->n_steps % STEPS_PER_LOOK_AT_CLOCK == 0 && measure_cpu_ns() > list->until_cpu_ns)
        list->is_unfinished = true;
    return !list->is_unfinished;
}

static ino_t measure_namespace_of(int proc, const char *pid)
{
    char path[TASK_PATH];
    struct stat st;
    snprintf(path, sizeof(path), "%.10s/ns/pid", pid);
    return fstatat(proc, path, &st, 0) == 0 ? st.st_ino : 0;
}

ino_t measure_init_namespace(int proc)
{
    return measure_namespace_of(proc, "1");
}

bool measure_is_resident(int proc, const char *pid, ino_t init)
{
    return init == 0 || measure_namespace_of(proc, pid) == init;
}

/* Neighbours are often pieces of one file, of which the largest counts. */
static void note(struct held_list *list, ino_t inode, uint64_t bytes)
{
    struct held *last = list->len > 0 ? &list->items[list->len - 1] : NULL;
    if (last != NULL && last->inode == inode) {
        last->bytes = MAX(last->bytes, bytes);
        return;
    }
    if (list->len == MEASURE_HELD_MAX) {
        list->is_unfinished = true;
        return;
    }
    if (list->len == list->cap) {
        list->cap = MAX(2 * list->cap, (size_t)64);
        list->items = mem_realloc(list->items, list->cap * sizeof(*list->items));
    }
    list->items[list->len++] = (struct held){.inode = inode, .bytes = bytes};
}

typedef void (*look_fn)(int dir, const char *number, struct held_list *list);

static void look_at_numbers(int fd, const char *path, look_fn look, struct held_list *list)
{
    DIR *dir = open_dir(fd, path);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL && may_go_on(list))
        if (isdigit((unsigned char)entry->d_name[0]))
            look(dirfd(dir), entry->d_name, list);
    if (dir != NULL)
        closedir(dir);
}

/* Looking through a link of /proc opens nothing, so nothing of the jail's can hold us up. */
static void look_at_descriptor(int dir, const char *number, struct held_list *list)
{
    struct stat st;
    if (fstatat(dir, number, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
        st.st_dev == list->device)
        note(list, st.st_ino, (uint64_t)st.st_blocks * 512);
}

static void look_at_thread(int dir, const char *tid, struct held_list *list)
{
    char path[TASK_PATH];
    snprintf(path, sizeof(path), "%.10s/fd", tid);
    look_at_numbers(dir, path, look_at_descriptor, list);
}

/* Each thread by itself: it may have descriptors of its own. */
static void look_at_open(int dir, const char *pid, struct held_list *list)
{
    char path[TASK_PATH];
    snprintf(path, sizeof(path), "%.10s/task", pid);
    if (measure_is_resident(dir, pid, list->init))
        look_at_numbers(dir, path, look_at_thread, list);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* Since Linux 6.11 a descriptor of `maps` answers questions; of <linux/fs.h>. */
struct map_query {
    uint64_t size;
    uint64_t flags;
    uint64_t address;
    uint64_t start, end;
    uint64_t vma_flags, page_size, offset;
    uint64_t inode;
    uint32_t major, minor;
    uint32_t name_size, build_id_size;
    uint64_t name_at, build_id_at;
};

#define MAP_QUERY _IOWR('f', 17, struct map_query)
#define MAP_QUERY_THIS_OR_NEXT 0x10U
#define MAP_QUERY_OF_FILES 0x20U

#define DELETED "(deleted)" /* ends the name of a file that has none */

/* Making the name is what takes long, so it is asked for only when the file is another one. */
static bool is_deleted(int maps, const struct map_query *found)
{
    char name[PATH_MAX] = "";
    struct map_query q = {.size = sizeof(q),
                          .address = found->start,
                          .name_at = (uintptr_t)name,
                          .name_size = sizeof(name)};
    if (ioctl(maps, MAP_QUERY, &q) < 0)
        return errno == ENAMETOOLONG; /* nobody can have opened it by that name */
    return q.inode == found->inode && strstr(name, DELETED) != NULL;
}

/* False: this kernel does not answer. */
static bool query_mappings(int maps, struct held_list *list)
{
    struct map_query q = {.size = sizeof(q), .flags = MAP_QUERY_THIS_OR_NEXT | MAP_QUERY_OF_FILES};
    uint64_t known = 0;
    bool is_known_deleted = false;
    while (may_go_on(list) && ioctl(maps, MAP_QUERY, &q) == 0) {
        if (makedev(q.major, q.minor) == list->device) {
            if (q.inode != known)
                is_known_deleted = is_deleted(maps, &q);
            known = q.inode;
            if (is_known_deleted)
                note(list, q.inode, q.end - q.start);
        }
        q.address = q.end;
    }
    return errno != ENOTTY;
}

static void read_mappings(int fd, struct held_list *list)
{
    FILE *maps = fdopen(fd, "r");
    _free_ char *line = NULL; /* as long as it is: a path may have thousands of bytes */
    size_t size = 0;
    while (maps != NULL && may_go_on(list) && getline(&line, &size, maps) >= 0) {
        unsigned long start, end, inode;
        unsigned major, minor;
        if (strstr(line, DELETED) != NULL &&
            sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &major, &minor, &inode) == 5 &&
            makedev(major, minor) == list->device)
            note(list, inode, end - start);
    }
    if (maps != NULL)
        fclose(maps);
    else
        close(fd);
}

/* The size of a mapping stands for that of its file, which cannot be looked at. Processes that
 * share their memory are looked at one by one: their numbers in the jail do not tell. */
static void look_at_mapped(int dir, const char *pid, struct held_list *list)
{
    char path[TASK_PATH];
    if (!measure_is_resident(dir, pid, list->init))
        return;
    snprintf(path, sizeof(path), "%.10s/maps", pid);
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    errno = 0;
    if (query_mappings(fd, list))
        close(fd);
    else
        read_mappings(fd, list);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int by_inode_largest_first(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    if (x->inode != y->inode)
        return x->inode > y->inode ? 1 : -1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Many descriptors or mappings may lead to one file. False: there was more than could be counted.
 */
static bool sum_held(int proc, dev_t device, uint64_t until_cpu_ns, look_fn look, uint64_t *ret)
{
    struct held_list list = {
        .device = device, .init = measure_init_namespace(proc), .until_cpu_ns = until_cpu_ns};
    look_at_numbers(proc, ".", look, &list);
    if (list.len > 0)
        qsort(list.items, list.len, sizeof(*list.items), by_inode_largest_first);
    *ret = 0;
    for (size_t i = 0; i < list.len; i++)
        if (i == 0 || list.items[i].inode != list.items[i - 1].inode)
            *ret += list.items[i].bytes;
    free(list.items);
    return !list.is_unfinished;
}

struct measure measure_named(int workspace, uint64_t entry_cost)
{
    struct walk walk = {.entry_cost = entry_cost};
    walk_dir(workspace, ".", 0, &walk);
    return walk.m;
}

struct measure measure_workspace(int workspace, int proc, uint64_t entry_cost, uint64_t held_cpu_ms,
                                 struct measure_held *held)
{
    struct walk walk = {.entry_cost = entry_cost};
    struct measure *m = &walk.m;
    struct stat st;
    uint64_t open_bytes;
    if (fstat(workspace, &st) < 0)
        return *m;
    walk_dir(workspace, ".", 0, &walk);
    uint64_t until_cpu_ns = measure_cpu_ns() + held_cpu_ms * 1000000;
    bool is_finished = sum_held(proc, st.st_dev, until_cpu_ns, look_at_open, &open_bytes);
    bool looks_at_mapped = clock_mono_ms() >= held->next_ms;
    if (looks_at_mapped) {
        is_finished &= sum_held(proc, st.st_dev, until_cpu_ns, look_at_mapped, &held->mapped_bytes);
        held->next_ms = clock_mono_ms() + MAPS_EVERY_MS;
    }
    if (!is_finished || walk.is_unfinished)
        held->n_unfinished++;
    else if (looks_at_mapped)
        held->n_unfinished = 0;
    m->is_uncountable = held->n_unfinished >= UNFINISHED_EXCESSIVE;
    m->is_excessive |= m->is_uncountable;
    m->is_endless |= held->n_unfinished >= UNFINISHED_ENDLESS;
    m->bytes += MAX(open_bytes, held->mapped_bytes); /* a file may be both open and mapped */
    return *m;
}
