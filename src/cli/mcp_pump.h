/* What passes between a client on standard input and the daemon. Promises: the client sees whole
 * messages only, and an answer to each request, though the daemon ends meanwhile: then another is
 * connected to, which hears of the client what the first one knew. */
#pragma once

#include "base/err.h"

struct mcp_host {
    /* A socket to a daemon that takes messages, where none runs one that is started; or -1. */
    int (*connect)(void *context, struct err *e);
    void *context;
    const char *token; /* by which the daemon knows the client; names what is asked by itself */
};

/* Ends when the input has ended and all was answered, or the client reads no more: an exit status,
 * or -1 with the error. */
int mcp_pump(const struct mcp_host *host, struct err *e);
