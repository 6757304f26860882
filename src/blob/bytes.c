/* The bytes of blobs: written once, hashed on the way, copied and shared. Daemon, and the
 * archivist. */
#include "base/clock.h"
#include "base/fd.h"
#include "blob/store.h"

#include <blake2.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { PIECE_BYTES = 256 * 1024 };

struct blob_writer {
    int store;
    int fd;
    bool has_name;
    uint64_t bytes;
    blake2b_state hash;
    char temp[STORE_TEMP_SIZE];
};

const char *store_temp_name(char out[STORE_TEMP_SIZE])
{
    static atomic_uint_fast64_t number;
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = clock_mono_ns(); /* early boot: the process and the number tell writers apart */
    snprintf(out, STORE_TEMP_SIZE, STORE_TEMP_PREFIX "%d-%llu-%016llx", (int)getpid(),
             (unsigned long long)atomic_fetch_add(&number, 1), (unsigned long long)random);
    return out;
}

/* ---- stretches of data between holes --------------------------------------------------------- */

/* The next stretch at or after `at`: [*ret_start, *ret_end). False at the end of the file. A file
 * system that knows no holes has one stretch. */
static bool next_data(int fd, off_t at, off_t size, off_t *ret_start, off_t *ret_end)
{
    if (at >= size)
        return false;
    off_t start = lseek(fd, at, SEEK_DATA);
    if (start < 0 && errno == ENXIO)
        return false;
    if (start < 0)
        start = at;
    off_t end = lseek(fd, start, SEEK_HOLE);
    *ret_start = MIN(start, size);
    *ret_end = end < 0 ? size : MIN(end, size);
    return *ret_start < *ret_end;
}

static void hash_zeros(blake2b_state *hash, uint64_t len)
{
    static const unsigned char zeros[64 * 1024];
    for (; len > 0; len -= MIN(len, sizeof(zeros)))
        blake2b_update(hash, zeros, MIN(len, sizeof(zeros)));
}

static int write_at(int fd, const void *bytes, size_t len, off_t at)
{
    const char *data = bytes;
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        data += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Hashes [start, end), unless there is no hash, and writes it to the same place of `to`, unless
 * that is -1. A file that ends sooner was cut meanwhile: -EAGAIN. */
static int take_stretch(int fd, off_t start, off_t end, blake2b_state *hash, int to)
{
    size_t size = (size_t)MIN(end - start, (off_t)PIECE_BYTES);
    _free_ unsigned char *piece = malloc(size);
    int r = piece == NULL ? -ENOMEM : 0;
    while (r == 0 && start < end) {
        ssize_t n = pread(fd, piece, MIN((size_t)(end - start), size), start);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EAGAIN;
        if (hash != NULL)
            blake2b_update(hash, piece, (size_t)n);
        if (to >= 0)
            r = write_at(to, piece, (size_t)n, start);
        start += n;
    }
    return r;
}

static int take_file(int fd, uint64_t max_bytes, blake2b_state *hash, int to, uint64_t *ret_bytes)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size > max_bytes)
        return -EFBIG;
    off_t at = 0, start, end;
    while (next_data(fd, at, st.st_size, &start, &end)) {
        hash_zeros(hash, (uint64_t)(start - at));
        int r = take_stretch(fd, start, end, hash, to);
        if (r < 0)
            return r;
        at = end;
    }
    hash_zeros(hash, (uint64_t)(st.st_size - at));
    if (to >= 0 && at < st.st_size && ftruncate(to, st.st_size) < 0)
        return -errno;
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

