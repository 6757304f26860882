/* Loaded into a daemon that was built with -finstrument-functions (tests/shape.py --paths):
 * collects which functions its main thread enters between two signals, and appends their addresses,
 * as the program's file has them, to the file that CELLA_SHAPE_TRACE names. */
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))

enum { PLACES = 1 << 14 }; /* more than four times the functions that there are */

static uintptr_t base, seen[PLACES];
static volatile sig_atomic_t is_on;
static pid_t main_thread;
static int out = -1;

QUIET void __cyg_profile_func_enter(void *function, void *caller);
QUIET void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (!is_on || gettid() != main_thread)
        return;
    uintptr_t address = (uintptr_t)function - base;
    size_t at = address * 2654435761U % PLACES;
    while (seen[at] != 0 && seen[at] != address)
        at = (at + 1) % PLACES;
    seen[at] = address;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

QUIET static void toggle(int sig)
{
    (void)sig;
    is_on = !is_on;
    for (size_t i = 0; i < PLACES && !is_on; i++) {
        if (seen[i] != 0 && write(out, &seen[i], sizeof(seen[i])) < 0)
            abort();
        seen[i] = 0;
    }
    uintptr_t end = 0;
    if (!is_on && write(out, &end, sizeof(end)) < 0)
        abort();
}

QUIET static int find_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    base = info->dlpi_addr;
    return 1; /* the program comes first */
}

__attribute__((constructor)) QUIET static void begin(void)
{
    const char *path = getenv("CELLA_SHAPE_TRACE");
    if (path == NULL)
        return;
    out = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    main_thread = gettid();
    dl_iterate_phdr(find_base, NULL);
    signal(SIGRTMIN + 1, toggle);
    unsetenv("LD_PRELOAD"); /* not for interpreters */
    unsetenv("CELLA_SHAPE_TRACE");
}
