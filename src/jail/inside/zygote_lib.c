/* libcella_enter.so: what a zygote needs of C. It is opened by ctypes in any CPython from 3.9 on,
 * so it names no Python header: the three fork hooks are looked up in the running interpreter. */
#include "jail/inside/room.h"
#include "jail/inside/sibling.h"
#include "jail/inside/sleeper.h"
#include "jail/inside/zygote_crash.h"
#include "jail/inside/zygote_memory.h"
#include "jail/inside/zygote_serve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* Bytes: three words for each item of a dict, in its order: where the key, the value and the type
 * of the value lie. Python could list them too, but would count a reference to each, and so write
 * to pages that sessions share. NULL if an exception is set. */
EXPORT void *cella_identities_of(void *namespace)
{
    static struct {
        ssize_t (*size)(void *dict);
        int (*next)(void *dict, ssize_t *at, void **ret_key, void **ret_value);
        void *(*new_bytes)(const char *data, ssize_t size);
        char *(*data_of)(void *bytes);
    } python;
    if (python.data_of == NULL) {
        *(void **)&python.size = dlsym(RTLD_DEFAULT, "PyDict_Size");
        *(void **)&python.next = dlsym(RTLD_DEFAULT, "PyDict_Next");
        *(void **)&python.new_bytes = dlsym(RTLD_DEFAULT, "PyBytes_FromStringAndSize");
        *(void **)&python.data_of = dlsym(RTLD_DEFAULT, "PyBytes_AsString");
    }
    struct {
        void *key, *value, *type;
    } item;
    ssize_t left = python.size(namespace), at = 0;
    void *bytes = left < 0 ? NULL : python.new_bytes(NULL, left * (ssize_t)sizeof(item));
    char *out = bytes == NULL ? NULL : python.data_of(bytes);
    for (; out != NULL && left > 0 && python.next(namespace, &at, &item.key, &item.value); left--) {
        item.type = ((void **)item.value)[1];
        memcpy(out, &item, sizeof(item));
        out += sizeof(item);
    }
    return bytes;
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
