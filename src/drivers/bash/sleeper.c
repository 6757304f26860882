/* Copies of the shell: those that sleep as checkpoints, those that wake and become the shell, those
 * that save. In the shell's process and in these copies. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/sleeper.h"

#include "drivers/bash/cell.h"
#include "drivers/bash/children.h"
#include "drivers/bash/descriptors.h"
#include "drivers/bash/explore.h"
#include "drivers/bash/input.h"
#include "drivers/bash/interrupts.h"
#include "drivers/bash/notes.h"
#include "drivers/bash/request.h"
#include "drivers/bash/save.h"
#include "drivers/bash/scratch.h"
#include "jail/inside/room.h"
#include "jail/inside/sibling.h"

#include <limits.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { READER_MS = 5000 };

static struct {
    struct channel *control; /* the shell's, or while asleep the checkpoint's own */
    sigset_t mask;           /* the shell's; while asleep no signal is taken */
    struct bash_request request;
    int64_t forked_ns; /* wall clock: when the checkpoint was made */
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

static void part(void)
{
    notes_clear();
    children_part();
    descriptors_part(is_own);
}

/* True in the copy that was woken. */
static bool wake(void)
{
    enum { SOCK, KEY };
    int fds[2];
    bool has_room = sleeper.request.has_room;
    if (!channel_take_fds(sleeper.control, fds, has_room ? 2 : 1))
        return false;
    if (sibling_fork() == 0) {
        if (has_room) {
            /* Files and processes that the shell knows are of the room that it leaves. */
            char folder[PATH_MAX];
            descriptors_note_names(is_own);
            children_leave();
            if (room_enter(fds[KEY]) < 0)
                _exit(1);
            if (getcwd(folder, sizeof(folder)) != NULL)
                set_working_directory(folder);
            set_pwd();
        } else {
            scratch_note_since(sleeper.forked_ns);
        }
        move_to(fds[SOCK]);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        descriptors_reopen();
        cell_renew();
        children_renew();
        input_renew();
        explore_renew();
        interrupts_renew();
        announce('h');
        sigprocmask(SIG_SETMASK, &sleeper.mask, NULL);
        return true;
    }
    close(fds[SOCK]); /* if there is no copy, that tells the daemon */
    if (has_room)
        close(fds[KEY]);
    return false;
}

static const struct bash_request *order; /* of the saver under way */
static bool is_awake;                    /* the shell itself saves, and no checkpoint */

/* In a copy of its own, which ends with it: what it calls of bash may change things. Signals are
 * held back, and not ignored: those would show as traps. */
static void save_and_exit(int sock)
{
    move_to(sock);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    announce('s');
    if (is_awake) /* else it has parted already */
        part();
    descriptors_note_files();
    save_write(sleeper.control->fd, order);
    /* Whoever wants to know who wrote must find us alive. */
    struct pollfd pfd = {.fd = sleeper.control->fd, .events = POLLIN};
    shutdown(pfd.fd, SHUT_WR);
    poll(&pfd, 1, READER_MS);
    _exit(0);
}

static void fork_saver(struct channel *c, const struct bash_request *request)
{
    int sock;
    if (!channel_take_fds(c, &sock, 1))
        return;
    order = request;
    if (sibling_fork() == 0)
        save_and_exit(sock);
    close(sock); /* if there is no copy, that tells the daemon */
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
        if (sleeper.request.op == REQUEST_SAVE)
            fork_saver(sleeper.control, &sleeper.request);
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
    sleeper.forked_ns = scratch_now_ns();
    pid_t pid = sibling_fork();
    if (pid != 0) {
        sigprocmask(SIG_SETMASK, &sleeper.mask, NULL);
        close(sock);
        return pid;
    }
    move_to(sock);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    part();
    announce('c');
    is_awake = false;
    sleep_on();
    return 0;
}

void sleeper_save(struct channel *control, const struct bash_request *request)
{
    sigset_t all;
    sleeper.control = control;
    descriptors_note_offsets();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &sleeper.mask);
    is_awake = true;
    fork_saver(control, request);
    sigprocmask(SIG_SETMASK, &sleeper.mask, NULL);
}
