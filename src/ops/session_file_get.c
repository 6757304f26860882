#include "ops/session_file_call.h"
#include "session/engine.h"
#include "store/store.h"

static const struct op_param params[] = {OP_PARAM_SESSION, OP_PARAM_FILE_PATH, {0}};

static void on_done(void *context, const struct file_result *result)
{
    struct call *call = context;
    struct blob_hash hash;
    struct err e;
    const char *path = call_text(call, "path", ""), *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    int fd = -1;
    if (blob_parse_hex(result->hash, &hash) == 0)
        fd = blob_open(store_blobs(engine_store(call->engine)), &hash);
    if (fd < 0) {
        err_set(&e, ERR_INTERNAL, "the file was read, and is not in the store");
        call_fail(call, &e);
        return;
    }
    call_send_file(call, &(struct call_file){.fd = fd,
                                             .bytes = result->bytes,
                                             .name = arena_strdup(&call->arena, name),
                                             .type = call_type_of_file(name)});
}

static const struct file_listener listener = {.on_done = on_done, .on_failed = file_call_failed};

static void run(struct call *call)
{
    if (call_store(call) != NULL)
        file_call_order(call, WARDEN_FILE_GET, NULL, &listener);
}

const struct op op_session_file_get = {
    .name = "session.file_get",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/files/{path}",
    .subject = OP_ON_FILES,
    .flags = OP_READ_ONLY | OP_HAS_TAIL,
    .params = params,
    .doc = "A file of the session's workspace, as it is now.",
    .run = run,
    .sends = "the bytes of the file",
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\"}",
};
