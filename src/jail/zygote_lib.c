/* libcella_enter.so: what a zygote needs of C. It is opened by ctypes in any CPython from 3.9 on,
 * so it names no Python header: the three fork hooks are looked up in the running interpreter. */
#include "jail/zygote_memory.h"
#include "jail/zygote_serve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cella_zygote_serve(int control);
EXPORT void cella_unbuffer_stdio(void);
EXPORT void cella_flush_stdio(void);

EXPORT int cella_zygote_serve(int control)
{
    struct zygote_hooks python;
    *(void **)&python.before_fork = dlsym(RTLD_DEFAULT, "PyOS_BeforeFork");
    *(void **)&python.after_fork_child = dlsym(RTLD_DEFAULT, "PyOS_AfterFork_Child");
    *(void **)&python.after_fork_parent = dlsym(RTLD_DEFAULT, "PyOS_AfterFork_Parent");
    if (!python.before_fork || !python.after_fork_child || !python.after_fork_parent)
        return -ENOSYS;
    zygote_gather_memory();
    return zygote_serve(control, &python, false);
}

EXPORT void cella_unbuffer_stdio(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stderr, NULL, _IONBF, 0);
}

EXPORT void cella_flush_stdio(void)
{
    fflush(NULL);
}
