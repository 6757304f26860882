/* Sockets whose other end is in a sandbox.
 *
 * What is written there arrives here, descriptors included, and the last close of a descriptor
 * takes as long as its maker likes: a TCP socket that lingers, a deleted file in a million pieces.
 * The kernel closes in the thread that reads past it or closes the socket in which it waits. So
 *   1. since Linux 6.16 the kernel is asked not to let descriptors come;
 *   2. before, or until it was asked, whatever came, and a socket in whose queue more may wait, is
 *      closed by threads that no other waits for.
 * Every read and close of such a socket goes through this file. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* From now on no descriptors can be sent to this socket. What waits in it already stays. */
void channel_refuse_descriptors(int sock);

/* One recvmsg of at least one byte, without waiting. Bytes, 0 at the end of the stream, -EAGAIN,
 * another -errno, or -EBADMSG if a descriptor came along; then the bytes are of no use, and whoever
 * sent it is hostile. `ret_writer` may be NULL; else the socket has SO_PASSCRED, and it is set to
 * the writer's pid as our pid namespace numbers it, 0 if the kernel does not tell. */
ssize_t channel_recv(int sock, void *data, size_t len, pid_t *ret_writer);

/* Whether a byte has arrived, which stays there: 1, 0 at the end of the stream, or -errno. */
ssize_t channel_peek(int sock);

/* Closes a socket of this kind for good: the other end sees it at once, also if another process
 * holds a duplicate. */
void channel_close(int sock);

/* Called when more descriptors wait to be closed than threads may do so: with how many. They stay
 * open until one of those is done. */
void channel_on_congestion(void (*tell)(size_t n_kept));
