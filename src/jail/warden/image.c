/* The file tree that jails see, assembled once. Warden, before the first jail. */
#include "jail/warden/image.h"

#include "base/fd.h"
#include "jail/embedded.h"
#include "jail/spec.h"
#include "jail/syscalls.h"
#include "jail/warden/facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define STAGE                                                                                      \
    "/tmp"           /* exists everywhere; covered for a moment, in our own mount namespace only   \
                      */
#define HOST "/host" /* the old root while the stage is built */

enum { SOURCES_MAX = 64, COPY_FILE_MAX = 4 * 1024 * 1024, COPY_DEPTH_MAX = 8 };

struct image_source {
    char path[PATH_MAX]; /* of the target, below IMAGE_ROOT unless it is the workspaces */
    int fd;              /* a detached mount */
    bool is_writable;
    bool is_device;
};

struct image_sources {
    struct image_source items[SOURCES_MAX];
    size_t count;
};

/* System directories of the host: where they are links (/bin -> usr/bin) the link is copied. */
static const char *const system_dirs[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                          "/lib32", "/lib64", "/libx32"};
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom",
                                      /* the caller's own terminal, if it has one */
                                      "/dev/tty"};

/* Of /etc only what programs need and everybody may read. Not what may name places or keys of the
 * host's network: gitconfig, pip.conf, npmrc, wgetrc, environment, profile, sources of apt. */
static const char *const etc_copies[] = {
    "ImageMagick-*",
    "R",
    "X11/rgb.txt",
    "alternatives",
    "debian_version",
    "dpkg",
    "ethertypes",
    "fonts",
    "groff",
    "inputrc",
    "issue",
    "java-*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "magic.mime",
    "mailcap",
    "manpath.config",
    "matplotlibrc",
    "maven",
    "mime.types",
    "nanorc",
    "netconfig",
    "networks",
    "os-release",
    "papersize",
    "perl",
    "php",
    "protocols",
    "python3",
    "python3.*",
    "rpc",
    "services",
    "sgml",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "texmf",
    "timezone",
    "vim",
    "xattr.conf",
    "xml",
};

/* What is installed, which package tools read. */
static const char *const package_data[] = {"/var/lib/dpkg"};

/* Programs look for these, and do without what would be in them. */
static const char *const empty_dirs[] = {
    "/etc/apt/apt.conf.d",
    "/etc/apt/preferences.d",
    "/etc/apt/sources.list.d",
    "/etc/apt/trusted.gpg.d",
    "/var/cache/apt/archives/partial",
    "/var/lib/apt/lists/partial",
    /* psutil looks for disks and batteries: there are none */
    "/sys/block",
    "/sys/class/power_supply",
};

static const struct {
    const char *path;
    const char *text;
} etc_files[] = {
    {"passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
               "cella:x:1000:1000:cella:/workspace:/bin/bash\n"
               "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\ncella:x:1000:\nnogroup:x:65534:\n"},
    {"hosts", "127.0.0.1 localhost cella\n::1 localhost cella\n"},
    {"hostname", "cella\n"},
    {"host.conf", "multi on\n"}, /* localhost has two addresses */
    {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
    {"resolv.conf", ""},
    {"bash.bashrc", "[ -z \"$PS1\" ] && return\n"
                    "shopt -s checkwinsize\n"
                    "PS1='\\u@\\h:\\w\\$ '\n"},
};

/* ---- sources: taken with the host's eyes --------------------------------------------------- */

#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

static int add_source(struct image_sources *s, const char *path, const char *target,
                      bool is_writable, bool is_device, struct err *e)
{
    if (s->count == SOURCES_MAX)
        return err_set(e, ERR_INVALID, "too many directories to show in jails (at most %d)",
                       SOURCES_MAX);
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot clone the mount of %s", path);
    uint64_t attributes = MOUNT_ATTR_NOSUID;
    attributes |= is_writable ? 0 : MOUNT_ATTR_RDONLY;
    attributes |= is_device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
    /* A device node on a read-only mount can still be written to: it is the file tree that is
     * read-only, not the device. */
    struct mount_attr attr = {.attr_set = attributes};
    if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0) {
        int errnum = errno;
        close(fd);
        return err_errno(e, ERR_UNAVAILABLE, errnum, "cannot make the view of %s read-only", path);
    }
    struct image_source *item = &s->items[s->count++];
    item->fd = fd;
    item->is_writable = is_writable;
    item->is_device = is_device;
    snprintf(item->path, sizeof(item->path), "%s", target);
    return 0;
}

static bool is_real_directory(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int open_system(struct image_sources *s, struct err *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(system_dirs); i++)
        if (is_real_directory(system_dirs[i]))
            r = add_source(s, system_dirs[i], system_dirs[i], false, false, e);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(package_data); i++)
        if (is_real_directory(package_data[i]))
            r = add_source(s, package_data[i], package_data[i], false, false, e);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(devices); i++)
        r = add_source(s, devices[i], devices[i], false, true, e);
    return r;
}

