#include "runtime/runtime.h"

#include "jail/spec.h"

static const struct runtime *const runtimes[] = {&runtime_python, &runtime_node, &runtime_bash};

const char *const runtime_names[] = {"python", "node", "bash", NULL};

const struct runtime *runtime_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        if (strcmp(runtimes[i]->name, name) == 0)
            return runtimes[i];
    return NULL;
}

const char *const *runtime_launch(struct arena *arena, const char *program, const char *const *args)
{
    size_t n = 0;
    while (args[n] != NULL)
        n++;
    const char **argv = arena_alloc(arena, (n + 3) * sizeof(*argv));
    argv[0] = JAIL_LIB "/launch";
    argv[1] = program;
    memcpy(argv + 2, args, n * sizeof(*args));
    return argv;
}
