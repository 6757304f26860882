/* Files that stay in the workspace: moved, copied; folders that are made. Daemon; on the loop; the
 * archivist moves. */
#include "ops/session_file_call.h"
#include "wire/json.h"

#define PARAM_PLACE(param_name, param_doc)                                                         \
    {                                                                                              \
        .name = param_name, .type = OP_TEXT, .is_required = true, .min = 1,                        \
        .max = WARDEN_PATH_SIZE - 1, .doc = param_doc                                              \
    }

static const struct op_param session_file_move_params[] = {
    OP_PARAM_SESSION,
    PARAM_PLACE("path", "The file or folder, below /workspace."),
    PARAM_PLACE("to", "Its new path. Folders on the way are made."),
    {.name = "replace", .type = OP_BOOL, .doc = "Takes the place of a file that is there."},
    {0},
};

static void session_file_move_on_done(void *context, const struct file_result *result)
{
    file_call_reply(context, 200, result->details, "entry");
}

static const struct file_listener session_file_move_listener = {
    .on_done = session_file_move_on_done, .on_failed = file_call_failed};

static void order(struct call *call, enum warden_file_action action)
{
    struct warden_file_order what = file_call_what(call, action);
    snprintf(what.other, sizeof(what.other), "%s", call_text(call, "to", ""));
    what.replaces = call_bool(call, "replace", false);
    file_call_order(call, &what, -1, &session_file_move_listener);
}

static void run_move(struct call *call)
{
    order(call, WARDEN_FILE_MOVE);
}

static void run_copy(struct call *call)
{
    order(call, WARDEN_FILE_COPY);
}

const struct op op_session_file_move = {
    .name = "session.file_move",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/move",
    .subject = OP_ON_FILES,
    .flags = OP_MUTATING,
    .params = session_file_move_params,
    .doc = "Moves a file or folder of the workspace, or gives it another name.",
    .run = run_move,
    .result = &shape_file_entry,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\", \"to\": \"old/data.txt\"}",
};

const struct op op_session_file_copy = {
    .name = "session.file_copy",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/copy",
    .subject = OP_ON_FILES,
    .flags = OP_MUTATING,
    .params = session_file_move_params,
    .doc = "Copies a file, or a folder with all that is in it, within the workspace.",
    .run = run_copy,
    .result = &shape_file_entry,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\", \"to\": \"old/data.txt\"}",
};

static const struct op_param mkdir_params[] = {
    OP_PARAM_SESSION,
    PARAM_PLACE("path", "The folder, below /workspace. Folders on the way are made."),
    {0},
};

static const struct op_member folder_made_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "The folder."},
    {"created", OP_BOOL, .is_always = true, .doc = "Whether it is new."},
    {0},
};
static const struct op_shape shape_folder_made = {"folder_made", folder_made_members,
                                                  "A folder that is there now."};

static void on_made(void *context, const struct file_result *result)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "path", call_text(call, "path", ""));
    json_put_member_bool(&json, "created", result->is_new);
    json_put_object_end(&json);
    call_reply(call, result->is_new ? 201 : 200, &out);
}

static const struct file_listener mkdir_listener = {.on_done = on_made,
                                                    .on_failed = file_call_failed};

static void run_mkdir(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_MKDIR);
    file_call_order(call, &what, -1, &mkdir_listener);
}

const struct op op_session_file_mkdir = {
    .name = "session.file_mkdir",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/mkdir",
    .subject = OP_ON_FILES,
    .flags = OP_MUTATING,
    .params = mkdir_params,
    .doc = "Makes a folder in the session's workspace; one that is there already is fine.",
    .run = run_mkdir,
    .result = &shape_folder_made,
    .status = 200,
    .other_status = 201,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$session\", \"path\": \"out/plots\"}",
};
