/* Starting a daemon: the child, its first line, the directories that it needs. Command line tool.
 * */
#include "cli/launch.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cli/terminal.h"
#include "serve/data.h"
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    READY_DEADLINE_MS = 180000,
    LAUNCH_STOP_DEADLINE_MS = 30000,
    LAUNCH_LINE_MAX_BYTES = 512,
    LOG_TAIL_MAX = 400
};

int cli_make_dirs(const char *path, struct err *e)
{
    _free_ char *copy = mem_strdup(path);
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        bool is_last = *at == '\0';
        *at = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST) {
            err_errno(e, ERR_UNAVAILABLE, errno, "%.256s cannot be made", copy);
            return err_advise(e, "name a directory of your own with --data DIR");
        }
        if (is_last)
            return 0;
        *at = '/';
    }
}

int cli_make_temporary(const char *name, char ret_path[PATH_MAX], struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(ret_path, PATH_MAX, "%s/cella-%s-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
             name);
    if (mkdtemp(ret_path) == NULL)
        return err_errno(e, ERR_UNAVAILABLE, errno, "%.256s", ret_path);
    return 0;
}

/* --- the child -------------------------------------------------------------------------------- */

static _Noreturn void become_daemon(const struct cli_daemon *d, int ready_fd, int log_fd,
                                    pid_t parent)
{
    cli_signals_restore();
    if (d->is_detached) {
        setsid();
    } else {
        /* Its own group all the same: Ctrl-C is for the program at the terminal, which stops the
         * daemon in order. */
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
    }
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool is_ok = null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
                 dup2(ready_fd, STDOUT_FILENO) >= 0 && dup2(log_fd, STDERR_FILENO) >= 0 &&
                 chdir("/") == 0;
    char program[PATH_MAX];
    /* This program by its own name, which is what `ps` shows; the link serves when that is gone. */
    ssize_t len = readlink("/proc/self/exe", program, PATH_MAX - 1);
    program[MAX(len, 0)] = '\0';
    if (access(program, X_OK) < 0)
        snprintf(program, PATH_MAX, "/proc/self/exe");
    if (is_ok) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        /* The list ends where there is no configuration to name. */
        execl(d->program != NULL ? d->program : program, "cella", "serve", "--data", d->data_dir,
              "--listen", d->listen, d->config != NULL ? "--config" : NULL, d->config,
              (char *)NULL);
    }
    cli_say(STDERR_FILENO, "cella serve cannot be started: %s\n", strerror(errno));
    _exit(127);
}

/* --- waiting for its first line --------------------------------------------------------------- */

/* One line, without its end. 0, or -1: the other side closed, -EINTR, -ETIMEDOUT. */
static int read_ready_line(int fd, struct buf *line)
{
    uint64_t started_ms = clock_mono_ms(), deadline_ms = started_ms + READY_DEADLINE_MS;
    bool is_told = false;
    int status = 0;
    while (status == 0 && memchr(buf_str(line), '\n', line->len) == NULL) {
        int ready = cli_wait(fd, POLLIN, MIN(clock_mono_ms() + 1000, deadline_ms));
        char bytes[128];
        ssize_t n = ready > 0 ? read(fd, bytes, sizeof(bytes)) : 0;
        if (ready < 0)
            status = ready;
        else if (ready == 0 && clock_mono_ms() >= deadline_ms)
            status = -ETIMEDOUT;
        else if (ready != 0 && (n <= 0 || !buf_append(line, bytes, (size_t)n)))
            status = -EPIPE;
        else if (ready == 0 && isatty(STDERR_FILENO)) {
            is_told = true;
            cli_say(STDERR_FILENO,
                    "\rstarting the daemon: Python and its libraries are loading, %d s ",
                    (int)((clock_mono_ms() - started_ms) / 1000));
        }
    }
    if (is_told)
        cli_say(STDERR_FILENO, "\r%*s\r", 72, "");
    return status;
}

/* The end of what the failed daemon logged, from where its log began. */
static void append_log_tail(int log_fd, off_t from, struct buf *out)
{
    struct stat st;
    if (fstat(log_fd, &st) < 0 || st.st_size <= from)
        return;
    char tail[LOG_TAIL_MAX];
    off_t start = MAX(from, st.st_size - (off_t)sizeof(tail));
    ssize_t n = pread(log_fd, tail, sizeof(tail), start);
    if (n <= 0)
        return;
    const char *text = tail;
    size_t len = (size_t)n;
    const char *line_end = start > from ? memchr(text, '\n', len) : NULL;
    if (line_end != NULL && (size_t)(line_end + 1 - text) < len) {
        len -= (size_t)(line_end + 1 - text);
        text = line_end + 1;
    }
    while (len > 0 && text[len - 1] == '\n')
        len--;
    cli_append_safe(out, text, len, true);
}

