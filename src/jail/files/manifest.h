/* A manifest: what a workspace looked like at one moment. It is a blob itself, so two workspaces
 * that are the same have the same manifest, and it lists every name with what is needed to make it
 * again.
 *
 * The order of paths is that of a walk: a directory comes before what is in it, all of which comes
 * before the directory's next neighbour; neighbours go by their bytes. The first path is "", the
 * workspace itself. Names may have any bytes but NUL and '/'.
 *
 * Manifests are read from a disk that may be damaged, and the names in them were chosen in jails:
 * manifest_parse lets nothing pass that a restore could stumble over. Every name's parent is a
 * directory of the same manifest; there is no "..", no empty name, no order but the one above. */
#pragma once

#include "base/buf.h"
#include "blob/blob.h"

enum {
    MANIFEST_PATH_MAX = 4095, /* bytes */
    MANIFEST_NAME_MAX = 255,
    MANIFEST_DEPTH_MAX = 64, /* directories below each other */
    MANIFEST_ENTRIES_MAX = 256 * 1024,
    MANIFEST_BYTES_MAX = 128 << 20,
    MANIFEST_DIR_MODE = 0755, /* of directories that manifest_amend adds */
};

enum manifest_type {
    MANIFEST_FILE = 'f',
    MANIFEST_DIR = 'd',
    MANIFEST_LINK = 'l',
    MANIFEST_OTHER = 'o', /* a pipe, socket or device: there was one, nothing more is known */
};

struct manifest_entry {
    enum manifest_type type;
    uint32_t mode; /* permissions: 07777 at most */
    uint64_t size; /* FILE: bytes; else 0 */
    int64_t mtime_ns;
    struct blob_hash hash; /* FILE: its bytes */
    const char *path;      /* NUL-terminated, like target */
    size_t path_len;
    const char *target; /* LINK; else "" */
    size_t target_len;
};

struct manifest {
    struct manifest_entry *entries;
    size_t n_entries;
    char *data; /* holds all paths and targets */
};

/* ---- writing: begin, every entry in order, end ----------------------------------------------- */

void manifest_begin(struct buf *out);
void manifest_append(struct buf *out, const struct manifest_entry *entry);
void manifest_end(struct buf *out, size_t n_entries);

/* ---- reading --------------------------------------------------------------------------------- */

int manifest_parse(const char *data, size_t len, struct manifest **ret_manifest, struct err *e);
/* From the store; a missing or damaged blob is ERR_NOT_FOUND or ERR_INTERNAL. */
int manifest_load(int store, const struct blob_hash *hash, struct manifest **ret_manifest,
                  struct err *e);
void manifest_free(struct manifest *m); /* takes NULL */

const struct manifest_entry *manifest_find(const struct manifest *m, const char *path,
                                           size_t path_len);
/* The first entry after `at` and all that lies below it. */
size_t manifest_after(const struct manifest *m, size_t at);

/* Negative, 0 or positive, as `a` comes before, is or comes after `b`. */
int manifest_order(const char *a, size_t a_len, const char *b, size_t b_len);

/* What is to become of a manifest: `removed` paths go, with all below them; then `added` entries
 * come, in any order, in directories that are added where they are missing and in place of what is
 * there or in the way. A directory that is there stays. */
struct manifest_changes {
    const char *removed[2]; /* or NULL */
    const struct manifest_entry *added;
    size_t n_added;
};

/* The new manifest goes to `out`. */
void manifest_amend(const struct manifest *m, const struct manifest_changes *changes,
                    struct buf *out);
/* The same after all that is at `from` was moved, or copied, to `to`. */
void manifest_graft(const struct manifest *m, const char *from, const char *to, bool is_move,
                    struct buf *out);

/* ---- comparing ------------------------------------------------------------------------------- */

enum manifest_change { MANIFEST_CREATED, MANIFEST_CHANGED, MANIFEST_DELETED };

/* `entry` is the newer one, if there is one. */
typedef void (*manifest_on_change)(void *context, enum manifest_change change,
                                   const struct manifest_entry *entry);
/* In order of paths. Changed is what differs in type, permissions, bytes or target: times alone do
 * not count, nor does the workspace itself. NULL is an empty workspace. */
void manifest_diff(const struct manifest *old, const struct manifest *new,
                   manifest_on_change on_change, void *context);