int image_open_sources(const struct image_spec *spec, struct image_sources **ret, struct err *e)
{
    /* Nothing that is done here may travel back to the host. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make the mount tree private");
    _free_ struct image_sources *s = mem_alloc(sizeof(*s));
    int r = open_system(s, e);
    for (size_t i = 0; r == 0 && spec->read_only_dirs && spec->read_only_dirs[i]; i++)
        r = add_source(s, spec->read_only_dirs[i], spec->read_only_dirs[i], false, false, e);
    if (r == 0)
        r = add_source(s, spec->workspaces, IMAGE_WORKSPACES, true, false, e);
    if (r < 0)
        return r;
    *ret = take_ptr(s);
    return 0;
}

/* ---- building ------------------------------------------------------------------------------ */

/* Makes every missing directory of the path, the last part too. */
static int image_make_dirs(const char *path)
{
    char part[PATH_MAX];
    for (size_t i = 1; path[i - 1] != '\0'; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        snprintf(part, sizeof(part), "%.*s", (int)i, path);
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

int image_make_parents(const char *path)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == path)
        return 0;
    snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    return image_make_dirs(parent);
}

static int mount_tmpfs(const char *target, const char *options, struct err *e)
{
    if (mount("cella", target, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot mount a tmpfs on %s", target);
    return 0;
}

/* The old root stays in sight at HOST until the image is complete. */
static int enter_stage(struct err *e)
{
    if (mount_tmpfs(STAGE, "mode=755,size=16m", e) < 0)
        return -1;
    if (mkdir(STAGE HOST, 0755) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make %s", STAGE HOST);
    int r = sys_pivot_root(STAGE, STAGE HOST);
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot change the root directory");
    if (chdir("/") < 0 || mkdir(IMAGE_ROOT, 0755) < 0 || mkdir(IMAGE_WORKSPACES, 0755) < 0 ||
        mkdir("/proc", 0555) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make the stage's directories");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        err_errno(e, ERR_UNAVAILABLE, errno, "cannot mount /proc");
        return err_advise(e, "inside a container, run it with an unmasked /proc");
    }
    return mount_tmpfs(IMAGE_ROOT, "mode=755,size=64m", e);
}

static int attach(const struct image_source *item, struct err *e)
{
    char target[PATH_MAX + 16];
    bool in_image = strcmp(item->path, IMAGE_WORKSPACES) != 0;
    snprintf(target, sizeof(target), "%s%s", in_image ? IMAGE_ROOT : "", item->path);
    int r = item->is_device ? image_make_parents(target) : image_make_dirs(target);
    if (r == 0 && item->is_device)
        r = fd_create_file(AT_FDCWD, target, "", 0, 0644);
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "cannot make the mount point %s", target);
    if (syscall(SYS_move_mount, item->fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot mount %s", target);
    return 0;
}

static int copy_link(const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);
    if (n < 0)
        return -errno;
    target[n] = '\0';
    return symlink(target, to) < 0 && errno != EEXIST ? -errno : 0;
}

/* Copies what everybody may read; the rest is as if the host did not have it. */
static void copy_tree(const char *from, const char *to, int depth)
{
    struct stat st;
    if (depth == 0 || lstat(from, &st) < 0 || !(st.st_mode & S_IROTH))
        return;
    if (S_ISLNK(st.st_mode)) {
        copy_link(from, to);
    } else if (S_ISREG(st.st_mode)) {
        _free_ char *text = NULL;
        size_t len;
        if (fd_read_file(AT_FDCWD, from, COPY_FILE_MAX, &text, &len) == 0)
            fd_create_file(AT_FDCWD, to, text, len, 0644);
    } else if (S_ISDIR(st.st_mode)) {
        image_make_dirs(to);
        DIR *dir = opendir(from);
        struct dirent *entry;
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            char child_from[PATH_MAX], child_to[PATH_MAX];
            if (fd_is_dots(entry->d_name))
                continue;
            int n = snprintf(child_from, sizeof(child_from), "%s/%s", from, entry->d_name);
            int m = snprintf(child_to, sizeof(child_to), "%s/%s", to, entry->d_name);
            if (n < (int)sizeof(child_from) && m < (int)sizeof(child_to))
                copy_tree(child_from, child_to, depth - 1);
        }
        if (dir != NULL)
            closedir(dir);
    }
}

/* Copies the files of /etc that a pattern names. */
static void copy_etc(const char *pattern)
{
    char wanted[PATH_MAX];
    snprintf(wanted, sizeof(wanted), HOST "/etc/%s", pattern);
    glob_t found = {0};
    if (glob(wanted, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char to[PATH_MAX];
            snprintf(to, sizeof(to), IMAGE_ROOT "%s", found.gl_pathv[i] + strlen(HOST));
            image_make_parents(to);
            copy_tree(found.gl_pathv[i], to, COPY_DEPTH_MAX);
        }
    globfree(&found);
}

static int write_etc(struct err *e)
{
    image_make_dirs(IMAGE_ROOT "/etc");
    for (size_t i = 0; i < ARRAY_LEN(etc_copies); i++)
        copy_etc(etc_copies[i]);
    for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), IMAGE_ROOT "/etc/%s", etc_files[i].path);
        int r = fd_create_file(AT_FDCWD, path, etc_files[i].text, strlen(etc_files[i].text), 0644);
        if (r < 0)
            return err_errno(e, ERR_UNAVAILABLE, r, "cannot write %s", path);
    }
    return 0;
}

static int write_embedded(struct err *e)
{
    for (const struct embedded_file *f = embedded_files; f->name != NULL; f++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), IMAGE_ROOT JAIL_LIB "/%s", f->name);
        int r = image_make_parents(path);
        if (r == 0)
            r = fd_create_file(AT_FDCWD, path, f->data, f->size, 0755);
        if (r < 0)
            return err_errno(e, ERR_UNAVAILABLE, r, "cannot write %s", path);
    }
    return 0;
}

