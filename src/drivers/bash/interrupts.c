/* SIGINT: for the cell that runs, the next one, or nobody. In the shell's process, partly in the
 * signal handler. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/interrupts.h"

#include "drivers/bash/imports.h"

#include <errno.h>
#include <time.h>

/* Bash loses an interrupt now and then (while a trap on DEBUG runs, for one): it gets it again. */
enum { AGAIN_NS = 20 * 1000 * 1000 };

static struct {
    const struct channel *channel;
    pid_t session;
    timer_t again; /* sends SIGINT while the cell has not ended */
    bool has_timer;
    SigHandler *bashs;                /* in whose place on_sigint_waiting is installed */
    volatile sig_atomic_t is_running; /* a cell */
    volatile sig_atomic_t is_taken;
    volatile sig_atomic_t is_early;
    volatile sig_atomic_t is_hit;
} gate;

static void set_timer(long interval_ns)
{
    struct timespec interval = {.tv_nsec = interval_ns};
    struct itimerspec spec = {.it_value = interval, .it_interval = interval};
    if (gate.has_timer)
        timer_settime(gate.again, 0, &spec, NULL);
}

static void note_hit(int sig)
{
    if (!gate.is_hit)
        set_timer(AGAIN_NS);
    gate.is_hit = 1;
    if (wait_intr_flag) { /* the builtin `wait` looks at these, or it would go on */
        last_command_exit_value = 128 + sig;
        wait_signal_received = sig;
    }
}

/* Bash throws when it is safe to. */
static void on_sigint(int sig)
{
    if (getpid() != gate.session) { /* a child that has not come to set its own handler */
        signal(sig, SIG_DFL);
        raise(sig);
    } else if (gate.is_running) {
        SETINTERRUPT;
        note_hit(sig);
    } else if (gate.is_taken || channel_has_unread(gate.channel)) {
        gate.is_early = 1;
    }
}

/* While bash waits for a child, which has got the signal too and is given the time to end. Bash's
 * own handler here would forget the signal if the child did not die of it, and, called a moment
 * before bash has noted the handler before, would send itself SIGINT for ever. */
static void on_sigint_waiting(int sig)
{
    if (getpid() != gate.session)
        on_sigint(sig);
    else if (gate.is_running)
        note_hit(sig);
}

static bool is_for_session(SigHandler *handler)
{
    return handler == on_sigint || handler == SIG_DFL || handler == termsig_sighandler ||
           handler == trap_handler || handler == sigint_sighandler;
}

/* Bash changes its handler of SIGINT in many places: `trap`, a failed `exec`, each wait for a
 * child. All of them come through here, and in the session itself ours is what gets the signal
 * first. */
static int sigaction_of_shell(int sig, const struct sigaction *action, struct sigaction *old)
{
    if (sig != SIGINT || action == NULL || getpid() != gate.session)
        return sigaction(sig, action, old);
    struct sigaction ours = *action;
    SigHandler *before = gate.bashs;
    if (is_for_session(action->sa_handler)) {
        ours.sa_handler = on_sigint;
    } else if (action->sa_handler != SIG_IGN) {
        gate.bashs = action->sa_handler;
        ours.sa_handler = on_sigint_waiting;
    }
    int r = sigaction(sig, &ours, old);
    if (r == 0 && old != NULL && old->sa_handler == on_sigint_waiting)
        old->sa_handler = before;
    if (ours.sa_handler == on_sigint && gate.is_hit)
        SETINTERRUPT; /* it came while bash waited */
    return r;
}

/* A timer stays with the process that made it. */
void interrupts_renew(void)
{
    gate.session = getpid();
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGINT};
    gate.has_timer = timer_create(CLOCK_MONOTONIC, &event, &gate.again) == 0;
    gate.is_taken = gate.is_early = 0;
}

void interrupts_install(const struct channel *channel)
{
    gate.channel = channel;
    interrupts_renew();
    imports_replace("sigaction", sigaction_of_shell);
    set_signal_handler(SIGINT, on_sigint);
}

void interrupts_take_cell(void)
{
    gate.is_taken = 1;
}

void interrupts_drop_cell(void)
{
    gate.is_taken = 0;
    if (!channel_has_unread(gate.channel))
        gate.is_early = 0;
}

void interrupts_begin_cell(void)
{
    gate.is_hit = 0;
    CLRINTERRUPT;
    if (!signal_is_ignored(SIGINT))
        set_signal_handler(SIGINT, on_sigint);
    gate.is_running = 1;
    gate.is_taken = 0;
    if (gate.is_early) {
        gate.is_early = 0;
        on_sigint(SIGINT);
    }
}

bool interrupts_take_hit(void)
{
    bool is_hit = gate.is_hit;
    if (is_hit)
        set_timer(0);
    gate.is_hit = 0;
    CLRINTERRUPT;
    return is_hit;
}

void interrupts_end_cell(void)
{
    gate.is_running = 0;
    interrupts_take_hit();
}

/* Without the mask a signal that comes between our look and the wait would be slept through. */
int interrupts_wait(const struct channel *channel, int64_t timeout_ms)
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    int r = -EINTR;
    if (!interrupt_state && !terminating_signal)
        r = channel_wait(channel, timeout_ms, &old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return r;
}
