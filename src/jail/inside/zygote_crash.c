/* What a fatal signal writes before it ends the process. Runs in a jail, in a signal handler. */
#include "jail/inside/zygote_crash.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

static const struct {
    int number;
    const char *name; /* in the interpreter's own words */
} fatal[] = {
    {SIGBUS, "Bus error"}, {SIGILL, "Illegal instruction"}, {SIGFPE, "Floating point exception"},
    {SIGABRT, "Aborted"},  {SIGSEGV, "Segmentation fault"},
};

static struct {
    void *(*this_thread)(void);
    const char *(*dump)(int fd, void *thread);
} python;

static char stack[64 * KIB]; /* of the main thread's handlers: its own may be full */
static char dumped[64 * KIB];

/* How the line of a frame begins that is not the user's. */
static const char driver_frame[] = "  File \"/cella/";

static void write_out(const char *text, size_t len)
{
    ssize_t ignored = write(STDERR_FILENO, text, len);
    (void)ignored;
}

static void say(const char *text)
{
    write_out(text, strlen(text));
}

static const char *name_of(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
        if (fatal[i].number == number)
            return fatal[i].name;
    return strsignal(number);
}

/* The interpreter writes its stack to a descriptor: to a pipe, which has room for the hundred
 * frames that it shows at most, and drops what it has none for. */
static void dump_stack(void *thread)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        python.dump(STDERR_FILENO, thread);
        return;
    }
    python.dump(ends[1], thread);
    size_t len = 0;
    ssize_t n;
    while (len < sizeof(dumped) && (n = read(ends[0], dumped + len, sizeof(dumped) - len)) > 0)
        len += (size_t)n;
    const char *text = dumped;
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t line = newline != NULL ? (size_t)(newline - text) + 1 : len;
        bool is_drivers = line >= sizeof(driver_frame) &&
                          memcmp(text, driver_frame, sizeof(driver_frame) - 1) == 0;
        if (!is_drivers)
            write_out(text, line);
        text += line;
        len -= line;
    }
}

/* It was reset when it was delivered: raised again, the signal ends the process. */
static void on_fatal(int number)
{
    say("Fatal Python error: ");
    say(name_of(number));
    say("\n\n");
    void *thread = python.this_thread();
    if (thread != NULL)
        dump_stack(thread);
    raise(number);
}

bool zygote_explain_crashes(void)
{
    *(void **)&python.this_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    *(void **)&python.dump = dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    if (python.this_thread == NULL || python.dump == NULL || sigaltstack(&alternative, NULL) < 0)
        return false;
    struct sigaction action = {.sa_handler = on_fatal,
                               .sa_flags = SA_NODEFER | SA_RESETHAND | SA_ONSTACK};
    for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
        sigaction(fatal[i].number, &action, NULL);
    return true;
}
