/* Messages to a process beside this one, on a SOCK_SEQPACKET socket that does not block: what it
 * does not take at once waits here, in order, and the sender goes on. The owner of the box keeps
 * the number of what waits within bounds, by changing a message that waits instead of adding one
 * (outbox_find). */
#pragma once

#include "base/fd.h"
#include "base/list.h"

enum { OUTBOX_FDS_MAX = 8, OUTBOX_STUCK_MS = 20 };

struct outbox {
    int sock; /* not owned */
    struct list waiting;
    size_t n_waiting;
    /* The user has too many descriptors on their way in sockets (ETOOMANYREFS): no event tells when
     * that is over, so try again after OUTBOX_STUCK_MS. */
    bool is_stuck;
};

void outbox_init(struct outbox *o, int sock);
/* Duplicates the descriptors if they have to wait. 0 or -errno: the other side is gone. */
int outbox_send(struct outbox *o, const void *data, size_t len, const int *fds, size_t n_fds);
/* When the socket can be written to, which is worth waiting for while n_waiting > 0. Likewise. */
int outbox_flush(struct outbox *o);
/* The last message that waits and matches, or NULL; it may be changed in place. */
void *outbox_find(struct outbox *o, bool (*matches)(const void *message, const void *with),
                  const void *with);
/* Forgets all that waits; the socket is the caller's. */
void outbox_free(struct outbox *o);
