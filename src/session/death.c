#include "session/death.h"

#include "base/base.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#define NEW_SESSION " The variables of this session are lost: create a new one to go on."

enum death_cause {
    CAUSE_CALLER,
    CAUSE_TIME,
    CAUSE_SUCCESSOR,
    CAUSE_CHANNEL,
    CAUSE_STOP,
    CAUSE_REFUSED,
    CAUSE_WARDEN,
    CAUSE_MEMORY,
    CAUSE_DISK,
    CAUSE_FORBIDDEN,
    CAUSE_CPU,
    CAUSE_SIGNAL,
    CAUSE_EXIT,
    CAUSE_UNKNOWN,
};

static const struct {
    const char *name;
    const char *advice;
} causes[] = {
    [CAUSE_CALLER] = {"Killed", "Create a new session to go on."},
    [CAUSE_TIME] = {"TimeLimit", "Split the work into shorter cells, or give the cell a larger "
                                 "timeout_ms." NEW_SESSION},
    [CAUSE_SUCCESSOR] = {"TimeLimit", "Wait for a cell to end, or interrupt it, before sending the "
                                      "next one." NEW_SESSION},
    [CAUSE_CHANNEL] = {"ControlChannel",
                       "Do not close or write to file descriptors that the cell did not open "
                       "itself." NEW_SESSION},
    [CAUSE_STOP] = {"DaemonStop", "Wait until the daemon runs again and create a new session."},
    [CAUSE_REFUSED] = {"NotStarted", "Try again in a moment; if it stays so, `cella doctor` says "
                                     "what the machine lacks."},
    [CAUSE_WARDEN] = {"DaemonStop", "No code can run until the daemon was started again."},
    [CAUSE_MEMORY] = {"OutOfMemory",
                      "Work in smaller pieces and delete what is no longer needed, or create the "
                      "session with a larger limits.memory_mb." NEW_SESSION},
    [CAUSE_DISK] = {"DiskQuota",
                    "Delete files in /workspace while working, or create the session with a "
                    "larger limits.disk_mb." NEW_SESSION},
    [CAUSE_FORBIDDEN] = {"ForbiddenCall", "Do it without that system call." NEW_SESSION},
    [CAUSE_CPU] = {"CpuLimit", "Split the work into shorter cells." NEW_SESSION},
    [CAUSE_SIGNAL] = {"Crashed", "Look for native code (ctypes, an extension module, a deep "
                                 "recursion) in the last cell." NEW_SESSION},
    [CAUSE_EXIT] = {"Exited", "Leave a cell with sys.exit() or an exception instead: they end the "
                              "cell and keep the session." NEW_SESSION},
    [CAUSE_UNKNOWN] = {"Killed", "Create a new session to go on."},
};

static bool was_killed(const struct death_facts *f, int sig)
{
    return f->has_status && WIFSIGNALED(f->status) && WTERMSIG(f->status) == sig;
}

/* What the interpreter did by itself outranks what was wished: one that ended with an exit code
 * while its kill was under way has ended with that code. */
static enum death_cause find_cause(const struct death_facts *f)
{
    static const enum death_cause wished[] = {
        [DEATH_UNWISHED] = CAUSE_UNKNOWN,   [DEATH_BY_CALLER] = CAUSE_CALLER,
        [DEATH_BY_LIMIT] = CAUSE_TIME,      [DEATH_BY_SUCCESSOR] = CAUSE_SUCCESSOR,
        [DEATH_BY_CHANNEL] = CAUSE_CHANNEL, [DEATH_BY_STOP] = CAUSE_STOP,
        [DEATH_BY_REFUSAL] = CAUSE_REFUSED, [DEATH_BY_WARDEN] = CAUSE_WARDEN,
    };
    bool may_be_its_own = f->wish == DEATH_UNWISHED || f->wish == DEATH_BY_CHANNEL;
    if (!may_be_its_own || !f->has_status)
        return wished[f->wish];
    if (was_killed(f, SIGKILL) && f->oom_kills == 0)
        return f->is_over_quota ? CAUSE_DISK : wished[f->wish];
    if (was_killed(f, SIGKILL))
        return CAUSE_MEMORY;
    if (was_killed(f, SIGSYS))
        return CAUSE_FORBIDDEN;
    if (was_killed(f, SIGXCPU))
        return CAUSE_CPU;
    if (was_killed(f, SIGXFSZ) || (was_killed(f, SIGBUS) && f->is_over_quota))
        return CAUSE_DISK;
    return WIFSIGNALED(f->status) ? CAUSE_SIGNAL : CAUSE_EXIT;
}

static void describe(const struct death_facts *f, enum death_cause cause, char *out, size_t size)
{
    const char *detail = f->detail != NULL ? f->detail : "";
    unsigned long long memory_bytes = (unsigned long long)f->limits.memory_mb * MIB;
    switch (cause) {
    case CAUSE_CALLER:
        snprintf(out, size, "the session was killed by its caller");
        return;
    case CAUSE_TIME:
        snprintf(out, size,
                 "ran past its time limit of %u ms, ignored the interrupt and was killed (SIGKILL)",
                 f->timeout_ms);
        return;
    case CAUSE_SUCCESSOR:
        snprintf(out, size,
                 "was overdue when the next cell came, ignored the interrupt and was killed "
                 "(SIGKILL)");
        return;
    case CAUSE_CHANNEL:
        snprintf(out, size, "the cell damaged the control channel: %s", detail);
        return;
    case CAUSE_STOP:
        snprintf(out, size, "the daemon is stopping");
        return;
    case CAUSE_REFUSED:
        snprintf(out, size, "the session could not be started: %s", detail);
        return;
    case CAUSE_WARDEN:
        snprintf(out, size, "the process that keeps the sandboxes ended: %s", detail);
        return;
    case CAUSE_MEMORY:
        snprintf(out, size, "used more than its %u MB (%llu bytes) of memory and was killed",
                 f->limits.memory_mb, memory_bytes);
        return;
    case CAUSE_DISK:
        snprintf(out, size, "/workspace is over its limit of %u MB", f->limits.disk_mb);
        return;
    case CAUSE_FORBIDDEN:
        snprintf(out, size, "made a system call that the sandbox forbids and was killed");
        return;
    case CAUSE_CPU:
        snprintf(out, size, "used up its processor time and was killed");
        return;
    case CAUSE_SIGNAL:
        snprintf(out, size, "the interpreter was ended by signal %d (%s)", WTERMSIG(f->status),
                 strsignal(WTERMSIG(f->status)));
        return;
    case CAUSE_EXIT:
        snprintf(out, size, "the interpreter ended itself with exit code %d",
                 WEXITSTATUS(f->status));
        return;
    case CAUSE_UNKNOWN:
        snprintf(out, size, "the interpreter was killed (SIGKILL) from inside its sandbox");
        return;
    }
}

void death_certify(const struct death_facts *facts, struct death *ret)
{
    enum death_cause cause = find_cause(facts);
    *ret = (struct death){.name = causes[cause].name, .advice = causes[cause].advice};
    describe(facts, cause, ret->message, sizeof(ret->message));
    if (facts->has_status) {
        ret->has_exit_code = true;
        ret->exit_code =
            WIFSIGNALED(facts->status) ? 128 + WTERMSIG(facts->status) : WEXITSTATUS(facts->status);
    }
}