/* Links of the system (/bin -> usr/bin) and of /dev, and the places where each jail mounts its
 * own. */
static int write_links_and_mount_points(struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(system_dirs); i++) {
        char from[64], to[64];
        snprintf(from, sizeof(from), HOST "%s", system_dirs[i]);
        snprintf(to, sizeof(to), IMAGE_ROOT "%s", system_dirs[i]);
        if (!is_real_directory(from))
            copy_link(from, to);
    }
    static const struct {
        const char *target, *path;
    } links[] = {{"/proc/self/fd", "/dev/fd"},
                 {"/proc/self/fd/0", "/dev/stdin"},
                 {"/proc/self/fd/1", "/dev/stdout"},
                 {"/proc/self/fd/2", "/dev/stderr"},
                 {"pts/ptmx", "/dev/ptmx"},
                 {"/proc/self/mounts", "/etc/mtab"},
                 {"/tmp", "/var/tmp"}};
    static const char *const points[] = {"/proc", "/tmp",         "/dev/shm", "/dev/pts",
                                         "/etc",  JAIL_WORKSPACE, "/var",     "/run"};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(points); i++) {
        char path[64];
        snprintf(path, sizeof(path), IMAGE_ROOT "%s", points[i]);
        r = image_make_dirs(path);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(empty_dirs); i++) {
        char path[64];
        snprintf(path, sizeof(path), IMAGE_ROOT "%s", empty_dirs[i]);
        r = image_make_dirs(path);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(links); i++) {
        char path[64];
        snprintf(path, sizeof(path), IMAGE_ROOT "%s", links[i].path);
        if (symlink(links[i].target, path) < 0)
            r = -errno;
    }
    return r < 0 ? err_errno(e, ERR_UNAVAILABLE, r, "cannot make the image's directories") : 0;
}

static int image_finish(struct err *e)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (syscall(SYS_mount_setattr, AT_FDCWD, IMAGE_ROOT, 0, &read_only, sizeof(read_only)) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make the image read-only");
    /* Not the mount alone, which is one of many that show the same files. */
    _fd_ int fd = (int)syscall(SYS_fspick, AT_FDCWD, IMAGE_ROOT, FSPICK_CLOEXEC);
    if (fd < 0 || syscall(SYS_fsconfig, fd, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0 ||
        syscall(SYS_fsconfig, fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno,
                         "cannot make the image's file system read-only");
    if (umount2(HOST, MNT_DETACH) < 0 || rmdir(HOST) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot let go of the host's files");
    return 0;
}

int image_build(struct image_sources *sources, struct err *e)
{
    int r = enter_stage(e);
    for (size_t i = 0; i < sources->count; i++) {
        if (r == 0)
            r = attach(&sources->items[i], e);
        close(sources->items[i].fd);
    }
    free(sources);
    if (r == 0)
        r = write_links_and_mount_points(e);
    if (r == 0)
        r = write_etc(e);
    if (r == 0)
        r = write_embedded(e);
    if (r == 0)
        r = facts_write_image(e);
    return r == 0 ? image_finish(e) : r;
}

/* pivot_root onto itself stacks the old root below the new one, where one umount finds it: no
 * directory of the image is needed to hold it. */
int image_become_root(void)
{
    if (chdir(IMAGE_ROOT) < 0)
        return -errno;
    int r = sys_pivot_root(".", ".");
    if (r < 0)
        return r;
    return umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ? -errno : 0;
}
