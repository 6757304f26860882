/* Checkpoints as processes: sleeping, and waking by being copied. Runs in a jail. */
#include "jail/inside/sleeper.h"

#include "base/fd.h"
#include "jail/inside/mappings.h"
#include "jail/inside/sibling.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

static struct descriptors descriptors; /* of the head at its last checkpoint */

static bool read_all(int sock, void *data, size_t len)
{
    for (char *at = data; len > 0;) {
        ssize_t n = read(sock, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* One frame and no byte more: the descriptors that come with its first byte are its own. */
static bool receive(int channel, struct sleeper_order *order)
{
    unsigned char header[4];
    size_t n_fds = 0;
    ssize_t n = fd_recv(channel, header, sizeof(header), order->fds, SLEEPER_MAX_FDS, &n_fds);
    order->n_fds = (uint32_t)n_fds;
    if (n <= 0 || !read_all(channel, header + n, sizeof(header) - (size_t)n))
        return false;
    order->length = header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 |
                    (uint32_t)header[3] << 24;
    return order->length <= sizeof(order->frame) && read_all(channel, order->frame, order->length);
}

/* Returns in copies alone. A fork that fails closes what came with the order: that is the answer.
 */
static void sleep_at(int channel, struct sleeper_order *order)
{
    while (receive(channel, order)) {
        if (sibling_fork() == 0)
            return;
        for (uint32_t i = 0; i < order->n_fds; i++)
            close(order->fds[i]);
    }
    _exit(0);
}

/* Who has pipes and sockets waits until the copy has let go of them, because the next cell may
 * close one and count on it: for the end of a pipe that the copy closes when it has. */
struct parting {
    int wait; /* in the head; -1: nothing to wait for */
    int done; /* in the copy */
};

static void end_parting(const struct parting *p)
{
    if (p->wait >= 0) {
        close(p->wait);
        close(p->done);
    }
}

static pid_t fork_parting(int kept, const int *ours, size_t n_ours, struct parting *p)
{
    int ends[2] = {-1, -1};
    int r = descriptors_note(&descriptors, ours, n_ours, kept);
    if (r == 0 && descriptors.has_streams && pipe2(ends, O_CLOEXEC) < 0)
        r = -errno;
    if (r < 0)
        return r;
    *p = (struct parting){.wait = ends[0], .done = ends[1]};
    pid_t pid = sibling_fork();
    if (pid < 0)
        end_parting(p);
    return pid;
}

static void wait_for_parting(const struct parting *p)
{
    if (p->wait < 0)
        return;
    char byte;
    close(p->done);
    while (read(p->wait, &byte, 1) < 0 && errno == EINTR)
        continue;
    close(p->wait);
}

/* In the copy: what is not its own, and who may look into it. */
static void part(const struct parting *p)
{
    setsid();
    if (descriptors_part(&descriptors) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        _exit(1);
    end_parting(p);
}

/* No signal that can be held back may reach a copy that sleeps: the handlers are the head's. */
static void become_checkpoint(int channel, int head_channel, const struct parting *p,
                              struct sleeper_order *order)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    part(p);
    close(head_channel);
    fd_set_nonblocking(channel, false);
    if (write(channel, "c", 1) != 1)
        _exit(1);
    sleep_at(channel, order);
    close(channel);
    setsid();
    sigprocmask(SIG_SETMASK, &before, NULL);
}

pid_t sleeper_fork(int channel, const int *ours, size_t n_ours, struct sleeper_order *ret_order)
{
    struct parting parting;
    pid_t pid = fork_parting(channel, ours, n_ours, &parting);
    if (pid == 0)
        become_checkpoint(channel, ours[0], &parting, ret_order);
    else if (pid > 0)
        wait_for_parting(&parting);
    return pid;
}

pid_t sleeper_fork_awake(int kept, const int *ours, size_t n_ours)
{
    struct parting parting;
    pid_t pid = fork_parting(kept, ours, n_ours, &parting);
    if (pid == 0)
        part(&parting);
    else if (pid > 0)
        wait_for_parting(&parting);
    return pid;
}

int sleeper_leave(void)
{
    /* It has no more privileges than those who could look into it now; on the way it has. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    int r = mappings_note();
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    return r;
}

struct descriptors *sleeper_wake(bool has_moved)
{
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    setsid(); /* whoever moved was born anew */
    if (!has_moved)
        descriptors_reopen(&descriptors);
    else if (descriptors_move(&descriptors) < 0 || mappings_move() < 0)
        return NULL;
    return &descriptors;
}
