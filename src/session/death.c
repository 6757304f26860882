/* Death certificates, in the daemon: tables from evidence to words. */
#include "session/death.h"

#include <signal.h>
#include <sys/wait.h>

enum death_cause {
    CAUSE_CALLER,
    CAUSE_TIME,
    CAUSE_SUCCESSOR,
    CAUSE_IDLE,
    CAUSE_AGE,
    CAUSE_CHANNEL,
    CAUSE_STOP,
    CAUSE_SETUP,
    CAUSE_REFUSED,
    CAUSE_WARDEN,
    CAUSE_MEMORY,
    CAUSE_HEAP,
    CAUSE_DISK,
    CAUSE_PROCESSES,
    CAUSE_FORBIDDEN,
    CAUSE_CPU,
    CAUSE_SIGNAL,
    CAUSE_EXIT,
    CAUSE_INSIDE,
};

static const struct {
    const char *name;
    const char *advice;
    bool costs_state; /* variables that nobody wanted to lose */
} causes[] = {
    [CAUSE_CALLER] = {"Killed", "Create a new session to go on.", false},
    [CAUSE_TIME] = {"TimeLimit",
                    "Split the work into shorter cells, or give the cell a larger "
                    "timeout_ms.",
                    true},
    [CAUSE_SUCCESSOR] = {"TimeLimit",
                         "Wait for a cell to end, or interrupt it, before sending the "
                         "next one.",
                         true},
    [CAUSE_IDLE] = {"IdleLimit",
                    "Create a new session to go on; with a larger idle_timeout_secs "
                    "(0: none) it waits longer for the next cell.",
                    false},
    [CAUSE_AGE] = {"AgeLimit",
                   "Create a new session to go on; with a larger max_age_secs (0: none) "
                   "it may live longer.",
                   false},
    [CAUSE_CHANNEL] = {"ControlChannel",
                       "Do not close or write to file descriptors that the cell did not open "
                       "itself.",
                       true},
    [CAUSE_STOP] = {"DaemonStop",
                    "Run it again when the daemon runs again: a session that was saved comes back.",
                    false},
    [CAUSE_SETUP] = {"NotStarted",
                     "Give a cwd that is or can be a directory inside /workspace or "
                     "/tmp, and an env that the interpreter can use.",
                     false},
    [CAUSE_REFUSED] = {"NotStarted",
                       "Try again in a moment; if it stays so, `cella doctor` says "
                       "what the machine lacks.",
                       false},
    [CAUSE_WARDEN] = {"SandboxLost",
                      "Wait a moment: what keeps the sandboxes is being started "
                      "again.",
                      true},
    [CAUSE_MEMORY] = {"OutOfMemory",
                      "Work in smaller pieces and delete what is no longer needed, or create the "
                      "session with a larger limits.memory_mb.",
                      true},
    [CAUSE_HEAP] = {"OutOfMemory",
                    "Work in smaller pieces and drop references that are no longer needed, or "
                    "create the session with a larger limits.memory_mb.",
                    true},
    [CAUSE_DISK] = {"DiskQuota",
                    "Delete files in /workspace while working, or create the session with a "
                    "larger limits.disk_mb.",
                    true},
    [CAUSE_PROCESSES] = {"ProcessLimit",
                         "Start fewer processes and threads at a time and wait for them, or create "
                         "the session with a larger limits.pids.",
                         true},
    [CAUSE_FORBIDDEN] = {"ForbiddenCall", "Do it without that system call.", true},
    [CAUSE_CPU] = {"CpuLimit",
                   "Split the work into shorter cells or over several sessions, or "
                   "create the session with a larger limits.cpu_seconds.",
                   true},
    [CAUSE_SIGNAL] = {"Crashed",
                      "Look for native code (ctypes, an extension module, a deep "
                      "recursion) in the last cell.",
                      true},
    [CAUSE_EXIT] = {"Exited", "Leave a cell without ending its interpreter.", true},
    [CAUSE_INSIDE] = {"Killed", "Do not send SIGKILL to the session's interpreter.", true},
};

/* How a cell is left without ending the session. */
static const struct {
    const char *runtime;
    const char *advice;
} exits[] = {
    {"python", "Leave a cell with sys.exit() or an exception instead: they end the cell and keep "
               "the session."},
    {"node", "Leave a cell with an error that is thrown instead: it ends the cell and keeps the "
             "session."},
    {"bash", "Put ( ... ) around what exits or begins with exec: then it ends that, and keeps the "
             "session."},
};

