/* Children that the shell did not fork itself, watched through pidfds. In the shell's process; owns
 * the pidfds. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/children.h"

#include "drivers/bash/imports.h"
#include "drivers/bash/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    ADOPTED_MAX = 64,
    WATCH_NUMBER = 256,        /* out of the way of the user's descriptors */
    UNKNOWN_STATUS = 127 << 8, /* as waitpid() says exit status 127 */
};

struct adopted {
    pid_t pid;
    int watch; /* a pidfd; -1: it has ended, or there are too many to watch */
};

static struct {
    pid_t session;
    sh_builtin_func_t *kill; /* bash's own */
    struct adopted items[ADOPTED_MAX];
    size_t n;
} adopted;

/* ---- instead of waitpid() -------------------------------------------------------------------- */

static bool has_ended(const struct adopted *child)
{
    struct pollfd pfd = {.fd = child->watch, .events = POLLIN};
    return child->watch < 0 || poll(&pfd, 1, 0) != 0;
}

/* The pid of an adopted process that has ended, for bash, or 0. */
static pid_t take_ended(int *status)
{
    for (size_t i = 0; i < adopted.n; i++) {
        struct adopted child = adopted.items[i];
        if (!has_ended(&child))
            continue;
        if (child.watch >= 0)
            close(child.watch);
        adopted.items[i] = adopted.items[--adopted.n];
        *status = UNKNOWN_STATUS;
        return child.pid;
    }
    return 0;
}

static pid_t take_any(int *status, int options)
{
    pid_t pid = waitpid(-1, status, options | WNOHANG);
    return pid > 0 ? pid : take_ended(status);
}

/* Until a child of either kind has ended; SIGCHLD tells of our own. */
static pid_t wait_for_any(int *status, int options)
{
    struct pollfd watched[ADOPTED_MAX];
    for (size_t i = 0; i < adopted.n; i++)
        watched[i] = (struct pollfd){.fd = adopted.items[i].watch, .events = POLLIN};
    sigset_t all, old, waiting;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    waiting = old;
    sigdelset(&waiting, SIGCHLD); /* bash holds it back here, and only counts it */
    pid_t pid = take_any(status, options);
    int errnum = 0;
    if (pid == 0 && ppoll(watched, adopted.n, NULL, &waiting) < 0)
        errnum = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (pid == 0 && errnum == 0)
        pid = take_any(status, options);
    if (pid != 0)
        return pid;
    errno = errnum == 0 ? EINTR : errnum;
    return -1;
}

static pid_t waitpid_of_shell(pid_t pid, int *status, int options)
{
    if (adopted.n == 0 || pid != -1 || getpid() != adopted.session)
        return waitpid(pid, status, options);
    return options & WNOHANG ? take_any(status, options) : wait_for_any(status, options);
}

/* `kill $$` means this shell, whatever its number is now. */
static int kill_of_shell(WORD_LIST *args)
{
    char before[16], now[16];
    snprintf(before, sizeof(before), "%d", (int)dollar_dollar_pid);
    snprintf(now, sizeof(now), "%d", (int)adopted.session);
    for (WORD_LIST *word = args; word != NULL && adopted.session != dollar_dollar_pid;
         word = word->next)
        if (strcmp(word->word->word, before) == 0) {
            xfree(word->word->word);
            word->word->word = savestring(now);
        }
    this_shell_builtin = adopted.kill;
    return adopted.kill(args);
}

void children_install(void)
{
    adopted.session = getpid();
    imports_replace("waitpid", waitpid_of_shell);
    struct builtin *found = builtin_address_internal((char *)(uintptr_t) "kill", 1);
    if (found != NULL) {
        adopted.kill = found->function;
        found->function = kill_of_shell;
    }
}

void children_notice(void)
{
    for (size_t i = 0; i < adopted.n; i++) {
        if (!has_ended(&adopted.items[i]))
            continue;
        kill(getpid(), SIGCHLD);
        return;
    }
}

/* ---- adopting -------------------------------------------------------------------------------- */

static bool is_adopted(pid_t pid)
{
    for (size_t i = 0; i < adopted.n; i++)
        if (adopted.items[i].pid == pid)
            return true;
    return false;
}

static int watch(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return -1;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, WATCH_NUMBER);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

static void adopt(PROCESS *process)
{
    char subject[64];
    snprintf(subject, sizeof(subject), "%d (%.40s)", (int)process->pid,
             process->command == NULL ? "?" : process->command);
    notes_add("process", subject,
              "was started before and is no child of this shell now: kill works, wait gives 127");
    if (is_adopted(process->pid))
        return;
    if (adopted.n == ADOPTED_MAX) { /* bash must not wait for what nobody watches */
        process->running = PS_DONE;
        process->status = UNKNOWN_STATUS;
        return;
    }
    adopted.items[adopted.n++] = (struct adopted){process->pid, watch(process->pid)};
}

static void part_from_job(JOB *job)
{
    PROCESS *first = job->pipe, *process = first;
    bool is_alive = false;
    do {
        if (PALIVE(process))
            adopt(process);
        is_alive |= PALIVE(process);
        process = process->next;
    } while (process != first);
    if (!is_alive)
        job->state = JDEAD;
}

void children_part(void)
{
    for (int i = 0; i < js.j_jobslots; i++)
        if (jobs[i] != NULL && jobs[i]->state != JDEAD && jobs[i]->pipe != NULL)
            part_from_job(jobs[i]);
    if (sh_coproc.c_pid > 0 || sh_coproc.c_rfd >= 0 || sh_coproc.c_wfd >= 0) {
        notes_add("coproc", sh_coproc.c_name == NULL ? "coproc" : sh_coproc.c_name,
                  "has lost its pipes: start it again");
        coproc_flush();
    }
}

bool children_is_watch(int fd)
{
    for (size_t i = 0; i < adopted.n; i++)
        if (adopted.items[i].watch == fd)
            return true;
    return false;
}

void children_leave(void)
{
    for (size_t i = 0; i < adopted.n; i++) {
        if (adopted.items[i].watch >= 0)
            close(adopted.items[i].watch);
        adopted.items[i].watch = -1;
    }
    notes_change("process", "is not in the branch: wait gives 127");
}

/* Jobs without job control are in the shell's own group. bash signals them one by one because of
 * that, and must go on to do so. */
void children_renew(void)
{
    adopted.session = getpid();
    pid_t before = shell_pgrp;
    shell_pgrp = original_pgrp = getpgrp();
    if (pipeline_pgrp == before)
        pipeline_pgrp = shell_pgrp;
    for (int i = 0; i < js.j_jobslots; i++)
        if (jobs[i] != NULL && jobs[i]->pgrp == before)
            jobs[i]->pgrp = shell_pgrp;
}
