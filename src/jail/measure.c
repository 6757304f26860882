#include "jail/measure.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/fd.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 64,       /* directories below each other; deeper trees count as over the limit */
    ENTRIES_MAX = 200000, /* files of one workspace */
    DEPTH_ENDLESS = 4 * DEPTH_MAX,
    ENTRIES_ENDLESS = ENTRIES_MAX + ENTRIES_MAX / 4,
    MAPS_EVERY_MS = 500,
    TASK_PATH = 32,
};

static DIR *open_dir(int fd, const char *name)
{
    int child = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = child < 0 ? NULL : fdopendir(child);
    if (dir == NULL && child >= 0)
        close(child);
    return dir;
}

/* ---- files with a name --------------------------------------------------------------------- */

struct walk {
    struct measure m;
    uint64_t entry_cost;
};

static void count(struct walk *w, const struct stat *st, int depth)
{
    struct measure *m = &w->m;
    m->bytes += MAX((uint64_t)st->st_blocks * 512 / MAX((uint64_t)st->st_nlink, 1), w->entry_cost);
    m->entries++;
    m->is_excessive |= m->entries > ENTRIES_MAX || depth > DEPTH_MAX;
    m->is_endless |= m->entries > ENTRIES_ENDLESS || depth > DEPTH_ENDLESS;
}

static void walk_dir(int fd, const char *name, int depth, struct walk *w)
{
    DIR *dir = open_dir(fd, name);
    struct dirent *entry;
    /* What is not counted could hide anything, so only an end of the jail may cut this short. */
    while (dir != NULL && !w->m.is_endless && (entry = readdir(dir)) != NULL) {
        struct stat st;
        if (fd_is_dots(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        count(w, &st, depth);
        if (S_ISDIR(st.st_mode) && !w->m.is_endless)
            walk_dir(dirfd(dir), entry->d_name, depth + 1, w);
    }
    if (dir != NULL)
        closedir(dir);
}

/* ---- files without a name ------------------------------------------------------------------ */

struct nameless {
    ino_t inode;
    uint64_t bytes;
};

struct nameless_list {
    dev_t device;
    ino_t init; /* the jail's pid namespace */
    struct nameless *items;
    size_t len, cap;
};

static ino_t namespace_of(int proc, const char *pid)
{
    char path[TASK_PATH];
    struct stat st;
    snprintf(path, sizeof(path), "%.10s/ns/pid", pid);
    return fstatat(proc, path, &st, 0) == 0 ? st.st_ino : 0;
}

ino_t measure_init_namespace(int proc)
{
    return namespace_of(proc, "1");
}

bool measure_is_resident(int proc, const char *pid, ino_t init)
{
    return init == 0 || namespace_of(proc, pid) == init;
}

static void note(struct nameless_list *list, ino_t inode, uint64_t bytes)
{
    if (list->len == list->cap) {
        list->cap = MAX(2 * list->cap, (size_t)64);
        list->items = mem_realloc(list->items, list->cap * sizeof(*list->items));
    }
    list->items[list->len++] = (struct nameless){.inode = inode, .bytes = bytes};
}

typedef void (*look_fn)(int dir, const char *number, struct nameless_list *list);

static void look_at_numbers(int fd, const char *path, look_fn look, struct nameless_list *list)
{
    DIR *dir = open_dir(fd, path);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            look(dirfd(dir), entry->d_name, list);
    if (dir != NULL)
        closedir(dir);
}

/* Looking through a link of /proc opens nothing, so nothing of the jail's can hold us up. */
static void look_at_descriptor(int dir, const char *number, struct nameless_list *list)
{
    struct stat st;
    if (fstatat(dir, number, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
        st.st_dev == list->device)
        note(list, st.st_ino, (uint64_t)st.st_blocks * 512);
}

static void look_at_thread(int dir, const char *tid, struct nameless_list *list)
{
    char path[TASK_PATH];
    snprintf(path, sizeof(path), "%.10s/fd", tid);
    look_at_numbers(dir, path, look_at_descriptor, list);
}

/* Each thread by itself: it may have descriptors of its own. */
static void look_at_open(int dir, const char *pid, struct nameless_list *list)
{
    char path[TASK_PATH];
    snprintf(path, sizeof(path), "%.10s/task", pid);
    if (measure_is_resident(dir, pid, list->init))
        look_at_numbers(dir, path, look_at_thread, list);
}

/* The size of a mapping stands for that of its file, which cannot be looked at. */
static void look_at_mapped(int dir, const char *pid, struct nameless_list *list)
{
    char path[TASK_PATH];
    if (!measure_is_resident(dir, pid, list->init))
        return;
    snprintf(path, sizeof(path), "%.10s/maps", pid);
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
    _free_ char *line = NULL; /* as long as it is: a path may have thousands of bytes */
    size_t size = 0;
    while (maps != NULL && getline(&line, &size, maps) >= 0) {
        unsigned long start, end, inode;
        unsigned major, minor;
        if (strstr(line, "(deleted)") != NULL &&
            sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &start, &end, &major, &minor, &inode) == 5 &&
            makedev(major, minor) == list->device)
            note(list, inode, end - start);
    }
    if (maps != NULL)
        fclose(maps);
}

static int by_inode_largest_first(const void *a, const void *b)
{
    const struct nameless *x = a, *y = b;
    if (x->inode != y->inode)
        return x->inode > y->inode ? 1 : -1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Many descriptors or mappings may lead to one file. */
static uint64_t sum_nameless(int proc, dev_t device, look_fn look)
{
    struct nameless_list list = {.device = device, .init = measure_init_namespace(proc)};
    look_at_numbers(proc, ".", look, &list);
    if (list.len > 0)
        qsort(list.items, list.len, sizeof(*list.items), by_inode_largest_first);
    uint64_t bytes = 0;
    for (size_t i = 0; i < list.len; i++)
        if (i == 0 || list.items[i].inode != list.items[i - 1].inode)
            bytes += list.items[i].bytes;
    free(list.items);
    return bytes;
}

struct measure measure_named(int workspace, uint64_t entry_cost)
{
    struct walk walk = {.entry_cost = entry_cost};
    walk_dir(workspace, ".", 0, &walk);
    return walk.m;
}

struct measure measure_workspace(int workspace, int proc, uint64_t entry_cost,
                                 struct measure_mapped *mapped)
{
    struct walk walk = {.entry_cost = entry_cost};
    struct stat st;
    if (fstat(workspace, &st) < 0)
        return walk.m;
    walk_dir(workspace, ".", 0, &walk);
    uint64_t open_bytes = sum_nameless(proc, st.st_dev, look_at_open);
    if (clock_mono_ms() >= mapped->next_ms) {
        mapped->bytes = sum_nameless(proc, st.st_dev, look_at_mapped);
        mapped->next_ms = clock_mono_ms() + MAPS_EVERY_MS;
    }
    /* A file may be both open and mapped. */
    walk.m.bytes += MAX(open_bytes, mapped->bytes);
    return walk.m;
}