static bool death_was_killed(const struct death_facts *f, int sig)
{
    return f->has_status && WIFSIGNALED(f->status) && WTERMSIG(f->status) == sig;
}

/* By a signal that is sent for one reason only, or by one for which there is other evidence. */
static enum death_cause death_find_signal_cause(const struct death_facts *f,
                                                enum death_cause wished)
{
    if (f->is_heap_exhausted)
        return CAUSE_HEAP;
    if (death_was_killed(f, SIGKILL) && f->oom_kills > 0)
        return CAUSE_MEMORY;
    if (death_was_killed(f, SIGKILL))
        return f->is_over_quota ? CAUSE_DISK : wished;
    if (death_was_killed(f, SIGSYS))
        return CAUSE_FORBIDDEN;
    if (death_was_killed(f, SIGXCPU))
        return CAUSE_CPU;
    if (death_was_killed(f, SIGXFSZ) || (death_was_killed(f, SIGBUS) && f->is_over_quota))
        return CAUSE_DISK;
    /* An interpreter that cannot have a thread gives up. */
    if (death_was_killed(f, SIGABRT) && f->pids_refused > 0)
        return CAUSE_PROCESSES;
    return CAUSE_SIGNAL;
}

/* What the interpreter did by itself outranks what was wished: one that ended with an exit code
 * while its kill was under way has ended with that code. */
static enum death_cause death_find_cause(const struct death_facts *f)
{
    static const enum death_cause wished[] = {
        [DEATH_UNWISHED] = CAUSE_INSIDE,    [DEATH_BY_CALLER] = CAUSE_CALLER,
        [DEATH_BY_LIMIT] = CAUSE_TIME,      [DEATH_BY_SUCCESSOR] = CAUSE_SUCCESSOR,
        [DEATH_BY_IDLENESS] = CAUSE_IDLE,   [DEATH_BY_AGE] = CAUSE_AGE,
        [DEATH_BY_CLOSING] = CAUSE_CHANNEL, [DEATH_BY_CHANNEL] = CAUSE_CHANNEL,
        [DEATH_BY_STOP] = CAUSE_STOP,       [DEATH_BY_SETUP] = CAUSE_SETUP,
        [DEATH_BY_REFUSAL] = CAUSE_REFUSED, [DEATH_BY_WARDEN] = CAUSE_WARDEN,
    };
    bool is_untouched = f->wish == DEATH_UNWISHED || f->wish == DEATH_BY_CLOSING;
    if ((!is_untouched && f->wish != DEATH_BY_CHANNEL) || !f->has_status)
        return wished[f->wish];
    if (!WIFSIGNALED(f->status))
        return CAUSE_EXIT;
    return death_find_signal_cause(f, is_untouched ? CAUSE_INSIDE : CAUSE_CHANNEL);
}

/* The limit is wider from the first checkpoint on; the highest use tells which one was met. */
static void death_describe_memory(const struct death_facts *f, char *out, size_t size)
{
    unsigned long long peak_mb = (f->peak_bytes + MIB / 2) / MIB;
    char also[80] = "";
    if (peak_mb > f->limits.memory_mb && f->limits.checkpoint_mb > 0)
        snprintf(also, sizeof(also), " and %u MB for checkpoints,", f->limits.checkpoint_mb);
    int n = snprintf(out, size,
                     "needed more memory than its %u MB (files in /tmp count)%s and was killed",
                     f->limits.memory_mb, also);
    if (peak_mb > 0)
        snprintf(out + n, size - (size_t)n, "; its highest use was %llu MB", peak_mb);
}

static void death_describe_signal(const struct death_facts *f, char *out, size_t size)
{
    int sig = WTERMSIG(f->status);
    const char *short_name = sigabbrev_np(sig);
    snprintf(out, size, "the interpreter was ended by signal %d (%s%s, %s)", sig,
             short_name != NULL ? "SIG" : "real-time", short_name != NULL ? short_name : "",
             strsignal(sig));
}

