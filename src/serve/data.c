/* The data directory: found, made, checked, locked. Daemon at its start, and `cella stop --erase`.
 * */
#include "serve/data.h"

#include "base/fd.h"
#include "jail/warden/guardian.h"
#include "policy/keys.h"
#include "serve/serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>

int serve_data_dir(const char *asked, char **ret_path, struct err *e)
{
    char path[PATH_MAX];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (home == NULL || home[0] != '/') {
        const struct passwd *user = getpwuid(getuid());
        home = user != NULL ? user->pw_dir : NULL;
    }
    if (asked != NULL && asked[0] != '\0') {
        char cwd[PATH_MAX];
        if (asked[0] == '/') {
            *ret_path = mem_strdup(asked);
            return 0;
        }
        if (getcwd(cwd, sizeof(cwd)) == NULL)
            return err_errno(e, ERR_INVALID, errno, "the current directory");
        size_t size = strlen(cwd) + strlen(asked) + 2;
        *ret_path = mem_alloc(size);
        snprintf(*ret_path, size, "%s/%s", cwd, asked);
        return 0;
    }
    if (state != NULL && state[0] == '/')
        snprintf(path, sizeof(path), "%s/cella", state);
    else if (geteuid() == 0)
        snprintf(path, sizeof(path), "/var/lib/cella");
    else if (home != NULL)
        snprintf(path, sizeof(path), "%s/.local/state/cella", home);
    else
        return err_set(e, ERR_INVALID, "there is no home directory; name one with --data DIR");
    *ret_path = mem_strdup(path);
    return 0;
}

static int data_make_dirs(const char *path)
{
    _free_ char *copy = mem_strdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* Other programs have a file called "lock" too (dpkg's directory must not look like ours): it takes
 * a key beside it. */
static bool has_marks(int fd)
{
    return faccessat(fd, SERVE_START_LOCK, F_OK, 0) == 0 ||
           (faccessat(fd, SERVE_LOCK, F_OK, 0) == 0 && faccessat(fd, KEYS_FILE, F_OK, 0) == 0);
}

/* What a daemon makes before its key is in place. */
static bool is_beginning(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, SERVE_LOCK) == 0 ||
           strncmp(name, "." KEYS_FILE "-", strlen("." KEYS_FILE "-")) == 0;
}

bool data_is_ours(int fd)
{
    if (has_marks(fd))
        return true;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    size_t n = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        n += !is_beginning(entry->d_name);
    closedir(dir);
    /* Another starter may have been at work since we looked. */
    return n == 0 || has_marks(fd);
}

static int take_lock(int dir_fd, const char *path, int *ret_fd, struct err *e)
{
    _fd_ int fd =
        openat(dir_fd, SERVE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "opening %.200s/%s", path, SERVE_LOCK);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return err_errno(e, ERR_UNAVAILABLE, errno, "locking %.200s/%s", path, SERVE_LOCK);
        char pid[16] = "";
        ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);
        int digits = n > 0 ? (int)strspn(pid, "0123456789") : 0;
        err_set(e, ERR_CONFLICT, "another daemon (pid %.*s) runs on %.200s", digits, pid, path);
        return err_advise(e, "Use that one, stop it, or name another directory with --data DIR.");
    }
    char text[16];
    int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || fd_write_all(fd, text, (size_t)len) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "writing %.200s/%s", path, SERVE_LOCK);
    *ret_fd = take_fd(&fd);
    return 0;
}

int data_open(const char *asked, struct data_dir *ret, struct err *e)
{
    if (serve_data_dir(asked, &ret->path, e) < 0)
        return -1;
    int rc = data_make_dirs(ret->path);
    int fd = rc < 0 ? -1 : open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        err_errno(e, ERR_UNAVAILABLE, rc < 0 ? rc : errno, "opening the data directory %.200s",
                  ret->path);
        return err_advise(e, "Name a directory that you may write to with --data DIR.");
    }
    ret->fd = fd;
    bool is_root = geteuid() == 0;
    struct stat st;
    if (fstat(ret->fd, &st) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "the data directory %.200s", ret->path);
    bool is_own = st.st_uid == geteuid() || (is_root && st.st_uid == GUARDIAN_ID_BASE);
    if (!is_own || !data_is_ours(ret->fd)) {
        err_set(e, ERR_FORBIDDEN, "%.200s is not a data directory of this user", ret->path);
        return err_advise(e, "Name a new or empty directory of your own with --data DIR.");
    }
    if (fchmod(ret->fd, 0700) < 0 ||
        (is_root && fchown(ret->fd, GUARDIAN_ID_BASE, GUARDIAN_ID_BASE) < 0))
        return err_errno(e, ERR_UNAVAILABLE, errno, "securing the data directory %.200s",
                         ret->path);
    return take_lock(ret->fd, ret->path, &ret->lock_fd, e);
}

void data_close(struct data_dir *d)
{
    free(d->path);
    cleanup_fd(&d->fd);
    cleanup_fd(&d->lock_fd);
    *d = DATA_DIR_INIT;
}
