/* Host ids of their own for the sessions of an ordinary user. The kernel lets such a user map one
 * id, its own. /etc/subuid and /etc/subgid may give it more, which two programs of the system with
 * root's rights, newuidmap and newgidmap, write into the maps of a user namespace:
 *
 *   inside 0                    the user itself, who is root there
 *   inside JAIL_UID and above   the last IDMAP_COUNT ids of the user's range, one for each slot
 *
 * Files of sessions then belong to ids over which the user has rights only inside a namespace with
 * the same map; idmap_remove_tree removes them there. */
#pragma once

#include "base/err.h"

#include <sys/types.h>

enum {
    IDMAP_COUNT = 60000,
    IDMAP_LOWEST = 65536, /* ids below are accounts', whatever the files say */
};

struct idmap {
    unsigned first_uid, first_gid;
};

/* Looks in the text of /etc/subuid or /etc/subgid for the user, by name (may be NULL) or number.
 * 0; -ENOENT if it has no range there; -ERANGE if it has none that is large enough. */
int idmap_parse(const char *text, const char *name, unsigned uid, unsigned *ret_first);
/* What the two files give to the user that this process runs as. 0, or -1 and why nothing. */
int idmap_find(struct idmap *ret, struct err *e);
/* Writes the maps of a process of this user that is in a new user namespace. Takes some seconds at
 * most. If it fails the process is of no use any more: one of the maps may be there. */
int idmap_write(pid_t pid, const struct idmap *map, struct err *e);
/* Runs a function in a child that is root of a namespace with the map of this user. 0 if the child
 * could be made and the function returned 0. */
int idmap_run(int (*run)(void *context), void *context, struct err *e);
/* Removes a directory with all that is in it, files of sessions too. */
int idmap_remove_tree(const char *path, struct err *e);
