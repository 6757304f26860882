/* System calls that the filter asks about. Those that no program makes by chance (ptrace, mount,
 * unshare and their like) are denied with EPERM, and the listener here hears of them by name.
 *
 * Sockets by which programs ask for the list of network interfaces (NETLINK_ROUTE) can be had by
 * who is in the jail's own network: there no process ever has a capability, and without one they
 * are for reading only. In the network of a room below it (jail/warden/branch.h) hostile code may
 * have kept some, and changes to interfaces, routes and queues are a large part of the kernel.
 *
 * The process that asks waits for the answer, so a session that asks without end only slows itself
 * down: at most DENIED_BURST are answered at once, and DENIED_PER_SECOND later on. */
#pragma once

#include "base/base.h"

typedef struct uv_loop_s uv_loop_t;
struct denied;

enum { DENIED_BURST = 64, DENIED_PER_SECOND = 100 };

typedef void (*denied_fn)(void *context, const char *call); /* the name is valid during the call */

/* Takes the listener that jail_enter sent, and owns it. NULL if it is none; then it is closed.
 * `network` is denied_network() of who entered, 0 if it is not known. */
struct denied *denied_new(uv_loop_t *loop, int listener, uint64_t network, denied_fn on_denied,
                          void *context);
/* A number for the network that a process is in ("self", or a pid), 0 if it cannot be told. Unlike
 * the names of namespaces anybody may ask for it. */
uint64_t denied_network(const char *process);
void denied_free(struct denied *d); /* takes NULL. What is denied later on finds no such call */
