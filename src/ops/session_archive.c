/* A folder of the workspace as a tar archive, out and in. Daemon; on the loop; the archivist packs
 * and unpacks. */
#include "ops/session_file_call.h"
#include "wire/json.h"

static const struct op_param session_archive_params[] = {OP_PARAM_SESSION, OP_PARAM_FOLDER, {0}};

static void on_packed(void *context, const struct file_result *result)
{
    struct call *call = context;
    (void)result;
    const char *path = call_text(call, "path", ""), *slash = strrchr(path, '/');
    const char *last = slash != NULL ? slash + 1 : path;
    char *name = arena_alloc(&call->arena, strlen(last) + 16);
    snprintf(name, strlen(last) + 16, "%s.tar", last[0] != '\0' ? last : "workspace");
    call_send_file(call, &(struct call_file){.fd = file_call_pipe(call),
                                             .is_pipe = true,
                                             .bytes = -1,
                                             .name = name,
                                             .type = "application/x-tar"});
}

static const struct file_listener pack_listener = {.on_done = on_packed,
                                                   .on_failed = file_call_unread};

static void run_get(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_PACK);
    file_call_read(call, &what, &pack_listener);
}

const struct op op_session_archive_get = {
    .name = "session.archive_get",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/archive",
    .subject = OP_ON_FILES,
    .flags = OP_READ_ONLY,
    .params = session_archive_params,
    .doc = "A folder of the workspace as a tar archive, packed while it is sent.",
    .run = run_get,
    .sends = "a tar archive",
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$session\"}",
};

static const struct op_member unpacked_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "The folder; empty for the workspace."},
    {"files", OP_INT, .is_always = true, .doc = "How many files it had."},
    {"folders", OP_INT, .is_always = true, .doc = "How many folders."},
    {"bytes", OP_SIZE, .is_always = true, .doc = "Of all its files."},
    {0},
};
static const struct op_shape shape_unpacked = {"unpacked", unpacked_members,
                                               "An archive that was unpacked."};

static void on_unpacked(void *context, const struct file_result *result)
{
    struct call *call = context;
    const json_t *details = result->details;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "path", call_text(call, "path", ""));
    json_put_member_int(&json, "files", json_integer_value(json_object_get(details, "files")));
    json_put_member_int(&json, "folders", json_integer_value(json_object_get(details, "folders")));
    json_put_member_int(&json, "bytes", (int64_t)result->bytes);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct file_listener unpack_listener = {.on_done = on_unpacked,
                                                     .on_failed = file_call_failed};

static void run_put(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_UNPACK);
    file_call_upload(call, &what, &unpack_listener);
}

const struct op op_session_archive_put = {
    .name = "session.archive_put",
    .method = "PUT",
    .path = "/v1/sessions/{session_id}/archive",
    .subject = OP_ON_FILES,
    .flags = OP_MUTATING | OP_TAKES_BYTES,
    .params = session_archive_params,
    .doc = "Unpacks a tar archive, the body, into a folder of the workspace: all of it or nothing.",
    .run = run_put,
    .result = &shape_unpacked,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$session\", \"path\": \"src\"}",
};