static void death_describe(const struct death_facts *f, enum death_cause cause, char *out,
                           size_t size)
{
    const char *detail = f->detail != NULL ? f->detail : "";
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
    case CAUSE_IDLE:
        snprintf(out, size, "the session was ended because nobody used it for %u s", f->seconds);
        return;
    case CAUSE_AGE:
        snprintf(out, size, "the session was ended because it reached its greatest age of %u s",
                 f->seconds);
        return;
    case CAUSE_CHANNEL:
        snprintf(out, size, "the cell damaged the control channel: %s", detail);
        return;
    case CAUSE_STOP:
        snprintf(out, size, "the daemon is stopping");
        return;
    case CAUSE_SETUP:
    case CAUSE_REFUSED:
        snprintf(out, size, "the session could not be started: %s", detail);
        return;
    case CAUSE_WARDEN:
        snprintf(out, size, "the process that keeps the sandboxes ended: %s", detail);
        return;
    case CAUSE_MEMORY:
        death_describe_memory(f, out, size);
        return;
    case CAUSE_HEAP:
        snprintf(out, size,
                 "the interpreter's heap ran out of memory and it gave up; the session has %u MB "
                 "in all",
                 f->limits.memory_mb);
        return;
    case CAUSE_DISK:
        snprintf(out, size, "/workspace is over its limit of %u MB%s%s", f->limits.disk_mb,
                 f->over_quota_by[0] != '\0' ? ": " : "", f->over_quota_by);
        return;
    case CAUSE_PROCESSES:
        snprintf(out, size, "the limit of %u processes and threads was reached (refused %u times)",
                 f->limits.pids, f->pids_refused);
        return;
    case CAUSE_FORBIDDEN:
        snprintf(out, size, "made a system call that the sandbox forbids%s%s and was killed",
                 f->denied[0] != '\0' ? ", after " : "", f->denied);
        return;
    case CAUSE_CPU:
        snprintf(out, size, "used up its %u s of processor time and was killed (SIGXCPU)",
                 f->limits.cpu_seconds);
        return;
    case CAUSE_SIGNAL:
        death_describe_signal(f, out, size);
        return;
    case CAUSE_EXIT:
        snprintf(out, size, "the interpreter ended itself with exit code %d",
                 WEXITSTATUS(f->status));
        return;
    case CAUSE_INSIDE:
        snprintf(out, size, "the interpreter was killed (SIGKILL) from inside its sandbox");
        return;
    }
}

void death_certify(const struct death_facts *facts, struct death *ret)
{
    enum death_cause cause = death_find_cause(facts);
    *ret = (struct death){.name = causes[cause].name, .costs_state = causes[cause].costs_state};
    const char *advice = causes[cause].advice;
    for (size_t i = 0; cause == CAUSE_EXIT && facts->runtime != NULL && i < ARRAY_LEN(exits); i++)
        if (strcmp(exits[i].runtime, facts->runtime) == 0)
            advice = exits[i].advice;
    snprintf(ret->advice, sizeof(ret->advice), "%s", advice);
    death_describe(facts, cause, ret->message, sizeof(ret->message));
    if (facts->has_status) {
        ret->has_exit_code = true;
        ret->exit_code =
            WIFSIGNALED(facts->status) ? 128 + WTERMSIG(facts->status) : WEXITSTATUS(facts->status);
    }
}

void death_conclude(struct death *death, const char *fate)
{
    size_t len = strlen(death->advice);
    if (death->costs_state)
        snprintf(death->advice + len, sizeof(death->advice) - len, "%s",
                 fate != NULL
                     ? fate
                     : " The variables of this session are lost: create a new one to go on.");
}

/* ---- cells that fail and leave their session alive ------------------------------------------- */

#define MEMORY_ADVICE                                                                              \
    "The session's memory is used up. Work in smaller pieces and delete what is no longer "        \
    "needed, or create a session with a larger limits.memory_mb."
#define DISK_ADVICE                                                                                \
    "/workspace is at its limit. Delete files there, or create a session with a larger "           \
    "limits.disk_mb."
#define TMP_ADVICE                                                                                 \
    "/tmp is full: it holds 256 MB, which count as memory. Delete files there, or write to "       \
    "/workspace."
#define SPACE_ADVICE                                                                               \
    "/workspace is at its limit, or /tmp, which holds 256 MB. Delete files there; for "            \
    "/workspace a session can be created with a larger limits.disk_mb."
