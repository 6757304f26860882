/* What every zygote does: it waits for orders of the warden and forks children that walk into
 * jails. Used by the library in Python's zygotes and by the launcher of the others. */
#pragma once

#include "base/base.h"

/* What an interpreter must do around a fork; members may be NULL. */
struct zygote_hooks {
    void (*before_fork)(void);
    void (*after_fork_child)(void); /* inside its jail, every wall standing */
    void (*after_fork_parent)(void);
};

enum { ZYGOTE_CONTROL_FD = 3, ZYGOTE_FILTER_FD = 4 }; /* what the warden starts a zygote with */

/* Serves until the warden goes away, then returns -errno. In each child it returns the session's
 * socket, with every wall standing. A child that `execs` next cannot be looked into until it has.
 */
int zygote_serve(int control, const struct zygote_hooks *hooks, bool execs);
/* Tells the daemon on the session's socket why there will be no interpreter. */
void zygote_send_fatal(int session_sock, const char *doing, int errnum);
