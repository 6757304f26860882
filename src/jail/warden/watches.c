/* Limits of inotify in user namespaces. Warden, and a jail's pid 1 while it is built. */
#include "jail/warden/watches.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>

/* Those of the user namespace of who writes them. */
#define OWN_INSTANCES "/proc/sys/user/max_inotify_instances"
#define OWN_WATCHES "/proc/sys/user/max_inotify_watches"

static int set(const char *path, unsigned long limit)
{
    char text[32];
    snprintf(text, sizeof(text), "%lu", limit);
    return fd_write_file(AT_FDCWD, path, text);
}

static int set_to_half_of(const char *path, const char *all)
{
    _free_ char *text = NULL;
    int r = fd_read_file(AT_FDCWD, all, 64, &text, NULL);
    return r < 0 ? r : set(path, strtoul(text, NULL, 10) / 2);
}

int watches_limit_all(void)
{
    int r = set_to_half_of(OWN_INSTANCES, "/proc/sys/fs/inotify/max_user_instances");
    if (r == 0)
        r = set_to_half_of(OWN_WATCHES, "/proc/sys/fs/inotify/max_user_watches");
    return r;
}

int watches_limit_jail(void)
{
    int r = set(OWN_INSTANCES, WATCHES_INSTANCES);
    return r == 0 ? set(OWN_WATCHES, WATCHES_MAX) : r;
}
