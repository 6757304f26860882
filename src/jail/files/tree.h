/* Trees of files that a jail owns and may change under our feet. */
#pragma once

#include "base/base.h"

#include <sys/stat.h>

/* Opens one name in a directory: never through a link, never on another mount, never waiting.
 * `flags` as for open; O_CLOEXEC and the like are added. A descriptor or -errno. */
int tree_open(int dir, const char *name, int flags, mode_t mode);

/* The names in a directory, without "." and "..", in the order of their bytes. */
struct tree_names {
    char **names;
    size_t n;
};

/* More than `max` give -E2BIG. */
int tree_list(int dir, size_t max, struct tree_names *ret);
void tree_names_free(struct tree_names *names); /* of a zeroed one too */

/* What a walk finds: names in the order of manifests, a directory before what is in it. */
struct tree_found {
    const char *path; /* below where the walk began */
    size_t path_len;
    int dir;          /* the directory that it is in, held open */
    const char *name; /* the last part of the path */
    struct stat st;   /* of the name itself, no link followed */
};

enum { TREE_DEPTH_MAX = 64, TREE_PATH_MAX = 4095, TREE_NAMES_MAX = 256 * 1024 };
enum tree_step { TREE_GO_ON, TREE_PASS_OVER /* what is in this directory */, TREE_STOP };

/* False if `visit` stopped it. Names that come or go meanwhile may be met or not; what lies too
 * deep is passed over, and so is what another name or mount has taken the place of. `visit` may not
 * keep anything of `found`. */
typedef enum tree_step (*tree_visit)(void *context, const struct tree_found *found);
bool tree_walk(int top, tree_visit visit, void *context);

/* Removes all that is in a directory, however deep. */
void tree_empty(int dir);
/* Removes a name and all below it, however deep. Returns how many names are gone or, if the name
 * itself is not, -errno. */
int64_t tree_remove(int dir, const char *name);

static inline int64_t tree_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}
