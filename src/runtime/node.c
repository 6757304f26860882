#include "jail/spec.h"
#include "runtime/runtime.h"

static const char *const *command(const struct runtime_profile *profile, struct arena *arena)
{
    static const char *const args[] = {"--no-warnings", "--expose-internals",
                                       JAIL_LIB "/node/main.js", NULL};
    return runtime_launch(arena, profile->program, args);
}

const struct runtime runtime_node = {.name = "node", .command = command};
