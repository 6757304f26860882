#include "base/clock.h"
#include "cli/api.h"
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

enum { STOP_DEADLINE_MS = 30000 };

/* Who listens on the other end of the UNIX socket, as a descriptor that can only mean that process:
 * the daemon answers after the descriptor was made, so its number was not another's by then. */
static int open_daemon_process(struct cli_client *c, pid_t *ret_pid, struct err *e)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "the daemon's process is not known");
    if (peer.pid <= 0)
        return err_set(e, ERR_UNAVAILABLE, "the daemon runs in another pid namespace");
    int fd = pidfd_open(peer.pid, 0);
    if (fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "process %d", (int)peer.pid);
    _json_ json_t *health = NULL;
    if (cli_api_get(c, "GET", "/health", &health, e) < 0) {
        close(fd);
        return -1;
    }
    *ret_pid = peer.pid;
    return fd;
}

static int stop_process(int pidfd, pid_t pid, struct err *e)
{
    if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0)
        return err_errno(e, ERR_FORBIDDEN, errno, "process %d cannot be signalled", (int)pid);
    if (cli_wait(pidfd, POLLIN, clock_mono_ms() + STOP_DEADLINE_MS) > 0)
        return 0;
    err_set(e, ERR_TIMEOUT, "the daemon (process %d) is still stopping", (int)pid);
    return err_advise(e, "see its log, or end it with: kill -9 %d", (int)pid);
}

static int run(const struct cli_args *args, struct err *e)
{
    struct cli_endpoint endpoint;
    struct cli_client client = {.fd = -1};
    int status = cli_endpoint_from(args, &endpoint, e);
    if (status == 0 && endpoint.host != NULL)
        status = err_set(e, ERR_INVALID, "only a daemon on this machine can be stopped (--data)");
    if (status == 0)
        status = cli_client_open(&client, &endpoint, false, e);
    if (status == 0) {
        pid_t pid = 0;
        _fd_ int pidfd = open_daemon_process(&client, &pid, e);
        cli_client_close(&client); /* a clean stop waits for its clients */
        status = pidfd < 0 ? -1 : stop_process(pidfd, pid, e);
        if (status == 0 && cli_has(args, "json"))
            cli_say(STDOUT_FILENO, "{\"stopped\":true,\"pid\":%d}\n", (int)pid);
        else if (status == 0)
            cli_say(STDOUT_FILENO, "stopped the daemon (process %d)\n", (int)pid);
    }
    cli_client_close(&client);
    cli_endpoint_free(&endpoint);
    return status;
}

const struct cli_verb cli_stop_verb = {
    .name = "stop",
    .summary = "stop the daemon and all sessions",
    .usage = "[OPTION...]",
    .about =
        "Asks the daemon of this data directory to stop and waits until it has: every session\n"
        "and everything it started is gone then.",
    .is_client = true,
    .examples = "cella stop\n"
                "cella stop --data /tmp/scratch",
    .run = run,
};
