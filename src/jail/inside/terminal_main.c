/* JAIL_LIB/terminal: runs a program at a pseudo-terminal of the jail's own. It walked in as an
 * interpreter does (launch_main.c) and is a prisoner like any other: the daemon believes nothing of
 * what it sends.
 *
 * The process that walked in leads the terminal's session, stays between terminal and socket, and
 * ends as its child, the program, did. It leads because the kernel hangs a terminal up when its
 * leader ends, and drops what was written and not yet passed on: this one reads that first. It
 * reads neither terminal nor socket while the other does not take what came: a program that floods
 * the terminal waits, as at any slow one. When the daemon closes the socket the terminal hangs up,
 * and so do the programs at it. */
#include "base/fd.h"
#include "jail/inside/zygote_serve.h"
#include "jail/syscalls.h"
#include "jail/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

enum {
    EXIT_NO_TERMINAL = 125,
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127,
    PIECE = 16 * 1024,
    KERNEL_HOLDS_MAX = 128 * 1024, /* of what was written to a terminal: 64 KiB and a line */
};

static bool terminal_read_all(int fd, void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = read(fd, (char *)data + done, len - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static _Noreturn void terminal_give_up(int fd, const char *doing, const char *what, int status)
{
    char text[512];
    int len =
        snprintf(text, sizeof(text), "cella: cannot %s%s: %s\r\n", doing, what, strerror(errno));
    fd_write_all(fd, text, MIN((size_t)len, sizeof(text) - 1));
    _exit(status);
}

static void terminal_set_size(int fd, const struct terminal_size *size)
{
    ioctl(fd, TIOCSWINSZ, &(struct winsize){.ws_row = size->rows, .ws_col = size->columns});
}

/* ---- the one who stays between them ---------------------------------------------------------- */

struct terminal_queue {
    char data[TERMINAL_MESSAGE_MAX];
    size_t at, len;
};

/* False if the other side is gone. */
static bool terminal_flush(struct terminal_queue *q, int fd)
{
    while (q->len > 0) {
        ssize_t n = write(fd, q->data + q->at, q->len);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        q->at += (size_t)n;
        q->len -= (size_t)n;
    }
    return true;
}

/* The next message of the daemon, which comes as a whole and soon: we wait for the rest of it. */
static bool terminal_take(int sock, int master, struct terminal_queue *typed)
{
    struct terminal_message head;
    fd_set_nonblocking(sock, false);
    bool is_fine = terminal_read_all(sock, &head, sizeof(head)) &&
                   head.len <= TERMINAL_MESSAGE_MAX &&
                   terminal_read_all(sock, typed->data, head.len);
    fd_set_nonblocking(sock, true);
    if (!is_fine)
        return false;
    typed->at = typed->len = 0;
    if (head.type == TERMINAL_DATA)
        typed->len = head.len;
    else if (head.type == TERMINAL_RESIZE && head.len == sizeof(struct terminal_size))
        terminal_set_size(master, (const struct terminal_size *)typed->data);
    return true;
}

/* Until the program ended and all that it wrote was sent. What others write then, who still have
 * the terminal open, may be endless and is not waited for. */
static void terminal_relay(int sock, int master, int program)
{
    static struct terminal_queue typed, shown;
    bool has_ended = false, is_read = false;
    size_t n_rest = 0;
    fd_set_nonblocking(sock, true);
    fd_set_nonblocking(master, true);
    while (!is_read || shown.len > 0) {
        struct pollfd waits[] = {
            {.fd = sock,
             .events = (short)((typed.len == 0 ? POLLIN : 0) | (shown.len > 0 ? POLLOUT : 0))},
            {.fd = has_ended || (shown.len > 0 && typed.len == 0) ? -1 : master,
             .events = (short)((shown.len == 0 ? POLLIN : 0) | (typed.len > 0 ? POLLOUT : 0))},
            {.fd = has_ended ? -1 : program, .events = POLLIN},
        };
        if (poll(waits, ARRAY_LEN(waits), has_ended && shown.len == 0 ? 0 : -1) < 0)
            _exit(EXIT_NO_TERMINAL);
        if (waits[0].revents & (POLLHUP | POLLERR))
            _exit(0); /* the daemon hung up */
        has_ended = has_ended || waits[2].revents != 0;
        if ((waits[1].revents & POLLIN || has_ended) && shown.len == 0) {
            ssize_t n = read(master, shown.data, PIECE);
            shown.at = 0;
            shown.len = n > 0 ? (size_t)n : 0;
            n_rest += has_ended ? shown.len : 0;
            is_read = has_ended && (n <= 0 || n_rest > KERNEL_HOLDS_MAX);
        }
        if (waits[0].revents & POLLIN && typed.len == 0 && !terminal_take(sock, master, &typed))
            _exit(0);
        if (!terminal_flush(&shown, sock))
            _exit(0);
        if (has_ended || !terminal_flush(&typed, master))
            typed.len = 0;
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

static _Noreturn void terminal_become(char **words, int slave, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever ends the terminal's process means the program */
    for (int fd = 0; fd <= 2; fd++)
        dup2(slave, fd);
    sys_close_from(3);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (chdir(words[1]) < 0 || setenv("TERM", words[0], 1) < 0)
        fprintf(stderr, "cella: no directory %s here\r\n", words[1]);
    execvp(words[2], words + 2);
    terminal_give_up(2, "start ", words[2], errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Ends this process as the program ended. */
static _Noreturn void terminal_end_alike(pid_t program)
{
    int status = 0;
    waitpid(program, &status, 0);
    if (WIFSIGNALED(status)) {
        sigset_t all;
        sigfillset(&all);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &all, NULL);
    }
    _exit(WEXITSTATUS(status));
}

static int terminal_open_pair(int sock, const struct terminal_size *size, int *ret_slave)
{
    char name[64];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof(name)) != 0)
        terminal_give_up(sock, "open a pseudo-terminal", "", EXIT_NO_TERMINAL);
    terminal_set_size(master, size);
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    /* Whoever walks in leads a session of its own, without a terminal so far. */
    if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
        terminal_give_up(sock, "open the pseudo-terminal ", name, EXIT_NO_TERMINAL);
    *ret_slave = slave;
    return master;
}

static size_t terminal_split(char *text, size_t len, char *words[TERMINAL_WORDS_MAX + 1])
{
    size_t n = 0;
    for (char *at = text; at < text + len && n < TERMINAL_WORDS_MAX; at += strlen(at) + 1)
        words[n++] = at;
    words[n] = NULL;
    return n;
}

int main(void)
{
    static char text[TERMINAL_MESSAGE_MAX + 1];
    char *words[TERMINAL_WORDS_MAX + 1];
    const int sock = ZYGOTE_CONTROL_FD;
    struct terminal_message head;
    struct terminal_size size;
    fcntl(sock, F_SETFD, FD_CLOEXEC);
    fd_set_nonblocking(sock, false);
    if (!terminal_read_all(sock, &head, sizeof(head)) || head.type != TERMINAL_OPEN ||
        head.len < sizeof(size) || head.len > TERMINAL_MESSAGE_MAX ||
        !terminal_read_all(sock, text, head.len))
        return EXIT_NO_TERMINAL;
    memcpy(&size, text, sizeof(size));
    if (terminal_split(text + sizeof(size), head.len - sizeof(size), words) < 3)
        return EXIT_NO_TERMINAL;
    int slave, master = terminal_open_pair(sock, &size, &slave);
    /* Keys that send signals, and signals of the program to its group, are not for this process. It
     * stays in the program's group, or ^Z would stop a program that nobody continues. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t program = fork();
    if (program == 0)
        terminal_become(words, slave, &before);
    int end = program > 0 ? pidfd_open(program, 0) : -1;
    if (end < 0)
        terminal_give_up(sock, "start a process", "", EXIT_NO_TERMINAL);
    prctl(PR_SET_NAME, "cella-terminal");
    terminal_relay(sock, master, end);
    terminal_end_alike(program);
}
