#include "jail/spec.h"
#include "runtime/runtime.h"
#include "wire/json.h"

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

/* The session's socket is the first descriptor after the standard ones. */
static const char *const *cold_command(const struct runtime_profile *profile, struct arena *arena)
{
    const char *const args[] = {"-s", JAIL_LIB "/python/standalone.py", "3",
                                profile_json(profile, arena), NULL};
    return runtime_launch(arena, profile->program, args);
}

/* The interpreter itself is the zygote: a fork of it has everything loaded. */
static const char *const *command(const struct runtime_profile *profile, struct arena *arena)
{
    if (profile->is_cold)
        return cold_command(profile, arena);
    const char *const argv[] = {profile->program, "-s", JAIL_LIB "/python/zygote.py",
                                profile_json(profile, arena), NULL};
    return arena_copy(arena, argv, sizeof(argv));
}

const struct runtime runtime_python = {.name = "python", .command = command};
