/* file.get: a blob by its token. The caller needs no key, but an owned file is for its owner.
 * Daemon; on the loop. */
#include "blob/blob.h"
#include "ops/ops.h"
#include "session/engine.h"
#include "store/store.h"

#include <errno.h>

static const struct op_param file_get_params[] = {
    {.name = "token",
     .type = OP_TEXT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = 64,
     .means = OP_MEANS_FILE,
     .doc = "Which file, as the answer that named it says."},
    {.name = "name",
     .type = OP_TEXT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = 1024,
     .doc = "Its name; whatever it says, the token decides."},
    {0},
};

static void on_shared(void *context, const struct store_shared *file, const struct err *e)
{
    struct call *call = context;
    struct blob_hash hash;
    if (e != NULL && e->code != ERR_NOT_FOUND) {
        call_fail(call, e);
        return;
    }
    int fd = -ENOENT;
    if (e == NULL && call_sees(call, file->owner) && blob_parse_hex(file->hash, &hash) == 0)
        fd = blob_open(store_blobs(engine_store(call->engine)), &hash);
    if (fd < 0) {
        struct err refusal;
        err_set(&refusal, ERR_NOT_FOUND, "there is no such file, or not any more");
        err_advise(&refusal, "Files of a run can be had for a time only: run the code again.");
        call_fail(call, &refusal);
        return;
    }
    call_send_file(call, &(struct call_file){.fd = fd,
                                             .bytes = file->bytes,
                                             .name = arena_strdup(&call->arena, file->name),
                                             .type = call_type_of_file(file->name)});
}

static void file_get_run(struct call *call)
{
    struct store *store = call_store(call);
    if (store == NULL)
        return;
    call_await(call, store_get_shared(store, call_text(call, "token", ""), on_shared, call));
}

/* Public: who knows the token was told it. */
const struct op op_file_get = {
    .name = "file.get",
    .method = "GET",
    .path = "/v1/files/{token}/{name}",
    .subject = OP_ON_CODE,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = file_get_params,
    .doc = "A file that a run made, as long as it is kept.",
    .run = file_get_run,
    .sends = "the bytes of the file",
    .errors = OP_ERR(NOT_FOUND),
    .example = "{\"token\": \"$token\", \"name\": \"out.txt\"}",
};
