/* The group that all of a daemon's jails are in: where it can be, how it is made, how it goes. */
#include "base/fd.h"
#include "jail/warden/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define GROUP_PREFIX "cella-"
#define LEAF GROUP_PREFIX "leaf" /* v2: where the processes of the base step aside */
#define WARDEN_GROUP "warden"

enum { PROC_FILE_MAX = 256 * 1024, REMOVE_TRIES = 200, REMOVE_PAUSE_MS = 10, MOVE_TRIES = 5 };

static const char *const controller_names[CGROUP_CONTROLLERS] = {"memory", "pids", "cpu"};

/* ---- where the hierarchies are --------------------------------------------------------------- */

static bool has_word(const char *list, const char *word, char separator)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += len) {
        bool starts = at == list || at[-1] == separator;
        bool ends = at[len] == '\0' || at[len] == separator || isspace((unsigned char)at[len]);
        if (starts && ends)
            return true;
    }
    return false;
}

/* Mount point of the v1 hierarchy with this controller, or of v2 for NULL. */
static bool find_mount(const char *controller, char *out, size_t size)
{
    _free_ char *mounts = NULL;
    if (fd_read_file(AT_FDCWD, "/proc/self/mounts", PROC_FILE_MAX, &mounts, NULL) < 0)
        return false;
    char *save = NULL;
    for (char *line = strtok_r(mounts, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char point[PATH_MAX / 2], type[32], options[512];
        if (sscanf(line, "%*s %2047s %31s %511s", point, type, options) != 3)
            continue;
        bool matches = controller
                           ? strcmp(type, "cgroup") == 0 && has_word(options, controller, ',')
                           : strcmp(type, "cgroup2") == 0;
        if (matches) {
            snprintf(out, size, "%s", point);
            return true;
        }
    }
    return false;
}

/* Our own group in the hierarchy: "/" if it cannot be told. */
static void find_own_group(const char *controller, char *out, size_t size)
{
    snprintf(out, size, "/");
    _free_ char *groups = NULL;
    if (fd_read_file(AT_FDCWD, "/proc/self/cgroup", PROC_FILE_MAX, &groups, NULL) < 0)
        return;
    char *save = NULL;
    for (char *line = strtok_r(groups, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        list++;
        if (controller ? has_word(list, controller, ',') : *list == '\0') {
            snprintf(out, size, "%s", path);
            return;
        }
    }
}

/* ---- our group in one of them ---------------------------------------------------------------- */

/* Returns whether one of them is still busy. */
static bool remove_children(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return false;
    bool is_busy = false;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            is_busy |= unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 && errno == EBUSY;
    closedir(dir);
    return is_busy;
}

/* A group is busy until the last of its processes has been buried. */
static void remove_tree(const char *path)
{
    for (int i = 0; i < REMOVE_TRIES; i++) {
        remove_children(path);
        if (rmdir(path) == 0 || errno != EBUSY)
            return;
        poll(NULL, 0, REMOVE_PAUSE_MS);
    }
}

/* Groups of daemons that were killed together with their guardian. */
static void sweep_orphans(const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL)
        return;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, GROUP_PREFIX, strlen(GROUP_PREFIX)) != 0)
            continue;
        long pid = strtol(entry->d_name + strlen(GROUP_PREFIX), NULL, 10);
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        /* A pid that is not there may be one of another pid namespace, so a living daemon also
         * holds a lock on its groups: taking the empty group of a jail that is just being made
         * would break that. */
        _fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_tree(path);
    }
    closedir(dir);
}

/* Only root can give what it made to others, and their group has the same number. */
static gid_t group_of(uid_t owner)
{
    return geteuid() == 0 ? (gid_t)owner : (gid_t)-1;
}

static int make_group(const char *directory, uid_t owner, char path[PATH_MAX])
{
    sweep_orphans(directory);
    int n = snprintf(path, PATH_MAX, "%s/%s%d", directory, GROUP_PREFIX, (int)getpid());
    if (n >= PATH_MAX || (mkdir(path, 0755) < 0 && errno != EEXIST))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_SH) < 0 || fchown(fd, owner, group_of(owner)) < 0) {
        rmdir(path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

/* ---- v2 -------------------------------------------------------------------------------------- */

/* Whether systemd, or whoever manages the tree, has left this group to us (Delegate=yes). */
static bool is_delegated(const char *directory)
{
    static const char *const marks[] = {"trusted.delegate", "user.delegate"};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        char value;
        if (getxattr(directory, marks[i], &value, 1) == 1 && value == '1')
            return true;
    }
    return false;
}

/* The group to build in. Root builds at the top unless its own group was delegated; others may only
 * build where they are. */
static bool find_base(char *out, size_t size)
{
    char mount[PATH_MAX / 2], own[PATH_MAX / 2];
    if (!find_mount(NULL, mount, sizeof(mount)))
        return false;
    find_own_group(NULL, own, sizeof(own));
    /* Another daemon of ours may have moved us there. */
    size_t len = strlen(own), leaf = strlen("/" LEAF);
    if (len >= leaf && strcmp(own + len - leaf, "/" LEAF) == 0)
        own[len - leaf] = '\0';
    bool is_visible = strcmp(own, "/") != 0 && strstr(own, "/..") == NULL;
    snprintf(out, size, "%s%s", mount, is_visible ? own : "");
    if (access(out, F_OK) < 0 || (geteuid() == 0 && !is_delegated(out)))
        snprintf(out, size, "%s", mount);
    return true;
}

static int move_processes(int base, const char *from, const char *to)
{
    _free_ char *procs = NULL;
    int r = fd_read_file(base, from, PROC_FILE_MAX, &procs, NULL);
    char *save = NULL;
    for (char *pid = r == 0 ? strtok_r(procs, "\n", &save) : NULL; pid;
         pid = strtok_r(NULL, "\n", &save)) {
        int moved = fd_write_file(base, to, pid);
        if (moved < 0 && moved != -ESRCH) /* gone meanwhile: as good as moved */
            r = moved;
    }
    return r;
}

static bool has_processes(int base)
{
    _free_ char *procs = NULL;
    return fd_read_file(base, "cgroup.procs", PROC_FILE_MAX, &procs, NULL) == 0 && procs[0] != '\0';
}

/* Only the root of all groups may have both processes and controllers that it hands down; in any
 * other its processes, ours among them, step aside into a leaf. They may fork meanwhile. */
static void step_aside(int base)
{
    bool is_root = faccessat(base, "cgroup.type", F_OK, 0) < 0;
    if (is_root || !has_processes(base) || (mkdirat(base, LEAF, 0755) < 0 && errno != EEXIST))
        return;
    for (int i = 0; i < MOVE_TRIES && has_processes(base); i++)
        if (move_processes(base, "cgroup.procs", LEAF "/cgroup.procs") < 0)
            return;
}

/* Undoes step_aside, unless another daemon's groups still need the controllers. */
static void step_back(const char *directory)
{
    _fd_ int base = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0 || faccessat(base, LEAF, F_OK, 0) < 0)
        return;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        char word[32];
        snprintf(word, sizeof(word), "-%s", controller_names[c]);
        if (fd_write_file(base, "cgroup.subtree_control", word) == -EBUSY)
            return;
    }
    for (int i = 0; i < MOVE_TRIES && unlinkat(base, LEAF, AT_REMOVEDIR) < 0; i++)
        if (move_processes(base, LEAF "/cgroup.procs", "cgroup.procs") < 0)
            return;
}

