/* How the zygotes of each language are started. Daemon; owns nothing. */
#include "runtime/runtime.h"

#include "jail/spec.h"
#include "wire/json.h"

static const struct runtime *const runtimes[] = {&runtime_python, &runtime_node, &runtime_bash};

const char *const runtime_names[] = {"python", "node", "bash", NULL};

const struct runtime *runtime_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        if (strcmp(runtimes[i]->name, name) == 0)
            return runtimes[i];
    return NULL;
}

/* For those that are started by the launcher: its command line for `program` and `args`. */
static const char *const *runtime_launch(struct arena *arena, const char *program,
                                         const char *const *args)
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

/* ---- Python ---------------------------------------------------------------------------------- */

enum { PROFILE_JSON_MAX = 64 * 1024 };

static const char *profile_json(const struct runtime_profile *profile, struct arena *arena)
{
    _buf_ struct buf out = BUF_INIT(PROFILE_JSON_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "name", profile->name);
    json_put_key(&json, "preload");
    json_put_array(&json);
    for (const char *const *item = profile->preload; *item != NULL; item++)
        json_put_str(&json, *item);
    json_put_array_end(&json);
    if (profile->warmup_secs > 0)
        json_put_member_int(&json, "warmup_secs", profile->warmup_secs);
    json_put_object_end(&json);
    return arena_copy(arena, buf_str(&out), out.len);
}

/* The interpreter itself is the zygote: a fork of it has everything loaded. */
static const char *const *python_command(const struct runtime_profile *profile, struct arena *arena)
{
    if (profile->is_cold) {
        /* The session's socket is the first descriptor after the standard ones. */
        const char *const args[] = {"-s", JAIL_LIB "/python/standalone.py", "3",
                                    profile_json(profile, arena), NULL};
        return runtime_launch(arena, profile->program, args);
    }
    const char *const argv[] = {profile->program, "-s", JAIL_LIB "/python/zygote.py",
                                profile_json(profile, arena), NULL};
    return arena_copy(arena, argv, sizeof(argv));
}

const struct runtime runtime_python = {.name = "python", .command = python_command};

/* ---- Node.js --------------------------------------------------------------------------------- */

static const char *const *node_command(const struct runtime_profile *profile, struct arena *arena)
{
    static const char *const args[] = {"--no-warnings", "--expose-internals",
                                       JAIL_LIB "/node/main.js", NULL};
    return runtime_launch(arena, profile->program, args);
}

const struct runtime runtime_node = {.name = "node", .command = node_command};

/* ---- bash ------------------------------------------------------------------------------------ */

static const char *const *bash_command(const struct runtime_profile *profile, struct arena *arena)
{
    static const char *const args[] = {"--norc", "--noprofile", JAIL_LIB "/bash/main.bash", NULL};
    return runtime_launch(arena, profile->program, args);
}

const struct runtime runtime_bash = {.name = "bash", .command = bash_command};
