/* Sockets of jails' networks, for the daemon: the way in to what listens in a session. Warden.
 *
 * A socket belongs for good to the network in which it was made. So the warden enters the jail's
 * network for the length of one system call, by way of the jail's init, which nobody inside can
 * replace; connecting is the daemon's business, and waits for nobody here. What the jail's own
 * processes do to their network (names, redirections) can lead such a socket to themselves only. */
#include "jail/warden/prison.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

/* -errno if there is no socket. A warden that could not come back would make sockets of that jail
 * for others: its end is the smaller evil. */
static int socket_inside(const struct jail *j, int family)
{
    static int own = -1;
    if (own < 0)
        own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0 || setns(j->init_pidfd, CLONE_NEWNET) < 0)
        return -errno;
    int sock = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = sock < 0 ? -errno : sock;
    if (setns(own, CLONE_NEWNET) < 0)
        _exit(1);
    return r;
}

void prison_make_socket(const struct request *r)
{
    const struct jail *j = prison_find_jail(r->jail);
    struct report report = {.type = WARDEN_SOCKET, .jail = r->jail, .head = r->head};
    bool is_there = j != NULL && !j->is_ending && !j->is_being_built && j->init_pid > 0;
    bool is_known = r->number == AF_INET || r->number == AF_INET6;
    _fd_ int sock = is_there && is_known ? socket_inside(j, r->number) : -ESRCH;
    const char *why = sock >= 0  ? ""
                      : is_there ? "the kernel makes no socket in the session's network"
                                 : "the session's sandbox has ended";
    if (prison_tell_with(&report, why, sock >= 0 ? sock : -1) < 0)
        prison_tell(&report, "the kernel passes no more descriptors on for the daemon's user");
}
