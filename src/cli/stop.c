/* `cella stop`: stop the daemon and all sessions. Command line tool. */
#include "base/clock.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "jail/warden/idmap.h"
#include "serve/data.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

enum { CLI_STOP_DEADLINE_MS = 30000 };

static const struct cli_flag stop_flags[] = {
    {"erase", 0, NULL,
     "then remove its data directory, also if none runs: sessions, notebooks, key"},
    {0},
};

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

static int stop_daemon(const struct cli_endpoint *endpoint, pid_t *ret_pid, struct err *e)
{
    struct cli_client client = {.fd = -1};
    if (cli_client_open(&client, endpoint, false, e) < 0)
        return -1;
    _fd_ int pidfd = open_daemon_process(&client, ret_pid, e);
    cli_client_close(&client); /* a clean stop waits for its clients */
    if (pidfd < 0)
        return -1;
    int pid = *ret_pid;
    if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0)
        return err_errno(e, ERR_FORBIDDEN, errno, "process %d cannot be signalled", pid);
    if (cli_wait(pidfd, POLLIN, clock_mono_ms() + CLI_STOP_DEADLINE_MS) > 0)
        return 0;
    err_set(e, ERR_TIMEOUT, "the daemon (process %d) is still stopping", pid);
    return err_advise(e, "see its log, or end it with: kill -9 %d", pid);
}

/* Files of sessions may belong to ids over which this user has no rights of its own. */
static int erase(const char *asked, struct err *e)
{
    _free_ char *path = realpath(asked, NULL);
    if (path == NULL)
        return err_errno(e, ERR_NOT_FOUND, errno, "%.256s", asked);
    char workspaces[PATH_MAX];
    struct data_dir data = DATA_DIR_INIT;
    int status = data_open(path, &data, e); /* refuses what is no data directory, or in use */
    snprintf(workspaces, sizeof(workspaces), "%s/workspaces", path);
    if (status == 0) /* first what may fail, so that nothing else is lost if it does */
        status = idmap_remove_tree(workspaces, e);
    if (status == 0)
        status = idmap_remove_tree(path, e);
    data_close(&data);
    return status;
}

static void say_stopped(bool is_json, pid_t pid, const char *erased)
{
    if (is_json) {
        _json_ json_t *answer = json_pack("{sb}", "stopped", pid > 0);
        if (pid > 0)
            json_object_set_new(answer, "pid", json_integer(pid));
        if (erased != NULL)
            json_object_set_new(answer, "erased", json_string(erased));
        cli_print_json(answer);
        return;
    }
    if (pid > 0)
        cli_say(STDOUT_FILENO, "stopped the daemon (process %d)\n", (int)pid);
    if (erased != NULL)
        cli_say(STDOUT_FILENO, "removed %s\n", erased);
}

static int stop_run(const struct cli_args *args, struct err *e)
{
    struct cli_endpoint endpoint;
    pid_t pid = 0;
    bool erases = cli_has(args, "erase");
    int status = cli_endpoint_from(args, &endpoint, e);
    if (status == 0 && endpoint.host != NULL)
        status = err_set(e, ERR_INVALID, "only a daemon on this machine can be stopped (--data)");
    /* Without a daemon its directory is erased all the same; the lock of the directory tells. */
    if (status == 0 && stop_daemon(&endpoint, &pid, e) < 0 && (!erases || pid > 0))
        status = -1;
    if (status == 0 && erases)
        status = erase(endpoint.data_dir, e);
    if (status == 0)
        say_stopped(cli_has(args, "json"), pid, erases ? endpoint.data_dir : NULL);
    cli_endpoint_free(&endpoint);
    return status;
}

const struct cli_verb cli_stop_verb = {
    .name = "stop",
    .subject = OP_ON_DAEMON,
    .summary = "stop the daemon and all sessions",
    .usage = "[OPTION...]",
    .about =
        "Asks the daemon of this data directory to stop and waits until it has: every session\n"
        "and everything it started is gone then. What was saved comes back with the next daemon,\n"
        "unless --erase removes it.",
    .flags = stop_flags,
    .is_client = true,
    .examples = "cella stop\n"
                "cella stop --data /tmp/scratch --erase",
    .run = stop_run,
};
