/* The files of cells.json: named, written, removed, listed. Runs in a worker of the daemon, one at
 * a time; owns nothing. */
#include "notebook/mirror_files.h"

#include "base/fd.h"
#include "base/ids.h"
#include "blob/blob.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { ESCAPED_MAX = MIRROR_FOLDER_SIZE - 2 - BLOB_HEX_SIZE }; /* leaves room for a hash */

#define WORKSPACES "workspaces"
#define FOLDER "mcp_repl"
#define FILE_NAME "cells.json"
#define NEW_NAME "." FILE_NAME ".new"

/* ---- names ----------------------------------------------------------------------------------- */

void mirror_folder_of(const char *user, char out[MIRROR_FOLDER_SIZE])
{
    size_t n = 0;
    for (size_t i = 0; user[i] != '\0'; i++) {
        if (n + 3 > ESCAPED_MAX) {
            struct blob_hash hash;
            char hex[BLOB_HEX_SIZE];
            blob_hash_of(user, strlen(user), &hash);
            snprintf(out + n, MIRROR_FOLDER_SIZE - n, "%%-%s", blob_hex(&hash, hex));
            return;
        }
        unsigned char c = (unsigned char)user[i];
        /* No folder of a user begins with a dot or is called like a session's workspace. */
        bool is_refused_start = i == 0 && (c == '.' || ids_is_uuid(user, strlen(user)));
        if (!is_refused_start && c > ' ' && c != '/' && c != '%' && c != 0x7f)
            out[n++] = user[i];
        else
            n += (size_t)snprintf(out + n, 4, "%%%02x", c);
    }
    out[n] = '\0';
    if (n == 0) /* no other user's: a folder's name has digits behind the sign */
        snprintf(out, MIRROR_FOLDER_SIZE, "%%");
}

/* Whether the name among the workspaces may be a user's folder. */
static bool mirror_is_folder(const char *name)
{
    return name[0] != '.' && !ids_is_uuid(name, strlen(name));
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* A descriptor, or -errno. */
static int mirror_enter(int dir, const char *name, bool makes)
{
    if (makes && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int mirror_enter_all(int data_dir, const char *user_folder, const char *id)
{
    const char *const parts[] = {WORKSPACES, user_folder, id, FOLDER};
    int dir = data_dir;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        int next = mirror_enter(dir, parts[i], i > 0);
        if (dir != data_dir)
            close(dir);
        if (next < 0)
            return next;
        dir = next;
    }
    return dir;
}

/* NULL if the directory cannot be read. */
static DIR *mirror_list_names(int dir, const char *name)
{
    int fd = mirror_enter(dir, name, false);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list == NULL && fd >= 0)
        close(fd);
    return list;
}

/* ---- writing --------------------------------------------------------------------------------- */

int mirror_write(int data_dir, const char *user, const char *id, const struct buf *text,
                 uint64_t at_ms)
{
    char name[MIRROR_FOLDER_SIZE];
    mirror_folder_of(user, name);
    _fd_ int dir = mirror_enter_all(data_dir, name, id);
    if (dir < 0)
        return dir;
    unlinkat(dir, NEW_NAME, 0);
    _fd_ int fd = openat(dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    struct timespec at = {(time_t)(at_ms / 1000), (long)(at_ms % 1000) * 1000 * 1000};
    int error = fd_write_all(fd, buf_str(text), text->len);
    /* A time must not be there without the bytes, also after a power cut. */
    if (error == 0 && (futimens(fd, (struct timespec[]){at, at}) < 0 || fsync(fd) < 0))
        error = -errno;
    if (error == 0 && renameat(dir, NEW_NAME, dir, FILE_NAME) < 0)
        error = -errno;
    if (error < 0)
        unlinkat(dir, NEW_NAME, 0);
    return error;
}

/* ---- removing -------------------------------------------------------------------------------- */

static void mirror_remove_from(int workspaces, const char *user_folder, const char *id)
{
    _fd_ int user = mirror_enter(workspaces, user_folder, false);
    _fd_ int session = user < 0 ? -1 : mirror_enter(user, id, false);
    _fd_ int dir = session < 0 ? -1 : mirror_enter(session, FOLDER, false);
    if (dir < 0)
        return;
    unlinkat(dir, FILE_NAME, 0);
    unlinkat(dir, NEW_NAME, 0);
    /* Each only if it is empty. */
    if (unlinkat(session, FOLDER, AT_REMOVEDIR) == 0 && unlinkat(user, id, AT_REMOVEDIR) == 0)
        unlinkat(workspaces, user_folder, AT_REMOVEDIR);
}

void mirror_remove(int data_dir, const char *id)
{
    DIR *users = mirror_list_names(data_dir, WORKSPACES);
    const struct dirent *entry;
    while (users != NULL && (entry = readdir(users)) != NULL)
        if (mirror_is_folder(entry->d_name))
            mirror_remove_from(dirfd(users), entry->d_name, id);
    if (users != NULL)
        closedir(users);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void mirror_each_of(int workspaces, const char *user_folder, mirror_file_fn fn,
                           void *context)
{
    DIR *ids = mirror_list_names(workspaces, user_folder);
    const struct dirent *entry;
    while (ids != NULL && (entry = readdir(ids)) != NULL) {
        char path[UUID_SIZE + sizeof(FOLDER "/" FILE_NAME)];
        struct stat st;
        if (!ids_is_uuid(entry->d_name, strlen(entry->d_name)))
            continue;
        snprintf(path, sizeof(path), "%.36s/" FOLDER "/" FILE_NAME, entry->d_name);
        bool is_there = fstatat(dirfd(ids), path, &st, AT_SYMLINK_NOFOLLOW) == 0;
        uint64_t at_ms = is_there ? (uint64_t)st.st_mtim.tv_sec * 1000 +
                                        (uint64_t)st.st_mtim.tv_nsec / (1000 * 1000)
                                  : 0;
        fn(context, entry->d_name, at_ms);
    }
    if (ids != NULL)
        closedir(ids);
}

void mirror_each(int data_dir, mirror_file_fn fn, void *context)
{
    DIR *users = mirror_list_names(data_dir, WORKSPACES);
    const struct dirent *entry;
    while (users != NULL && (entry = readdir(users)) != NULL)
        if (mirror_is_folder(entry->d_name))
            mirror_each_of(dirfd(users), entry->d_name, fn, context);
    if (users != NULL)
        closedir(users);
}
