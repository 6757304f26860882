/* libcella_enter.so: what a zygote needs of C. It is opened by ctypes in any CPython from 3.9 on,
 * so it names no Python header: the three fork hooks are looked up in the running interpreter. */
#include "jail/inside/room.h"
#include "jail/inside/sibling.h"
#include "jail/inside/sleeper.h"
#include "jail/inside/zygote_crash.h"
#include "jail/inside/zygote_identities.h"
#include "jail/inside/zygote_memory.h"
#include "jail/inside/zygote_serve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void cella_place_arenas(void);
EXPORT void cella_use_up_memory(void);
EXPORT void *cella_identities_of(void *namespace);
EXPORT bool cella_explain_crashes(void);
EXPORT int cella_zygote_serve(int control);
EXPORT void cella_unbuffer_stdio(void);
EXPORT void cella_flush_stdio(void);
EXPORT int cella_count_threads(void);
EXPORT bool cella_is_traced(char ret_tracer[SIBLING_TRACER_SIZE]);
EXPORT int cella_fork_awake(int kept, const int *ours, int n_ours);
EXPORT int cella_checkpoint(int channel, const int *ours, int n_ours, struct sleeper_order *ret);
EXPORT struct descriptors *cella_wake(bool has_moved);
EXPORT int cella_enter_room(int key);

EXPORT void cella_place_arenas(void)
{
    zygote_place_arenas();
}

EXPORT void cella_use_up_memory(void)
{
    zygote_use_up_memory();
}

EXPORT void *cella_identities_of(void *namespace)
{
    return zygote_identities_of(namespace);
}

EXPORT bool cella_explain_crashes(void)
{
    return zygote_explain_crashes();
}

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

EXPORT int cella_count_threads(void)
{
    return sibling_count_threads();
}

EXPORT bool cella_is_traced(char ret_tracer[SIBLING_TRACER_SIZE])
{
    return sibling_is_traced(ret_tracer);
}

EXPORT int cella_fork_awake(int kept, const int *ours, int n_ours)
{
    return sleeper_fork_awake(kept, ours, (size_t)n_ours);
}

EXPORT int cella_checkpoint(int channel, const int *ours, int n_ours, struct sleeper_order *ret)
{
    return sleeper_fork(channel, ours, (size_t)n_ours, ret);
}

EXPORT struct descriptors *cella_wake(bool has_moved)
{
    return sleeper_wake(has_moved);
}

EXPORT int cella_enter_room(int key)
{
    int r = sleeper_leave();
    return r < 0 ? r : room_enter(key);
}
