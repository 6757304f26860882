/* Starts and ends what is measured. cella-bench; owns nothing once a child has ended. */
#include "bench/child.h"

#include "base/clock.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { VARIABLES_MAX = 16, VARIABLE_SIZE = PATH_MAX + 64 };

struct environment {
    char text[VARIABLES_MAX][VARIABLE_SIZE];
    char *list[VARIABLES_MAX + 1];
};

/* As in a jail, and nothing of the user's: what differs must be the peer, not its settings. */
static void fill_environment(const struct bench *b, struct environment *ret)
{
    static const char *const fixed[] = {
        "PATH=/usr/bin:/bin",        "LANG=C.UTF-8",      "MPLBACKEND=Agg",
        "OPENBLAS_NUM_THREADS=1",    "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
        "PYTHONDONTWRITEBYTECODE=1",
    };
    static const char *const below_dir[] = {
        "HOME",       "XDG_CACHE_HOME",     "MPLCONFIGDIR",     "TMPDIR",
        "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR",
    };
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        snprintf(ret->text[n++], VARIABLE_SIZE, "%s", fixed[i]);
    for (size_t i = 0; i < ARRAY_LEN(below_dir); i++)
        snprintf(ret->text[n++], VARIABLE_SIZE, "%s=%s/peers", below_dir[i], b->dir);
    for (size_t i = 0; i < n; i++)
        ret->list[i] = ret->text[i];
    ret->list[n] = NULL;
}

/* A copy that no dup2 to a small number overwrites. */
static int out_of_the_way(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 10);
}

static _Noreturn void become(const struct bench *b, const struct bench_child *c, char **environ_,
                             pid_t parent)
{
    char log_path[PATH_MAX + 16];
    snprintf(log_path, sizeof(log_path), "%s/peers.log", b->dir);
    cli_signals_restore();
    setpgid(0, 0); /* Ctrl-C is for the program at the terminal */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int stdio = out_of_the_way(c->stdio), third = out_of_the_way(c->third);
    int log_fd = out_of_the_way(open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    bool is_ok = getppid() == parent && dup2(stdio, STDIN_FILENO) >= 0 &&
                 dup2(stdio, STDOUT_FILENO) >= 0 && dup2(log_fd, STDERR_FILENO) >= 0 &&
                 (c->third < 0 || dup2(third, 3) == 3) && chdir("/") == 0;
    if (is_ok) {
        close_range(c->third < 0 ? 3 : 4, ~0U, CLOSE_RANGE_CLOEXEC);
        execve(c->argv[0], (char *const *)c->argv, environ_);
    }
    _exit(127);
}

int bench_child_start(const struct bench *b, const struct bench_child *c, pid_t *ret_pid,
                      struct err *e)
{
    char dir[PATH_MAX + 16];
    snprintf(dir, sizeof(dir), "%s/peers", b->dir);
    _free_ struct environment *environment = mem_alloc(sizeof(*environment));
    fill_environment(b, environment);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_errno(e, ERR_UNAVAILABLE, errno, "%.256s", dir);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no process for %s", c->argv[0]);
    if (pid == 0)
        become(b, c, environment->list, parent);
    *ret_pid = pid;
    return 0;
}

void bench_child_end(pid_t pid, uint64_t patience_ms)
{
    uint64_t deadline_ms = clock_mono_ms() + patience_ms;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (clock_mono_ms() >= deadline_ms) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            return;
        }
        poll(NULL, 0, 2);
    }
}
