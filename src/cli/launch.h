/* Starting a daemon from the command line. */
#pragma once

#include "cli/client.h"

#include <sys/types.h>

struct cli_daemon {
    const char *data_dir; /* absolute; exists */
    const char *listen;
    bool is_detached; /* goes on after this program; else ends with it */
};

enum { CLI_URL_MAX = 256 };

/* Runs `serve` of this program and waits until it is ready, with a progress line on a terminal when
 * that takes longer than a second. Its log goes to DIR/daemon.log. */
int cli_daemon_spawn(const struct cli_daemon *d, pid_t *ret_pid, struct err *e);

/* Makes sure that a daemon runs on the endpoint's data directory; of several programs that do this
 * at once, one starts it and the others wait. */
int cli_launch(const struct cli_endpoint *endpoint, struct err *e);

int cli_make_dirs(const char *path, struct err *e); /* mode 0700, with parents */
