/* clang-format off */
#include "runtime/bash/shell.h"
/* clang-format on */

#include "runtime/bash/interrupts.h"

static struct {
    const struct channel *channel;
    sh_builtin_func_t *trap;          /* bash's own */
    volatile sig_atomic_t is_running; /* a cell */
    volatile sig_atomic_t is_taken;
    volatile sig_atomic_t is_early;
    volatile sig_atomic_t is_hit;
} gate;

static void on_sigint(int sig)
{
    if (gate.is_running) {
        gate.is_hit = 1;
        sigint_sighandler(sig); /* bash throws when it is safe to */
    } else if (gate.is_taken || channel_has_unread(gate.channel)) {
        gate.is_early = 1;
    }
}

/* `trap` sets the handlers that a script has, with which SIGINT would end the session or be no more
 * than the trap. */
static int trap_and_keep_ours(WORD_LIST *args)
{
    sigset_t sigint, old;
    sigemptyset(&sigint);
    sigaddset(&sigint, SIGINT);
    sigprocmask(SIG_BLOCK, &sigint, &old);
    int status = gate.trap(args);
    if (!signal_is_ignored(SIGINT))
        set_signal_handler(SIGINT, on_sigint);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return status;
}

void interrupts_install(const struct channel *channel)
{
    gate.channel = channel;
    set_signal_handler(SIGINT, on_sigint);
    struct builtin *trap = builtin_address_internal((char *)(uintptr_t) "trap", 1);
    if (trap != NULL) {
        gate.trap = trap->function;
        trap->function = trap_and_keep_ours;
    }
}

void interrupts_take_cell(void)
{
    gate.is_taken = 1;
}

void interrupts_begin_cell(void)
{
    gate.is_hit = 0;
    CLRINTERRUPT;
    if (!signal_is_ignored(SIGINT))
        set_signal_handler(SIGINT, on_sigint); /* a failed `exec` has put back the original one */
    gate.is_running = 1;
    gate.is_taken = 0;
    if (gate.is_early) {
        gate.is_early = 0;
        on_sigint(SIGINT);
    }
}

void interrupts_end_cell(void)
{
    gate.is_running = 0;
    CLRINTERRUPT;
}

bool interrupts_hit(void)
{
    return gate.is_hit;
}
