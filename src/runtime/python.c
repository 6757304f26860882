#include "runtime/runtime.h"
#include "wire/json.h"

static void write_profile(const struct runtime_profile *profile, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_member_str(&json, "name", profile->name);
    json_put_key(&json, "preload");
    json_put_array(&json);
    for (const char *const *item = profile->preload; *item != NULL; item++)
        json_put_str(&json, *item);
    json_put_array_end(&json);
    json_put_object_end(&json);
}

const struct runtime runtime_python = {
    .name = "python",
    .write_profile = write_profile,
};