#define PROCESS_ADVICE                                                                             \
    "If a process or thread was to be started: the session has as many as it may. Wait for some "  \
    "to end, or create a session with a larger limits.pids."
#define DENIED_ADVICE                                                                              \
    "The sandbox denied a system call (\"denied\" says which). Do it another way: what it "        \
    "refuses stays refused."

#define NETWORK_ADVICE                                                                             \
    "This session has no network: use what is installed, or have the data or a wheel put into "    \
    "/workspace."

/* What interpreters and libraries say, and what it means here. */
static const struct {
    const char *words;
    const char *place; /* that the message must name, too; NULL if any does, or none */
    const char *advice;
    bool is_denial; /* only if a system call was denied meanwhile */
} complaints[] = {
    {"Operation not permitted", NULL, DENIED_ADVICE, true},
    {"Permission denied", NULL, DENIED_ADVICE, true},
    {"EPERM", NULL, DENIED_ADVICE, true},
    {"EACCES", NULL, DENIED_ADVICE, true},
    {"Function not implemented", NULL, DENIED_ADVICE, true},
    {"MemoryError", NULL, MEMORY_ADVICE, false},
    {DEATH_HEAP_EXHAUSTED, NULL, MEMORY_ADVICE, false},
    {"Array buffer allocation failed", NULL, MEMORY_ADVICE, false},
    {"Cannot allocate memory", NULL, MEMORY_ADVICE, false},
    {"ENOMEM", NULL, MEMORY_ADVICE, false},
    {"No space left on device", "/tmp/", TMP_ADVICE, false},
    {"No space left on device", "/workspace/", DISK_ADVICE, false},
    {"No space left on device", NULL, SPACE_ADVICE, false},
    {"ENOSPC", "/tmp/", TMP_ADVICE, false},
    {"ENOSPC", "/workspace/", DISK_ADVICE, false},
    {"ENOSPC", NULL, SPACE_ADVICE, false},
    {"File too large", NULL, DISK_ADVICE, false},
    {"EFBIG", NULL, DISK_ADVICE, false},
    {"Disk quota exceeded", NULL, DISK_ADVICE, false},
    {"EDQUOT", NULL, DISK_ADVICE, false},
    {"ModuleNotFoundError", NULL, NETWORK_ADVICE, false},
    {"Name or service not known", NULL, NETWORK_ADVICE, false},
    {"name resolution", NULL, NETWORK_ADVICE, false},
    {"Failed to resolve", NULL, NETWORK_ADVICE, false},
    {"Network is unreachable", NULL, NETWORK_ADVICE, false},
    {"EAI_AGAIN", NULL, NETWORK_ADVICE, false},
    {"ENOTFOUND", NULL, NETWORK_ADVICE, false},
    {"ENETUNREACH", NULL, NETWORK_ADVICE, false},
    {"fetch failed", NULL, NETWORK_ADVICE, false},
    {"can't start new thread", NULL, PROCESS_ADVICE, false},
    {"Resource temporarily unavailable", NULL, PROCESS_ADVICE, false},
    {"EAGAIN", NULL, PROCESS_ADVICE, false},
};

const char *death_advise(const char *name, const char *message, bool has_denied)
{
    for (size_t i = 0; i < ARRAY_LEN(complaints); i++) {
        const char *words = complaints[i].words, *place = complaints[i].place;
        bool is_said = (strstr(name, words) != NULL || strstr(message, words) != NULL) &&
                       (place == NULL || strstr(message, place) != NULL);
        if (is_said && (has_denied || !complaints[i].is_denial))
            return complaints[i].advice;
    }
    return NULL;
}

const char *death_advise_text(const char *text, size_t len)
{
    /* pip, npm, curl, git, apt and wget. One of them may have said it all. */
    static const char *const words[] = {
        "externally-managed-environment",
        "No matching distribution found",
        "Could not resolve host",
        "Temporary failure in name resolution",
        "Temporary failure resolving",
        "Name or service not known",
        "unable to resolve host address",
        "Network is unreachable",
        "EAI_AGAIN",
        "ENETUNREACH",
    };
    static const char said[] = "no network";
    if (memmem(text, len, said, strlen(said)) != NULL)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (memmem(text, len, words[i], strlen(words[i])) != NULL)
            return NETWORK_ADVICE;
    return NULL;
}
