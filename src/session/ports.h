/* Connections from the daemon to what listens inside a session, on the loopback of its sandbox.
 *
 * The warden makes a socket in the network of the session's jail, so that a port of the host or of
 * another session cannot be meant; it is connected from here, without waiting for anybody and
 * within a deadline. A connection counts as use of the session, and ends with its processes. */
#pragma once

#include "base/err.h"
#include "base/list.h"

struct port_link;
struct session;

enum { PORTS_SESSION_MAX = 64, PORTS_DAEMON_MAX = 1024 }; /* connections at once */

struct ports {
    struct list links; /* of struct port_link */
    size_t n_links;
};

/* on_failed and on_cut end the link; after on_connected the owner ends it with port_close. */
struct port_listener {
    void (*on_connected)(void *context, int fd); /* the socket is the owner's from now on */
    void (*on_failed)(void *context, const struct err *e);
    void (*on_cut)(void *context); /* the session's processes have ended */
};

/* Begins; the listener is told later, never before this returns. NULL with the error. */
struct port_link *port_open(struct session *session, uint16_t port,
                            const struct port_listener *listener, void *context, struct err *e);
void port_close(struct port_link *link); /* connected or not; takes NULL */

/* ---- for the rest of the room ---------------------------------------------------------------- */

void ports_init(struct session *session);
void ports_cut_all(struct session *session);
bool ports_are_used(const struct session *session);
