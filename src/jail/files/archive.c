/* What is remembered of a workspace between two records of it. Archivist; owns that memory. */
#include "jail/files/archive.h"

#include "jail/files/tree.h"

enum { SETTLED_NS = 20 * 1000 * 1000 }; /* two ticks of the slowest clock that a kernel has */

void archive_drop(struct archive *a)
{
    manifest_free(a->manifest);
    free(a->seen);
    *a = (struct archive){0};
}

void archive_know(struct archive *a, struct manifest *m, const struct blob_hash *hash,
                  struct archive_seen *seen, uint64_t touched_ms)
{
    archive_drop(a);
    *a = (struct archive){.manifest = m, .hash = *hash, .seen = seen, .touched_ms = touched_ms};
}

struct archive_seen archive_see(const struct stat *st, int64_t at_ns)
{
    return (struct archive_seen){
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_ns = tree_ns(&st->st_mtim),
        .ctime_ns = tree_ns(&st->st_ctim),
        .is_settled = tree_ns(&st->st_ctim) + SETTLED_NS < at_ns,
    };
}

bool archive_is_same_stat(const struct archive_seen *seen, const struct stat *st)
{
    return seen->inode == st->st_ino && seen->size == (uint64_t)st->st_size &&
           seen->mtime_ns == tree_ns(&st->st_mtim) && seen->ctime_ns == tree_ns(&st->st_ctim);
}

bool archive_is_unchanged(const struct archive_seen *seen, const struct stat *st)
{
    return seen->is_settled && archive_is_same_stat(seen, st);
}
