/* loop: libuv with the ownership made safe. Promises: a handle's memory outlives its last callback
 * and is freed by the loop, never inside a callback of its own; once a handle is closed its owner
 * hears nothing more but on_closed. Owns its handles, never the descriptors. May call base only.
 *
 * Every handle is made with x_new and ended with x_close(handle, on_closed). on_closed(context)
 * runs later from the loop and is the place to free an owner that may be on the stack now; NULL if
 * the owner does not wait for it. x_close takes a NULL handle (and then calls nothing). */
#pragma once

#include "base/base.h"

#include <uv.h>

typedef void (*loop_fn)(void *context);

/* ---- a descriptor watched for reading, writing, or both -------------------------------------- */

struct loop_poll;

enum { LOOP_READ = UV_READABLE, LOOP_WRITE = UV_WRITABLE };

/* `events` holds LOOP_READ and LOOP_WRITE; an error or hang-up shows as the events asked for, and
 * the next read or write on the descriptor says what it was. */
typedef void (*loop_poll_fn)(void *context, int events);

/* The descriptor becomes nonblocking. It may be closed as soon as loop_poll_close has been called.
 * NULL if it cannot be polled (a regular file). */
struct loop_poll *loop_poll_new(uv_loop_t *loop, int fd, loop_poll_fn on_event, void *context);
void loop_poll_want(struct loop_poll *p, int events); /* 0: watch nothing for now */
void loop_poll_close(struct loop_poll *p, loop_fn on_closed);

/* ---- a one-shot deadline --------------------------------------------------------------------- */

struct loop_timer;

struct loop_timer *loop_timer_new(uv_loop_t *loop, loop_fn on_due, void *context);
void loop_timer_set(struct loop_timer *t, uint64_t in_ms); /* replaces an earlier deadline */
void loop_timer_clear(struct loop_timer *t);
bool loop_timer_is_set(const struct loop_timer *t);
void loop_timer_close(struct loop_timer *t, loop_fn on_closed);
