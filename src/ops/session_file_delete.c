/* session.file_delete. Daemon; on the loop; the archivist removes. */
#include "ops/session_file_call.h"

static const struct op_param session_file_delete_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_FILE_PATH,
    {.name = "recursive",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Deletes a folder with all that is in it."},
    {0},
};

static void session_file_delete_on_done(void *context, const struct file_result *result)
{
    struct call *call = context;
    (void)result;
    reply_deleted(call, "path", call_text(call, "path", ""), NULL);
}

static const struct file_listener session_file_delete_listener = {
    .on_done = session_file_delete_on_done, .on_failed = file_call_failed};

static void session_file_delete_run(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_DELETE);
    what.is_recursive = call_bool(call, "recursive", false);
    file_call_order(call, &what, -1, &session_file_delete_listener);
}

static const struct op_member deleted_file_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "The file."},
    {"deleted", OP_BOOL, .is_always = true, .doc = "true."},
    {0},
};
static const struct op_shape shape_deleted_file = {"deleted_file", deleted_file_members,
                                                   "A file that is gone."};

const struct op op_session_file_delete = {
    .name = "session.file_delete",
    .method = "DELETE",
    .path = "/v1/sessions/{session_id}/files/{path}",
    .subject = OP_ON_FILES,
    .flags = OP_MUTATING | OP_HAS_TAIL,
    .params = session_file_delete_params,
    .doc = "Deletes a file or folder of the workspace; a link is deleted, not what it leads to.",
    .run = session_file_delete_run,
    .result = &shape_deleted_file,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\"}",
};
