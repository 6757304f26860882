#include "jail/zygote_crash.h"

#include <dlfcn.h>
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

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static const char *name_of(int number)
{
    for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
        if (fatal[i].number == number)
            return fatal[i].name;
    return strsignal(number);
}

/* It was reset when it was delivered: raised again, the signal ends the process. */
static void on_fatal(int number)
{
    say("Fatal Python error: ");
    say(name_of(number));
    say("\n\n");
    void *thread = python.this_thread();
    if (thread != NULL)
        python.dump(STDERR_FILENO, thread);
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
