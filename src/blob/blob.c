/* Names, opening, keeping and removing; the bytes are bytes.c's. Daemon, and the archivist. */
#include "blob/blob.h"

#include "base/fd.h"
#include "blob/store.h"

#include <blake2.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- names ----------------------------------------------------------------------------------- */

const char *blob_hex(const struct blob_hash *hash, char out[BLOB_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < BLOB_HASH_BYTES; i++) {
        out[2 * i] = digits[hash->bytes[i] >> 4];
        out[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    out[BLOB_HEX_SIZE - 1] = '\0';
    return out;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int blob_parse_hex(const char *hex, struct blob_hash *ret_hash)
{
    struct blob_hash hash;
    if (strlen(hex) != BLOB_HEX_SIZE - 1)
        return -EINVAL;
    for (size_t i = 0; i < BLOB_HASH_BYTES; i++) {
        int high = digit_value(hex[2 * i]), low = digit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return -EINVAL;
        hash.bytes[i] = (unsigned char)(high << 4 | low);
    }
    *ret_hash = hash;
    return 0;
}

void blob_hash_of(const void *data, size_t len, struct blob_hash *ret_hash)
{
    blake2b(ret_hash->bytes, data, NULL, BLOB_HASH_BYTES, len, 0);
}

bool blob_is_same(const struct blob_hash *a, const struct blob_hash *b)
{
    return memcmp(a->bytes, b->bytes, BLOB_HASH_BYTES) == 0;
}

const char *store_path(const struct blob_hash *hash, char out[STORE_PATH_SIZE])
{
    char hex[BLOB_HEX_SIZE];
    blob_hex(hash, hex);
    snprintf(out, STORE_PATH_SIZE, "%.2s/%s", hex, hex + 2);
    return out;
}

/* ---- the store ------------------------------------------------------------------------------- */

int blob_open_store(const char *data_dir, int *ret_store, struct err *e)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/blobs", data_dir);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make %s", path);
    _fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot use %s", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_FORBIDDEN, "%s belongs to another user", path);
    *ret_store = take_fd(&fd);
    return 0;
}

int blob_open(int store, const struct blob_hash *hash)
{
    char path[STORE_PATH_SIZE];
    _fd_ int fd = openat(store, store_path(hash, path),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? take_fd(&fd) : -EBADMSG;
}

int blob_open_checked(int store, const struct blob_hash *hash)
{
    _fd_ int fd = blob_open(store, hash);
    struct blob_hash found;
    if (fd < 0)
        return fd;
    int r = blob_hash_file(fd, UINT64_MAX, &found);
    if (r < 0)
        return r;
    return blob_is_same(&found, hash) ? take_fd(&fd) : -EBADMSG;
}

bool blob_has(int store, const struct blob_hash *hash)
{
    char path[STORE_PATH_SIZE];
    return faccessat(store, store_path(hash, path), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int blob_read(int store, const struct blob_hash *hash, size_t max, char **ret_data, size_t *ret_len)
{
    char path[STORE_PATH_SIZE];
    _free_ char *data = NULL;
    size_t len;
    int r = fd_read_file(store, store_path(hash, path), max, &data, &len);
    if (r < 0)
        return r;
    struct blob_hash found;
    blob_hash_of(data, len, &found);
    if (!blob_is_same(&found, hash))
        return -EBADMSG;
    *ret_data = take_ptr(data);
    *ret_len = len;
    return 0;
}

/* ---- keeping --------------------------------------------------------------------------------- */

int blob_touch(int store, const struct blob_hash *hash)
{
    char path[STORE_PATH_SIZE];
    return utimensat(store, store_path(hash, path), NULL, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int sync_path(int store, const char *path, int flags)
{
    _fd_ int fd = openat(store, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int blob_sync(int store, const struct blob_hash *hash)
{
    char path[STORE_PATH_SIZE];
    int r = sync_path(store, store_path(hash, path), O_NONBLOCK);
    path[2] = '\0';
    if (r == 0)
        r = sync_path(store, path, O_DIRECTORY);
    /* The directory's own name may be new too. */
    return r == 0 ? sync_path(store, ".", O_DIRECTORY) : r;
}

int blob_sync_all(int store)
{
    return syncfs(store) < 0 ? -errno : 0;
}

static DIR *blob_open_dir(int store, const char *name)
{
    int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

int blob_each_in(int store, unsigned char first, blob_on_each on_each, void *context)
{
    char prefix[3];
    snprintf(prefix, sizeof(prefix), "%02x", first);
    DIR *dir = blob_open_dir(store, prefix);
    struct dirent *entry;
    int r = 0;
    while (dir != NULL && r == 0 && (entry = readdir(dir)) != NULL) {
        char hex[2 + sizeof(entry->d_name)];
        struct blob_hash hash;
        struct stat st;
        snprintf(hex, sizeof(hex), "%.2s%s", prefix, entry->d_name);
        if (blob_parse_hex(hex, &hash) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            r = on_each(context, &hash, (uint64_t)st.st_size);
    }
    if (dir != NULL)
        closedir(dir);
    return r;
}

int blob_each(int store, blob_on_each on_each, void *context)
{
    int r = 0;
    for (unsigned i = 0; i < 256 && r == 0; i++)
        r = blob_each_in(store, (unsigned char)i, on_each, context);
    return r;
}

static bool blob_is_idle(int store, const char *path, time_t idle_s)
{
    struct stat st;
    return fstatat(store, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtime <= time(NULL) - idle_s;
}

/* A writer may find and touch the blob at any moment. It is taken out of sight first: a writer that
 * comes later writes it anew, and one that came before has touched it. */
int blob_remove_idle(int store, const struct blob_hash *hash, time_t idle_s)
{
    char path[STORE_PATH_SIZE], aside[STORE_TEMP_SIZE];
    store_path(hash, path);
    if (!blob_is_idle(store, path, idle_s))
        return faccessat(store, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : -EBUSY;
    if (renameat(store, path, store, store_temp_name(aside)) < 0)
        return -errno;
    if (!blob_is_idle(store, aside, idle_s) &&
        (renameat2(store, aside, store, path, RENAME_NOREPLACE) == 0 || errno != EEXIST))
        return -EBUSY;
    return unlinkat(store, aside, 0) < 0 ? -errno : 0;
}

int blob_remove_unfinished(int store, time_t idle_s)
{
    DIR *dir = blob_open_dir(store, ".");
    if (dir == NULL)
        return -errno;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, STORE_TEMP_PREFIX, sizeof(STORE_TEMP_PREFIX) - 1) == 0 &&
            blob_is_idle(store, entry->d_name, idle_s))
            unlinkat(store, entry->d_name, 0);
    closedir(dir);
    return 0;
}
