/* Server-sent events (text/event-stream). */
#pragma once

#include "base/buf.h"

#define SSE_CONTENT_TYPE "text/event-stream"

/* One event. `name` is a word of ours; `data` may hold line ends of any kind and is put together
 * again by the reader with \n between the lines. */
void sse_append(struct buf *out, const char *name, const char *data, size_t len);