/* Has the group hand its controllers down; `has` becomes what it does hand down. */
static bool enable_controllers(int group, bool has[CGROUP_CONTROLLERS])
{
    bool any = false;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        char word[32];
        snprintf(word, sizeof(word), "+%s", controller_names[c]);
        has[c] = has[c] && fd_write_file(group, "cgroup.subtree_control", word) == 0;
        any = any || has[c];
    }
    return any;
}

/* The controllers that the group itself was given. */
static bool available_controllers(int group, bool has[CGROUP_CONTROLLERS])
{
    _free_ char *list = NULL;
    if (fd_read_file(group, "cgroup.controllers", PROC_FILE_MAX, &list, NULL) < 0)
        return false;
    bool any = false;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        has[c] = has_word(list, controller_names[c], ' ');
        any = any || has[c];
    }
    return any;
}

/* One group for all that is ours. The warden lives in a child of it, because whoever starts a
 * process in another group must be allowed to write to what is above both. */
static bool fill_base(struct cgroup_parent *p, int base, uid_t owner)
{
    /* The files that whoever runs a delegated subtree must own. */
    static const char *const files[] = {"cgroup.procs", "cgroup.subtree_control", "cgroup.threads"};
    p->dirs[0] = make_group(p->base, owner, p->paths[0]);
    if (p->dirs[0] < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (fchownat(p->dirs[0], files[i], owner, group_of(owner), 0) < 0)
            return false;
    if (faccessat(base, "cgroup.procs", W_OK, AT_EACCESS) < 0)
        return false;
    return enable_controllers(p->dirs[0], p->has) &&
           (mkdirat(p->dirs[0], WARDEN_GROUP, 0755) == 0 || errno == EEXIST);
}

static bool make_parent_v2(struct cgroup_parent *p, uid_t owner)
{
    if (!find_base(p->base, sizeof(p->base)))
        return false;
    _fd_ int base = open(p->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0 || !available_controllers(base, p->has))
        return false;
    step_aside(base);
    if (enable_controllers(base, p->has) && fill_base(p, base, owner))
        return true;
    cgroup_parent_remove(p);
    return false;
}

/* ---- its life -------------------------------------------------------------------------------- */

void cgroup_parent_make(struct cgroup_parent *p, uid_t owner)
{
    *p = (struct cgroup_parent){.dirs = {-1, -1, -1}};
    bool any = false;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        char mount[PATH_MAX / 2], own[PATH_MAX / 2], directory[PATH_MAX];
        if (!find_mount(controller_names[c], mount, sizeof(mount)))
            continue;
        find_own_group(controller_names[c], own, sizeof(own));
        snprintf(directory, sizeof(directory), "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
        if (access(directory, F_OK) < 0) /* the mount shows a subtree: we are at its root */
            snprintf(directory, sizeof(directory), "%s", mount);
        p->dirs[c] = make_group(directory, owner, p->paths[c]);
        p->has[c] = p->dirs[c] >= 0;
        any = any || p->has[c];
    }
    if (any)
        p->version = 1;
    else if (make_parent_v2(p, owner))
        p->version = 2;
    else
        memset(p->has, 0, sizeof(p->has));
}

void cgroup_parent_remove(struct cgroup_parent *p)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (p->dirs[c] < 0)
            continue;
        close(p->dirs[c]);
        p->dirs[c] = -1;
        remove_tree(p->paths[c]);
    }
    if (p->base[0] != '\0')
        step_back(p->base);
}

void cgroup_parent_empty(struct cgroup_parent *p)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        for (int i = 0; p->dirs[c] >= 0 && i < REMOVE_TRIES && remove_children(p->paths[c]); i++)
            poll(NULL, 0, REMOVE_PAUSE_MS);
    if (p->version == 2)
        mkdirat(p->dirs[0], WARDEN_GROUP, 0755);
}

int cgroup_open_warden_group(const struct cgroup_parent *p)
{
    return p->version == 2 ? openat(p->dirs[0], WARDEN_GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                           : -1;
}
