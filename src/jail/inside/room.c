/* How a copy enters the room of its branch. Runs in a jail, with a moment's capabilities. */
#include "jail/inside/room.h"

#include "base/fd.h"
#include "jail/inside/capabilities.h"
#include "jail/inside/sibling.h"
#include "jail/spec.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>

const char *const room_namespaces[ROOM_NAMESPACES] = {
    "user", "pid", "mnt", "net", "ipc", "uts", "cgroup",
};

/* The filter lets exactly these pass. */
static const int room_flags[ROOM_NAMESPACES] = {
    CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS,     CLONE_NEWNET,
    CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP,
};

enum { FIRST_IN_THE_ROOM = 2 }; /* user and pid come before the last fork */

struct branch_entry {
    int fds[FD_PASS_MAX];
    size_t n_fds;
};

static int open_key(int key, struct branch_entry *ret)
{
    char word;
    ssize_t n = fd_recv(key, &word, 1, ret->fds, FD_PASS_MAX, &ret->n_fds);
    close(key);
    if (n < 0)
        return (int)n;
    return n == 1 && ret->n_fds >= ROOM_NAMESPACES ? 0 : -EBADF; /* it was used before */
}

/* First, so that the copy's own pages are counted where they belong. */
static int room_join_cgroups(const struct branch_entry *room)
{
    for (size_t i = ROOM_NAMESPACES; i < room->n_fds; i++)
        if (write(room->fds[i], "0", 1) != 1)
            return -errno;
    return 0;
}

static int join(const struct branch_entry *room, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (setns(room->fds[i], room_flags[i]) < 0)
            return -errno;
    return 0;
}

/* Joining the mount namespace has led to its root. */
static int change_directory(const char *name)
{
    return chdir(name) < 0 && chdir(JAIL_WORKSPACE) < 0 ? -errno : 0;
}

/* All but the last step happens in a process that ends here. */
static int enter(const struct branch_entry *room, const char *directory)
{
    int r = room_join_cgroups(room);
    if (r == 0)
        r = join(room, 0, FIRST_IN_THE_ROOM);
    if (r < 0)
        return r;
    pid_t pid = sibling_fork();
    if (pid > 0)
        _exit(0);
    if (pid < 0)
        return pid;
    r = join(room, FIRST_IN_THE_ROOM, ROOM_NAMESPACES);
    if (r == 0)
        r = change_directory(directory);
    int dropped = jail_drop_capabilities(); /* whatever came before */
    return r < 0 ? r : dropped;
}

int room_enter(int key)
{
    struct branch_entry room = {0};
    char directory[PATH_MAX];
    if (getcwd(directory, sizeof(directory)) == NULL)
        snprintf(directory, sizeof(directory), JAIL_WORKSPACE);
    int r = open_key(key, &room);
    if (r == 0)
        r = enter(&room, directory);
    for (size_t i = 0; i < room.n_fds; i++)
        close(room.fds[i]);
    room.n_fds = 0;
    return r;
}
