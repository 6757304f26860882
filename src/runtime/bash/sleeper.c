/* clang-format off */
#include "runtime/bash/shell.h"
/* clang-format on */

#include "runtime/bash/sleeper.h"

#include "jail/sibling.h"
#include "runtime/bash/cell.h"
#include "runtime/bash/children.h"
#include "runtime/bash/descriptors.h"
#include "runtime/bash/input.h"
#include "runtime/bash/interrupts.h"
#include "runtime/bash/request.h"

#include <sys/prctl.h>

static struct {
    struct channel *control; /* the shell's, or while asleep the checkpoint's own */
    sigset_t mask;           /* the shell's; while asleep no signal is taken */
    struct request request;
} sleeper;

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
    if (sibling_fork() == 0) {
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
    pid_t pid = sibling_fork();
    if (pid != 0) {
        sigprocmask(SIG_SETMASK, &sleeper.mask, NULL);
        close(sock);
        return pid;
    }
    fall_asleep(sock);
    sleep_on();
    return 0;
}