int cli_daemon_stop(pid_t pid, struct err *e)
{
    kill(pid, SIGTERM);
    uint64_t deadline_ms = clock_mono_ms() + LAUNCH_STOP_DEADLINE_MS;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_mono_ms() > deadline_ms) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return err_set(e, ERR_INTERNAL, "the daemon did not stop within %d s and was killed",
                           LAUNCH_STOP_DEADLINE_MS / 1000);
        }
        poll(NULL, 0, 5);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(e, ERR_INTERNAL, "the daemon did not stop cleanly (wait status %d)", status);
}

static int launch_spawn(const struct cli_daemon *d, pid_t *ret_pid, struct err *e)
{
    char log_path[PATH_MAX];
    snprintf(log_path, sizeof(log_path), "%s/daemon.log", d->data_dir);
    _fd_ int log_fd = open(log_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "%.256s cannot be opened", log_path);
    off_t log_start = lseek(log_fd, 0, SEEK_END);
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no pipe for the daemon");
    _fd_ int read_end = ready[0], write_end = ready[1];
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no process for the daemon");
    if (pid == 0)
        become_daemon(d, write_end, log_fd, parent);
    close(take_fd(&write_end));
    _buf_ struct buf line = BUF_INIT(LAUNCH_LINE_MAX_BYTES);
    int status = read_ready_line(read_end, &line);
    if (status == 0 && strncmp(buf_str(&line), "cella ready ", 12) != 0)
        status = -EPIPE;
    if (status < 0) {
        struct err ignored;
        cli_daemon_stop(pid, &ignored);
        if (status == -EINTR)
            return err_set(e, ERR_UNAVAILABLE, "interrupted while the daemon was starting");
        if (status == -ETIMEDOUT) {
            err_set(e, ERR_UNAVAILABLE, "the daemon was not ready after %d s",
                    READY_DEADLINE_MS / 1000);
        } else {
            _buf_ struct buf tail = BUF_INIT(4 * LOG_TAIL_MAX);
            append_log_tail(log_fd, log_start, &tail);
            err_set(e, ERR_UNAVAILABLE, "the daemon could not start%s%s", tail.len > 0 ? ":\n" : "",
                    buf_str(&tail));
        }
        return err_advise(e, "see %.200s/daemon.log, and run: cella doctor", d->data_dir);
    }
    if (d->url != NULL)
        snprintf(d->url, CLI_URL_MAX, "%.*s", (int)strcspn(buf_str(&line) + 12, "\r\n "),
                 buf_str(&line) + 12);
    *ret_pid = pid;
    return 0;
}

/* --- one starter at a time -------------------------------------------------------------------- */

static int open_start_lock(const char *data_dir, struct err *e)
{
    _fd_ int dir = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && !data_is_ours(dir)) {
        err_set(e, ERR_FORBIDDEN, "%.256s holds other things than a daemon's data", data_dir);
        return err_advise(e, "name a new or empty directory with --data DIR");
    }
    int fd = dir < 0
                 ? -1
                 : openat(dir, SERVE_START_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        return fd;
    err_errno(e, ERR_UNAVAILABLE, errno, "%.256s cannot be used", data_dir);
    return err_advise(e, "name a directory of your own with --data DIR");
}

static int take_start_lock(const char *data_dir, struct err *e)
{
    int fd = open_start_lock(data_dir, e);
    if (fd < 0)
        return -1;
    cli_signals_allow(true); /* the other starter may take its time, Ctrl-C must not */
    int status = flock(fd, LOCK_EX) < 0 ? errno : 0;
    cli_signals_allow(false);
    if (status == 0)
        return fd;
    close(fd);
    return err_errno(e, ERR_UNAVAILABLE, status, "waiting for another start of the daemon");
}

int cli_daemon_spawn(const struct cli_daemon *d, pid_t *ret_pid, struct err *e)
{
    _fd_ int lock = take_start_lock(d->data_dir, e);
    return lock < 0 ? -1 : launch_spawn(d, ret_pid, e);
}

int cli_launch(const struct cli_endpoint *endpoint, struct err *e)
{
    if (cli_make_dirs(endpoint->data_dir, e) < 0)
        return -1;
    _fd_ int lock = take_start_lock(endpoint->data_dir, e);
    if (lock < 0)
        return -1;
    struct cli_client probe = {.endpoint = endpoint, .fd = -1};
    int ignored = 0;
    if (cli_client_connect(&probe, &ignored)) { /* another was faster */
        cli_client_close(&probe);
        return 0;
    }
    pid_t pid;
    struct cli_daemon daemon = {
        .data_dir = endpoint->data_dir, .listen = "127.0.0.1:0", .is_detached = true};
    return launch_spawn(&daemon, &pid, e);
}
