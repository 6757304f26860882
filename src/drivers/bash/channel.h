/* The session's socket: length-prefixed JSON both ways, descriptors on the way in. Its descriptor
 * has a high number, out of the way of `exec 3>file`, and is close-on-exec. */
#pragma once

#include "base/buf.h"

#include <signal.h>
#include <sys/types.h>

enum { CHANNEL_FDS_MAX = 16 };

struct channel {
    int fd;
    struct buf in;   /* what has arrived; consumed bytes are dropped at the next receive */
    size_t consumed; /* bytes at the front of `in` that belong to the frame last returned */
    int fds[CHANNEL_FDS_MAX]; /* in the order of the frames that they came with */
    size_t n_fds;
};

/* Takes over a socket: it is moved, and `fd` closed; where the user's limit leaves no such number,
 * it stays where it is. */
void channel_open(struct channel *c, int fd);

/* With what has arrived and was not taken. */
void channel_close(struct channel *c);

/* The next frame, NUL-terminated and writable; valid until the next call. Blocks; a signal that
 * ends the shell is obeyed. -ECONNRESET when the daemon is gone or does not speak our language. */
int channel_receive(struct channel *c, char **ret_payload, size_t *ret_len);

/* Has anything arrived that channel_receive would not have to wait for? Safe in a signal handler.
 */
bool channel_has_unread(const struct channel *c);

/* Waits for that, for at most `timeout_ms` (negative: for ever) with `mask` in force.
 * 1: there is something, 0: the time is over, -EINTR: a signal came. */
int channel_wait(const struct channel *c, int64_t timeout_ms, const sigset_t *mask);

/* Subshells have the socket too: who asks the daemon holds the lock until the answer is there. It
 * goes with the process that holds it. 0, or -EINTR: a signal came. */
int channel_lock(const struct channel *c);
void channel_unlock(const struct channel *c);
/* Another process that holds it, or 0. */
pid_t channel_locked_by(const struct channel *c);

/* Sends one frame. */
int channel_send(struct channel *c, const struct buf *payload);

/* The descriptors of the frame last returned, whose number follows from what it says: those of the
 * frames after it may have arrived too. False, and nothing taken, if there are fewer. */
bool channel_take_fds(struct channel *c, int *ret_fds, size_t n);

void channel_close_fds(struct channel *c);
