/* Server-sent events out of a byte stream. */
#pragma once

#include "base/buf.h"

enum { CLI_SSE_LINE_MAX = 256 << 20, CLI_SSE_NAME_MAX = 64 };

/* False ends the reading. */
typedef bool (*cli_on_event)(void *context, const char *name, const char *data, size_t len);

struct cli_sse {
    cli_on_event on_event;
    void *context;
    struct buf line; /* not yet ended */
    struct buf name; /* of the event being read */
    struct buf data;
    bool has_data;
    bool was_cr; /* the last line ended in CR: an LF right behind it belongs to it */
};

void cli_sse_init(struct cli_sse *s, cli_on_event on_event, void *context);
/* False: an event was too large or the callback said so. */
bool cli_sse_feed(struct cli_sse *s, const char *data, size_t len);
void cli_sse_free(struct cli_sse *s);
