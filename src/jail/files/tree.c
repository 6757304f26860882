/* Names in trees that a jail may change under our feet. Archivist and keeper; owns nothing. */
#include "jail/files/tree.h"

#include "base/clock.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

enum {
    TREE_HELD_MAX = 128, /* directories held open while a tree is removed */
    ENTRIES_SIZE = KIB,  /* of each of them, on the stack */
};

int tree_open(int dir, const char *name, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
        .mode = flags & O_CREAT ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
    };
    long fd;
    /* EAGAIN: something was renamed meanwhile, anywhere on the machine; or the file is leased,
     * which asking again does not change. */
    int tries = 8;
    do
        fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && --tries > 0)));
    return fd < 0 ? -errno : (int)fd;
}

/* A position of its own: reading a directory moves that of the descriptor. */
static int open_again(int dir)
{
    return openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int tree_list(int dir, size_t max, struct tree_names *ret)
{
    struct tree_names names = {0};
    size_t cap = 0;
    int fd = open_again(dir);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL && fd >= 0)
        close(fd);
    if (stream == NULL)
        return -errno;
    struct dirent *entry;
    while (names.n <= max && (entry = readdir(stream)) != NULL) {
        if (fd_is_dots(entry->d_name))
            continue;
        if (names.n == cap) {
            cap = MAX(2 * cap, (size_t)16);
            names.names = mem_realloc(names.names, cap * sizeof(*names.names));
        }
        names.names[names.n++] = mem_strdup(entry->d_name);
    }
    closedir(stream);
    if (names.n > max) {
        tree_names_free(&names);
        return -E2BIG;
    }
    if (names.n > 0)
        qsort(names.names, names.n, sizeof(*names.names), by_bytes);
    *ret = names;
    return 0;
}

void tree_names_free(struct tree_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct tree_names){0};
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk_way {
    tree_visit visit;
    void *context;
    char path[TREE_PATH_MAX + 1];
};

static bool walk_names(struct walk_way *w, int dir, size_t len, int depth);

/* False: stop. */
static bool walk_name(struct walk_way *w, int dir, const char *name, size_t len, int depth)
{
    struct tree_found found = {.dir = dir, .name = name, .path = w->path};
    int n = snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len > 0 ? "/" : "", name);
    found.path_len = len + (size_t)n;
    if (found.path_len > TREE_PATH_MAX || fstatat(dir, name, &found.st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    enum tree_step step = w->visit(w->context, &found);
    if (step != TREE_GO_ON || !S_ISDIR(found.st.st_mode) || depth >= TREE_DEPTH_MAX)
        return step != TREE_STOP;
    _fd_ int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
    return child < 0 || walk_names(w, child, found.path_len, depth + 1);
}

static bool walk_names(struct walk_way *w, int dir, size_t len, int depth)
{
    struct tree_names names = {0};
    bool goes_on = true;
    if (tree_list(dir, TREE_NAMES_MAX, &names) < 0)
        return true;
    for (size_t i = 0; i < names.n && goes_on; i++)
        goes_on = walk_name(w, dir, names.names[i], len, depth);
    tree_names_free(&names);
    return goes_on;
}

bool tree_walk(int top, tree_visit visit, void *context)
{
    struct walk_way w = {.visit = visit, .context = context};
    return walk_names(&w, top, 0, 0);
}

/* ---- removing ------------------------------------------------------------------------------ */

struct removal {
    int dir;      /* in which the tree lies */
    int64_t n;    /* names that are gone */
    uint64_t tag; /* makes the names of what was moved ours */
    unsigned n_moved;
};

static const char *moved_name(const struct removal *r, unsigned number, char out[48])
{
    snprintf(out, 48, ".cella-deep-%llx-%u", (unsigned long long)r->tag, number);
    return out;
}

static void remove_contents(struct removal *r, int dir, int depth);

static void remove_one(struct removal *r, int dir, const char *name, int depth)
{
    if (unlinkat(dir, name, 0) == 0) {
        r->n++;
        return;
    }
    if (errno != EISDIR && errno != EPERM)
        return;
    _fd_ int child = tree_open(dir, name, O_RDONLY | O_DIRECTORY, 0);
    if (child < 0)
        return;
    /* The owner may have forbidden it to everybody, itself included. */
    fchmod(child, 0700);
    char moved[48];
    if (depth < TREE_HELD_MAX)
        remove_contents(r, child, depth + 1);
    else if (renameat2(dir, name, r->dir, moved_name(r, r->n_moved, moved), RENAME_NOREPLACE) == 0)
        r->n_moved++; /* too deep for our descriptors: it is now a neighbour of the whole */
    r->n += unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/* Without readdir, which allocates: this also runs in forks of processes with threads, in which
 * another thread may have held a lock of the allocator's when they were made. */
static void remove_contents(struct removal *r, int dir, int depth)
{
    _Alignas(struct dirent64) char entries[ENTRIES_SIZE];
    _fd_ int fd = open_again(dir);
    long size;
    while ((size = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            at += entry->d_reclen;
            if (!fd_is_dots(entry->d_name))
                remove_one(r, dir, entry->d_name, depth);
        }
    }
}

static void remove_moved(struct removal *r)
{
    char moved[48];
    for (unsigned i = 0; i < r->n_moved; i++)
        remove_one(r, r->dir, moved_name(r, i, moved), 0);
}

int64_t tree_remove(int dir, const char *name)
{
    struct removal r = {.dir = dir, .tag = clock_mono_ns()};
    struct stat st;
    remove_one(&r, dir, name, 0);
    remove_moved(&r);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return r.n;
    return S_ISDIR(st.st_mode) ? -ENOTEMPTY : -EPERM;
}

void tree_empty(int dir)
{
    struct removal r = {.dir = dir, .tag = clock_mono_ns()};
    fchmod(dir, 0700);
    remove_contents(&r, dir, 0);
    remove_moved(&r);
}
