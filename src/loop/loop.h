/* loop: libuv with the ownership made safe. Promises: a handle's memory outlives its last callback
 * and is freed by the loop, never inside a callback of its own; once a handle is closed its owner
 * hears nothing more but on_closed. Owns its handles, never the descriptors. May call base only.
 *
 * Every handle is made with x_new and ended with x_close(handle, on_closed). on_closed(context)
 * runs later from the loop and is the place to free an owner that may be on the stack now; NULL if
 * the owner does not wait for it. x_close takes a NULL handle (and then calls nothing). */
#pragma once

#include "base/base.h"

#include <sys/uio.h>
#include <uv.h>

typedef void (*loop_fn)(void *context);

/* ---- a descriptor watched for reading, writing, or both -------------------------------------- */

struct loop_poll;

enum { LOOP_READ = UV_READABLE, LOOP_WRITE = UV_WRITABLE };

/* `events` holds LOOP_READ and LOOP_WRITE; an error or hang-up shows as the events asked for, and
 * the next read or write on the descriptor says what it was. */
typedef void (*loop_poll_fn)(void *context, int events);

/* The descriptor becomes nonblocking. It may be closed as soon as loop_poll_close has been called.
 * NULL if it cannot be polled (a regular file), or if it would be the first and there is no room in
 * the kernel; later ones are looked at often until there is. */
struct loop_poll *loop_poll_new(uv_loop_t *loop, int fd, loop_poll_fn on_event, void *context);
/* Likewise, and wants to read from the beginning: one system call less. */
struct loop_poll *loop_poll_read(uv_loop_t *loop, int fd, loop_poll_fn on_event, void *context);
void loop_poll_want(struct loop_poll *p, int events); /* 0: watch nothing for now */
void loop_poll_close(struct loop_poll *p, loop_fn on_closed);

/* Takes a place for a descriptor that libuv is about to watch, which aborts if the kernel has none.
 * 0, or -ENOSPC: the user may not watch any more. For this room. */
int loop_reserve(uv_loop_t *loop, int fd);

/* ---- a one-shot deadline --------------------------------------------------------------------- */

struct loop_timer;

struct loop_timer *loop_timer_new(uv_loop_t *loop, loop_fn on_due, void *context);
/* Replaces an earlier deadline. 0: in the next turn of the loop, also from its own function. */
void loop_timer_set(struct loop_timer *t, uint64_t in_ms);
void loop_timer_clear(struct loop_timer *t);
bool loop_timer_is_set(const struct loop_timer *t);
void loop_timer_close(struct loop_timer *t, loop_fn on_closed);

/* ---- a connection, and where connections come from ------------------------------------------- */

struct loop_stream;
struct loop_listener;

struct loop_stream_events {
    /* Bytes arrived; they are valid during the call only. */
    void (*on_data)(void *context, const char *data, size_t len);
    /* No more bytes will come: 0 at the end of the stream, -errno if it broke. */
    void (*on_end)(void *context, int error);
    /* What could not be sent at once has now been sent. */
    void (*on_drained)(void *context);
};

/* Takes connections from a bound socket, TCP or UNIX, which it owns from now on. on_connection must
 * accept or the connection is offered again. */
struct loop_listener *loop_listener_new(uv_loop_t *loop, int fd, loop_fn on_connection,
                                        void *context);
void loop_listener_close(struct loop_listener *l, loop_fn on_closed);

/* NULL if the connection is gone already or cannot be watched. Nothing is read before
 * loop_stream_read. */
struct loop_stream *loop_stream_accept(struct loop_listener *l,
                                       const struct loop_stream_events *events, void *context);
/* The same of a socket that is connected already, TCP or UNIX, which it owns if it is not NULL. */
struct loop_stream *loop_stream_open(uv_loop_t *loop, int fd,
                                     const struct loop_stream_events *events, void *context);
int loop_stream_fd(const struct loop_stream *s);
int loop_stream_read(struct loop_stream *s, bool is_wanted); /* 0, or -ENOSPC: not now */

/* Sends at once what the kernel takes and keeps a copy of the rest. There is no limit here: look at
 * loop_stream_queued before writing what may be dropped. 0 or -errno (then nothing can be sent any
 * more). */
int loop_stream_write(struct loop_stream *s, const struct iovec *parts, size_t n_parts);
size_t loop_stream_queued(const struct loop_stream *s);
void loop_stream_shutdown(struct loop_stream *s); /* ends our side once all is sent */
void loop_stream_close(struct loop_stream *s, loop_fn on_closed);

/* ---- running --------------------------------------------------------------------------------- */

/* Runs until a callback sets `is_over` or no handle is left. Before the monotonic time that
 * `awake_until_ns` gives, the loop looks for events without going to sleep, yielding its core to
 * whoever wants it. For an answer that is due within microseconds that pays: waking an idle core
 * takes longer than the answer. */
void loop_run(uv_loop_t *loop, const bool *is_over, uint64_t (*awake_until_ns)(void *context),
              void *context);
