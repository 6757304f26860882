/* serve: the daemon. Promises: every request gets an answer or a closed connection, each with a
 * deadline; a client that is slow, broken or hostile costs itself only. Owns the listeners, the
 * connections, and the order in which the daemon starts and stops. May call ops and what lies
 * below; only cli calls it. */
#pragma once

#include "base/err.h"

#define SERVE_LISTEN "127.0.0.1:7300" /* unless told otherwise */
#define SERVE_SOCKET "cella.sock"     /* in the data directory */
#define SERVE_LOCK "lock"             /* in the data directory; holds the daemon's pid */
#define SERVE_START_LOCK                                                                           \
    "start.lock" /* in the data directory; held by who starts a daemon there                       \
                  */

struct serve_options {
    const char *listen; /* HOST:PORT or [V6]:PORT, port 0 picks a free one; NULL for SERVE_LISTEN */
    const char *data_dir;    /* NULL for that of serve_data_dir */
    const char *config_file; /* NULL for that of config_load */
    bool no_auth;            /* loopback only */
    bool mcp_fixtures;       /* see mcp/fixtures.h */
};

/* Runs the daemon in this process until SIGTERM or SIGINT; 0 after a clean stop. */
int serve_run(const struct serve_options *options, struct err *e);

/* `asked` made absolute, or if it is NULL $XDG_STATE_HOME/cella, /var/lib/cella for root, else
 * ~/.local/state/cella. The caller frees the path; nothing is created. */
int serve_data_dir(const char *asked, char **ret_path, struct err *e);