int blob_writer_new(int store, struct blob_writer **ret_writer)
{
    struct blob_writer *w = mem_alloc(sizeof(*w));
    w->store = store;
    blake2b_init(&w->hash, BLOB_HASH_BYTES);
    w->fd = openat(store, store_temp_name(w->temp),
                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    if (w->fd < 0) {
        int r = -errno;
        free(w);
        return r;
    }
    w->has_name = true;
    *ret_writer = w;
    return 0;
}

int blob_writer_add(struct blob_writer *w, const void *data, size_t len)
{
    int r = write_at(w->fd, data, len, (off_t)w->bytes);
    if (r < 0)
        return r;
    blake2b_update(&w->hash, data, len);
    w->bytes += len;
    return 0;
}

static int give_name(struct blob_writer *w, const struct blob_hash *hash)
{
    char path[STORE_PATH_SIZE];
    store_path(hash, path);
    if (renameat(w->store, w->temp, w->store, path) < 0) {
        if (errno != ENOENT)
            return -errno;
        char prefix[3] = {path[0], path[1]};
        if (mkdirat(w->store, prefix, 0700) < 0 && errno != EEXIST)
            return -errno;
        if (renameat(w->store, w->temp, w->store, path) < 0)
            return -errno;
    }
    w->has_name = false;
    return 0;
}

int blob_writer_finish(struct blob_writer *w, struct blob_put *ret_put)
{
    struct blob_put put = {.bytes = w->bytes};
    blake2b_final(&w->hash, put.hash.bytes, BLOB_HASH_BYTES);
    if (blob_touch(w->store, &put.hash) < 0) {
        int r = give_name(w, &put.hash);
        if (r < 0)
            return r;
        put.is_new = true;
    }
    *ret_put = put;
    return 0;
}

void blob_writer_free(struct blob_writer *w)
{
    if (w == NULL)
        return;
    if (w->has_name)
        unlinkat(w->store, w->temp, 0);
    close(w->fd);
    free(w);
}

int blob_put_bytes(int store, const void *data, size_t len, struct blob_put *ret_put)
{
    struct blob_put put = {.bytes = len};
    blob_hash_of(data, len, &put.hash);
    if (blob_touch(store, &put.hash) == 0) {
        *ret_put = put;
        return 0;
    }
    struct blob_writer *w;
    int r = blob_writer_new(store, &w);
    if (r < 0)
        return r;
    r = blob_writer_add(w, data, len);
    if (r == 0)
        r = blob_writer_finish(w, ret_put);
    blob_writer_free(w);
    return r;
}

/* A file system that once could not share never can; asking costs each file a call. */
static bool bytes_share(int from, int to)
{
    static atomic_bool is_refused;
    if (atomic_load(&is_refused))
        return false;
    if (ioctl(to, FICLONE, from) == 0)
        return true;
    if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV || errno == ENOSYS)
        atomic_store(&is_refused, true);
    return false;
}

int blob_put_file(int store, int fd, uint64_t max_bytes, struct blob_put *ret_put)
{
    struct blob_writer *w;
    int r = blob_writer_new(store, &w);
    if (r < 0)
        return r;
    if (bytes_share(fd, w->fd)) /* what is hashed is our own, whatever becomes of the file */
        r = take_file(w->fd, max_bytes, &w->hash, -1, &w->bytes);
    else
        r = take_file(fd, max_bytes, &w->hash, w->fd, &w->bytes);
    if (r == 0)
        r = blob_writer_finish(w, ret_put);
    blob_writer_free(w);
    return r;
}

int blob_hash_file(int fd, uint64_t max_bytes, struct blob_hash *ret_hash)
{
    blake2b_state hash;
    uint64_t bytes;
    blake2b_init(&hash, BLOB_HASH_BYTES);
    int r = take_file(fd, max_bytes, &hash, -1, &bytes);
    if (r == 0)
        blake2b_final(&hash, ret_hash->bytes, BLOB_HASH_BYTES);
    return r;
}

/* ---- copying --------------------------------------------------------------------------------- */

static int copy_stretch(int from, int to, off_t start, off_t end)
{
    off_t in = start, out = start;
    while (in < end) {
        ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - in), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
            return take_stretch(from, in, end, NULL, to);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
    }
    return 0;
}

int blob_copy_file(int from, int to)
{
    struct stat st;
    if (fstat(from, &st) < 0)
        return -errno;
    if (bytes_share(from, to))
        return 0;
    off_t at = 0, start, end;
    for (; next_data(from, at, st.st_size, &start, &end); at = end) {
        int r = copy_stretch(from, to, start, end);
        if (r < 0)
            return r;
    }
    return ftruncate(to, st.st_size) < 0 ? -errno : 0;
}

/* Space and, for limits on the size of files, length. */
static int reserve(int from, int to, off_t size)
{
    struct stat st;
    off_t at = 0, start, end;
    for (; next_data(from, at, size, &start, &end); at = end)
        if (fallocate(to, FALLOC_FL_KEEP_SIZE, start, end - start) < 0)
            return -errno;
    if (fstat(to, &st) < 0 || (st.st_size < size && ftruncate(to, size) < 0))
        return -errno;
    return 0;
}

/* Zeros where the file system makes no holes. */
static int punch(int to, off_t start, off_t end)
{
    static const char zeros[16 * 1024];
    if (start >= end ||
        fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, end - start) == 0)
        return 0;
    int r = 0;
    for (; r == 0 && start < end; start += sizeof(zeros))
        r = write_at(to, zeros, (size_t)MIN(end - start, (off_t)sizeof(zeros)), start);
    return r;
}

int blob_overwrite_file(int from, int to)
{
    struct stat st;
    if (fstat(from, &st) < 0)
        return -errno;
    if (!bytes_share(from, to)) {
        off_t at = 0, start, end;
        int r = reserve(from, to, st.st_size);
        for (; r == 0 && next_data(from, at, st.st_size, &start, &end); at = end) {
            r = punch(to, at, start);
            if (r == 0)
                r = copy_stretch(from, to, start, end);
        }
        if (r == 0)
            r = punch(to, at, st.st_size);
        if (r < 0)
            return r;
    }
    return ftruncate(to, st.st_size) < 0 ? -errno : 0;
}
