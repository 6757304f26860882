/* Rooms: jails below other jails, for branches of their sessions.
 *
 * A room is a jail in all respects, with a workspace, limits, an init and a cgroup of its own, but
 * its user and pid namespaces are children of its source's: that alone lets a copy of the source's
 * session walk in by itself (jail/inside/room.h). From this follows:
 *
 *   1. The source's init must outlive the room. A source that is destroyed first is emptied, and
 *      its init waits for the rooms below it (is_hollow).
 *   2. The room's user is the source's, on the host too. Rooms of one source do not see each other
 *      nor their source; the source sees its rooms' processes, and may signal them.
 *   3. Those in the source see the builder of the room from its first moment below them. So what
 *      can be done outside is, and what has to be done below cannot be dumped.
 *   4. They can also stop it, where nothing but their user stands between: so the warden does not
 *      wait for it, but is told (struct branch_making).
 *   5. The kernel nests 32 namespaces, two of which are the warden's and the first jail's.
 */
#pragma once

#include "base/fd.h"
#include "jail/warden/jail.h"

enum { BRANCH_DEPTH_MAX = 30, BRANCH_MAKE_MS = 5000 };

/* A room that is being built. */
struct branch_making {
    struct list link;
    struct jail *jail; /* has no init yet */
    int sync;          /* reports come here; EOF when the building has ended */
    int builder;       /* pidfd of the first process that builds */
    uint64_t until_ms;
    bool is_reported;
    int fds[FD_PASS_MAX]; /* what the key will open */
    size_t n_fds;
};

/* Begins to build below `source`. `slot` names the room's cgroup. */
int branch_begin(const struct jail_factory *factory, struct jail *source, uint64_t id,
                 uint32_t slot, const char *workspace, const struct jail_limits *limits,
                 struct branch_making **ret, struct err *e);
/* Something has come on `sync`. 0: more is to come; 1: the room stands; -1: it does not, and why.
 */
int branch_read(struct branch_making *m, struct err *e);
/* What opens the room, or -errno. */
int branch_make_key(struct branch_making *m);
/* Ends the building; the jail is the caller's. */
void branch_free(struct branch_making *m);
