/* Upstream servers of the Model Context Protocol, over stdio: processes of the daemon's host that
 * the configuration names. Each is started once, asked what tools it has, and called; one that
 * ends, or says what no server should, is started again, later and later if that does not help.
 * Everything it says is a stranger's: lines, their number, their depth and time are bounded. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

typedef struct uv_loop_s uv_loop_t;
struct upstream;
struct upstream_call;

/* One of both, once, later from the loop. */
struct upstream_listener {
    void (*on_done)(void *context, json_t *result); /* taken */
    void (*on_failed)(void *context, const struct err *e);
};

/* `there` is how the server calls the tool. NULL with the error. */
struct upstream_call *upstream_call(struct upstream *server, const char *there, const json_t *args,
                                    uint32_t timeout_ms, const struct upstream_listener *listener,
                                    void *context, struct err *e);
void upstream_forget(struct upstream_call *call); /* the server is told that nobody waits */

/* Between these two all servers that are wanted are set; others end. `setting` is taken:
 * {"command", "environment", "tools", "timeout_ms"}. */
void upstream_begin_settings(void);
void upstream_set(uv_loop_t *loop, const char *name, json_t *setting);
void upstream_end_settings(void);
/* Those that do not work, and why: "The server x …". */
void upstream_describe_failures(struct buf *out);
