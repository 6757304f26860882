/* The file tree that jails see: assembled once by the warden, shared by all of them, read-only.
 *
 * The warden itself moves into a tiny root (the stage), so that the copy of the mount tree which
 * every jail gets costs a dozen mounts and shows nothing of the host:
 *
 *   /image   what becomes a jail's root: /usr and friends, /etc of our own making, /dev, JAIL_LIB
 *   /ws      the workspaces, one directory for each session
 *   /proc    the warden's own; a jail may mount its own only where a whole one is in sight
 */
#pragma once

#include "base/err.h"

#define IMAGE_ROOT "/image"
#define IMAGE_WORKSPACES "/ws"

struct image_spec {
    const char *workspaces; /* on the host, absolute */
    const char *const *read_only_dirs;
};

/* Opens everything that is named by host paths, while the caller may still reach it. */
struct image_sources;
int image_open_sources(const struct image_spec *spec, struct image_sources **ret, struct err *e);

/* Builds the stage and moves into it. The caller is root of its user namespace, with mount and pid
 * namespaces of its own. Frees the sources. */
int image_build(struct image_sources *sources, struct err *e);
/* Makes IMAGE_ROOT the root of the caller's mount namespace, which must be one of its own, with
 * nothing above it. 0 or -errno. */
int image_become_root(void);
int image_make_parents(const char *path); /* every missing directory above it; 0 or -errno */
