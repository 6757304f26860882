/* What a session is told of the machine that it runs on: numbers of its own, in the files where
 * programs look for them (/proc/meminfo, /sys/fs/cgroup, …), and nothing of the host's.
 *
 * The part that is the same for all lies in the image. The rest is a *page* for each jail: a
 * directory of small files in a file system of the warden's, which jails see read-only. The warden
 * writes a page when a jail is made or gets other limits, and anew when a cell has run for a while.
 *
 * /proc is the jail's own and has nothing but processes (subset=pid). It is mounted whole for a
 * moment; the files below are mounted over those of the same name, and then it is told to forget
 * all others: what is not on our list, of this kernel or of any to come, cannot be found. */
#pragma once

#include "base/err.h"
#include "jail/warden/cgroup.h"

#define FACTS_IN_JAIL JAIL_LIB "/session" /* where a jail sees its page */

struct facts; /* all pages */

/* What all jails have in common, below IMAGE_ROOT, while that can still be written. */
int facts_write_image(struct err *e);
/* In the stage. `ret` lives as long as the warden. */
int facts_new(struct facts **ret, struct err *e);

/* A page that says these limits. Its number, or -errno. */
int facts_take(struct facts *f, const struct jail_limits *limits);
void facts_give(struct facts *f, int page); /* back; takes a negative one */
int facts_set_limits(struct facts *f, int page, const struct jail_limits *limits); /* -errno */
/* What the jail has used by now. A session that keeps us from writing to its page keeps its old
 * numbers. */
void facts_refresh(struct facts *f, int page, const struct cgroup_use *use);

/* In who builds a jail, before its root changes: mounts the page and /proc. 0 or -errno. */
int facts_mount(int page);
