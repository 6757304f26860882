/* System calls that were denied to a session, by name. The filter asks about those that nobody
 * makes by chance (ptrace, mount, unshare and their like); here is the answer, which is always
 * EPERM, and the place that hears of them.
 *
 * Whoever asks waits for the answer, so a session that asks without end only slows itself down: at
 * most DENIED_BURST are answered at once, and DENIED_PER_SECOND later on. */
#pragma once

#include "base/base.h"

typedef struct uv_loop_s uv_loop_t;
struct denied;

enum { DENIED_BURST = 64, DENIED_PER_SECOND = 100 };

typedef void (*denied_fn)(void *context, const char *call); /* the name is valid during the call */

/* Takes the listener that jail_enter sent, and owns it. NULL if it is none; then it is closed. */
struct denied *denied_new(uv_loop_t *loop, int listener, denied_fn on_denied, void *context);
void denied_free(struct denied *d); /* takes NULL. What is denied later on finds no such call */
