/* Starting a daemon from the command line. */
#pragma once

#include "cli/client.h"

#include <limits.h>
#include <sys/types.h>

struct cli_daemon {
    const char *data_dir; /* absolute; exists */
    const char *listen;
    const char *config;  /* NULL for the usual places */
    const char *program; /* of cella; NULL for this one */
    bool is_detached;    /* goes on after this program; else ends with it */
    char *url;           /* NULL, or CLI_URL_MAX bytes for the address it is ready on */
};

enum { CLI_URL_MAX = 256 };

/* Runs `cella serve` and waits until it is ready, with a progress line on a terminal when
 * that takes longer than a second. Its log goes to DIR/daemon.log. */
int cli_daemon_spawn(const struct cli_daemon *d, pid_t *ret_pid, struct err *e);
int cli_daemon_stop(pid_t pid, struct err *e); /* and waits until it has ended */

/* Makes sure that a daemon runs on the endpoint's data directory; of several programs that do this
 * at once, one starts it and the others wait. */
int cli_launch(const struct cli_endpoint *endpoint, struct err *e);

int cli_make_dirs(const char *path, struct err *e); /* mode 0700, with parents */

/* A directory for a daemon that lives only for this program; idmap_remove_tree removes it. */
int cli_make_temporary(const char *name, char ret_path[PATH_MAX], struct err *e);
