#include "jail/spec.h"
#include "runtime/runtime.h"

static const char *const *command(const struct runtime_profile *profile, struct arena *arena)
{
    static const char *const args[] = {"--norc", "--noprofile", JAIL_LIB "/bash/main.bash", NULL};
    return runtime_launch(arena, profile->program, args);
}

const struct runtime runtime_bash = {.name = "bash", .command = command};
