/* How many files sessions may watch (inotify). The kernel counts instances and watches for each
 * user, 128 instances as a rule, and for every user namespace in between once more: what a jail
 * has is counted for its user, then for the warden's, and at last for the user who started the
 * daemon, whose other programs need some too. So each such namespace gets a limit of its own. */
#pragma once

#include "base/base.h"

/* Of one session and its branches. A program that watches many folders has one instance. */
enum { WATCHES_INSTANCES = 8, WATCHES_MAX = 8192 };

/* In the warden's user namespace: all sessions together leave half to others. 0 or -errno. */
int watches_limit_all(void);
/* In a jail's. Who builds it still has the capability, and the stage's /proc is in sight. */
int watches_limit_jail(void);
