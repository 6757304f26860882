/* blob: the content-addressed store. Promises: a blob has its name (the BLAKE2b-256 hash of its
 * bytes) only once all of its bytes are written; what has a name never changes; several processes
 * may use one store. Owns data_dir/blobs: a blob lies in ab/cdef..., what is being written in
 * tmp-*. May call base alone.
 *
 * A store is the descriptor of its directory. Nothing here is flushed to the disk by itself:
 * a caller that commits to a blob calls blob_sync first. Functions return 0 or -errno unless they
 * say otherwise.
 */
#pragma once

#include "base/err.h"

#include <time.h>

enum { BLOB_HASH_BYTES = 32, BLOB_HEX_SIZE = 2 * BLOB_HASH_BYTES + 1 };

struct blob_hash {
    unsigned char bytes[BLOB_HASH_BYTES];
};

const char *blob_hex(const struct blob_hash *hash, char out[BLOB_HEX_SIZE]);
int blob_parse_hex(const char *hex, struct blob_hash *ret_hash); /* lower case, nothing else */
void blob_hash_of(const void *data, size_t len, struct blob_hash *ret_hash);
bool blob_is_same(const struct blob_hash *a, const struct blob_hash *b);

/* Opens data_dir/blobs and makes it if need be: 0700, the caller's own, never a link. */
int blob_open_store(const char *data_dir, int *ret_store, struct err *e);

/* ---- writing: bytes in, then a name ---------------------------------------------------------- */

struct blob_put {
    struct blob_hash hash;
    uint64_t bytes;
    bool is_new; /* the store did not have it; else the one it has was touched */
};

struct blob_writer;

int blob_writer_new(int store, struct blob_writer **ret_writer);
int blob_writer_add(struct blob_writer *w, const void *data, size_t len);
int blob_writer_finish(struct blob_writer *w, struct blob_put *ret_put);
void blob_writer_free(struct blob_writer *w); /* what was not finished is gone; takes NULL */

int blob_put_bytes(int store, const void *data, size_t len, struct blob_put *ret_put);
/* All of a regular file, shared with it where the file system can (reflink); holes stay holes. More
 * than `max_bytes` give -EFBIG. */
int blob_put_file(int store, int fd, uint64_t max_bytes, struct blob_put *ret_put);
/* The same bytes hashed and not kept. */
int blob_hash_file(int fd, uint64_t max_bytes, struct blob_hash *ret_hash);

/* ---- reading --------------------------------------------------------------------------------- */

/* A descriptor to read from, or -errno; its bytes are not checked. */
int blob_open(int store, const struct blob_hash *hash);
/* The same, after reading all of it: -EBADMSG if the bytes are not those that were written. */
int blob_open_checked(int store, const struct blob_hash *hash);
bool blob_has(int store, const struct blob_hash *hash);
/* All of it, checked, NUL-terminated, the caller's. -EFBIG beyond `max`. */
int blob_read(int store, const struct blob_hash *hash, size_t max, char **ret_data,
              size_t *ret_len);
/* The bytes of one open regular file become those of another, which has none: shared where the file
 * system can, holes stay holes. */
int blob_copy_file(int from, int to);
/* The same for a file that has bytes and keeps its inode. What a full disk could refuse is reserved
 * first, so that the old bytes are whole or the new ones are; -EOPNOTSUPP, and nothing done, where
 * the file system reserves nothing. */
int blob_overwrite_file(int from, int to);

/* ---- keeping --------------------------------------------------------------------------------- */

/* Marks it as used just now, so that blob_remove_idle lets it be. -ENOENT if there is no such blob.
 */
int blob_touch(int store, const struct blob_hash *hash);
/* Safe on the disk from now on: the bytes and the name. blob_sync_all does it for the whole store
 * at once, which is cheaper from some dozen blobs on. */
int blob_sync(int store, const struct blob_hash *hash);
int blob_sync_all(int store);

/* Every blob in no order; the callback may remove the one it is shown. Stops at a callback's
 * non-zero value and returns it. */
typedef int (*blob_on_each)(void *context, const struct blob_hash *hash, uint64_t bytes);
int blob_each(int store, blob_on_each on_each, void *context);
/* The same for the blobs whose hash begins with this byte: work in small steps. */
int blob_each_in(int store, unsigned char first, blob_on_each on_each, void *context);
/* Removes a blob that was neither written nor touched for `idle_s` seconds; -EBUSY if it was. */
int blob_remove_idle(int store, const struct blob_hash *hash, time_t idle_s);
/* Removes what a writer that was killed left behind longer ago than that. */
int blob_remove_unfinished(int store, time_t idle_s);
