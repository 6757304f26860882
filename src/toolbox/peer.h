/* A child process of the daemon that is spoken to in lines: its start, its lines, its end. */
#pragma once

#include "base/err.h"

#include <jansson.h>

typedef struct uv_loop_s uv_loop_t;
struct peer;

#define PEER_LINE_MAX (8 * MIB)   /* bytes of a line that it may send */
#define PEER_QUEUE_MAX (16 * MIB) /* bytes that it has not read yet */

struct peer_events {
    void (*on_line)(void *context, const char *line, size_t len);
    /* It has ended, or was not to be believed; nothing more comes, and peer_end is still to be
     * called. */
    void (*on_end)(void *context, const char *why);
};

/* Starts a program with nothing but PATH, HOME, LANG and what is given in its environment; what it
 * writes to stderr is dropped. NULL with the error. */
struct peer *peer_start(uv_loop_t *loop, const json_t *command, const json_t *environment,
                        const struct peer_events *events, void *context, struct err *e);
int peer_send(struct peer *peer, const char *line, size_t len, struct err *e);
/* Kills it with what it has started. NULL is fine; may be called by its own events. */
void peer_end(struct peer *peer);
