/* session.file_put: session_file_upload.c takes the body, the archivist puts it in its place.
 * Daemon; on the loop. */
#include "ops/session_file_call.h"
#include "wire/json.h"

static const struct op_param session_file_put_params[] = {
    OP_PARAM_SESSION, OP_PARAM_FILE_PATH, {0}};

static void session_file_put_on_done(void *context, const struct file_result *result)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "path", call_text(call, "path", ""));
    json_put_member_int(&json, "bytes", (int64_t)result->bytes);
    json_put_member_bool(&json, "created", result->is_new);
    json_put_object_end(&json);
    call_reply(call, result->is_new ? 201 : 200, &out);
}

static const struct file_listener session_file_put_listener = {.on_done = session_file_put_on_done,
                                                               .on_failed = file_call_failed};

static void session_file_put_run(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_PUT);
    file_call_upload(call, &what, &session_file_put_listener);
}

static const struct op_member file_put_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "The file."},
    {"bytes", OP_SIZE, .is_always = true, .doc = "How large it is."},
    {"created", OP_BOOL, .is_always = true, .doc = "Whether it is new."},
    {0},
};
static const struct op_shape shape_file_put = {"file_put", file_put_members,
                                               "A file that was put into a workspace."};

const struct op op_session_file_put = {
    .name = "session.file_put",
    .method = "PUT",
    .path = "/v1/sessions/{session_id}/files/{path}",
    .subject = OP_ON_FILES,
    .flags = OP_MUTATING | OP_TAKES_BYTES | OP_HAS_TAIL,
    .params = session_file_put_params,
    .doc = "Puts a file into the session's workspace, or in place of one: the body is its bytes.",
    .run = session_file_put_run,
    .result = &shape_file_put,
    .status = 200,
    .other_status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$session\", \"path\": \"new.txt\"}",
};
