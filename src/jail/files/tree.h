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

/* Removes all that is in a directory, however deep. */
void tree_empty(int dir);
/* Removes a name and all below it, however deep. Returns how many names are gone or, if the name
 * itself is not, -errno. */
int64_t tree_remove(int dir, const char *name);

static inline int64_t tree_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}
