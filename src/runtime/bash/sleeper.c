/* clang-format off */
#include "runtime/bash/shell.h"
/* clang-format on */

#include "runtime/bash/sleeper.h"

#include "runtime/bash/cell.h"
#include "runtime/bash/children.h"
#include "runtime/bash/descriptors.h"
#include "runtime/bash/input.h"
#include "runtime/bash/interrupts.h"
#include "runtime/bash/request.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct {
    struct channel *control; /* the shell's, or while asleep the checkpoint's own */
    sigset_t mask;           /* the shell's; while asleep no signal is taken */
    struct request request;
} sleeper;

/* A fork whose child belongs to our parent. libc's cannot do that; what else it would do is for
 * threads, except for the thread id that it keeps. */
static pid_t fork_as_sibling(void)
{
    int *tid = NULL;
    prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0);
    unsigned long flags = CLONE_PARENT | SIGCHLD;
    if (tid != NULL)
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    long pid = syscall(SYS_clone, flags, NULL, NULL, tid, 0);
    return pid < 0 ? -errno : (pid_t)pid;
}

int sleeper_count_threads(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) < 0 ? 1 : (int)st.st_nlink - 2;
}

static bool is_own(int fd)
{
    return fd == sleeper.control->fd || children_is_watch(fd);
}

static void announce(char what)
{
    if (write(sleeper.control->fd, &what, 1) != 1)
        _exit(0);
}

/* Becomes a process that listens on another socket, in a session of its own. */
static void move_to(int sock)
{
    channel_close(sleeper.control);
    channel_open(sleeper.control, sock);
    setsid();
}

static void become_shell(int sock)
{
    move_to(sock);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    descriptors_reopen();
    cell_renew();
    children_renew();
    input_renew();
    interrupts_renew();
    announce('h');
    sigprocmask(SIG_SETMASK, &sleeper.mask, NULL);
}

static void fall_asleep(int sock)
{
    move_to(sock);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    children_part();
    descriptors_part(is_own);
    announce('c');
}

/* True in the copy that was woken. */
static bool wake(void)
{
    int sock;
    if (!channel_take_fds(sleeper.control, &sock, 1))
        return false;
    if (fork_as_sibling() == 0) {
        become_shell(sock);
        return true;
    }
    close(sock); /* if there is no copy, that tells the daemon */
    return false;
}

/* Until a copy is woken, in which it returns. */
static void sleep_on(void)
{
    char *payload;
    size_t len;
    for (;;) {
        if (channel_receive(sleeper.control, &payload, &len) < 0 ||
            !request_read(&sleeper.request, payload, len))
            _exit(0);
        if (sleeper.request.op == REQUEST_WAKE && wake())
            return;
        channel_close_fds(sleeper.control);
    }
}

pid_t sleeper_fork(struct channel *control, int sock)
{
    sigset_t all;
    sleeper.control = control;
    descriptors_note_offsets();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &sleeper.mask);
    pid_t pid = fork_as_sibling();
    if (pid != 0) {
        sigprocmask(SIG_SETMASK, &sleeper.mask, NULL);
        close(sock);
        return pid;
    }
    fall_asleep(sock);
    sleep_on();
    return 0;
}
