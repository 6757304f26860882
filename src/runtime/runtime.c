#include "runtime/runtime.h"

static const struct runtime *const runtimes[] = {&runtime_python};

const struct runtime *runtime_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        if (strcmp(runtimes[i]->name, name) == 0)
            return runtimes[i];
    return NULL;
}
