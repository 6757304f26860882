/* Resources that a client watches: it is told that one has changed, no more often than it can
 * read. */
#pragma once

#include "mcp/request.h"

/* A client that wants to know that a resource has changed. */
typedef void (*watch_fn)(void *context, const char *uri);

struct mcp_watch;

/* NULL with why not: it is no such URI. While there is no such session, `fn` is told so once, and
 * it is looked for some times. */
struct mcp_watch *watch_new(struct mcp *mcp, const char *agent, const char *uri, watch_fn fn,
                            void *context, const char **ret_why);
void watch_end(struct mcp_watch *w);     /* takes NULL */
void watch_end_all(struct map *watches); /* of a map by URI */
