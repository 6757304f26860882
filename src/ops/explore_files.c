/* Files of the workspace as exploring code asks for them: explore.list_dir and explore.file_info.
 * Daemon; on the loop. */
#include "ops/explore_call.h"
#include "ops/session_file_call.h"
#include "session/session.h"
#include "wire/json.h"

enum { LIST_DIR_MAX = 100 };

static const struct op_param explore_files_params[] = {
    OP_PARAM_SESSION,
    {.name = "path",
     .type = OP_TEXT,
     .max = WARDEN_PATH_SIZE - 1,
     .doc = "Below /workspace; default: /workspace itself."},
    OP_PARAM_QUIET,
    OP_PARAM_TOON,
    {0},
};

static void explore_files_order(struct call *call, enum warden_file_action action,
                                const struct file_listener *listener)
{
    struct warden_file_order what = {.action = action, .limit = WARDEN_PAGE_MAX};
    snprintf(what.path, sizeof(what.path), "%s", explore_call_path(call_text(call, "path", "")));
    file_call_order(call, &what, -1, listener);
}

static const char *explore_files_last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static bool explore_files_is_folder(const json_t *entry)
{
    return strcmp(json_string_value(json_object_get(entry, "type")), "folder") == 0;
}

/* Folders first, then the rest, each by its name. */
static void explore_files_put(json_t *files, const json_t *entries, bool folders)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (explore_files_is_folder(entry) != folders || json_array_size(files) == LIST_DIR_MAX)
            continue;
        json_array_append_new(
            files,
            json_pack("{s:s, s:s, s:O}", "name",
                      explore_files_last(json_string_value(json_object_get(entry, "path"))), "type",
                      folders ? "dir" : "file", "size", json_object_get(entry, "bytes")));
    }
}

static void explore_list_dir_on_listed(void *context, const struct file_result *result)
{
    struct call *call = context;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const json_t *entries = json_object_get(result->details, "entries");
    bool has_more = json_is_string(json_object_get(result->details, "next"));
    json_t *files = json_array();
    explore_files_put(files, entries, true);
    explore_files_put(files, entries, false);
    const char *path = call_text(call, "path", ".");
    char query[WARDEN_PATH_SIZE + 16], found[64];
    snprintf(query, sizeof(query), "path='%s'", path);
    snprintf(found, sizeof(found), "%zu entries", json_array_size(entries));
    explore_call_note(call, session, "list_dir", query, found, strlen(found));
    json_t *told = json_pack("{s:s, s:o, s:I}", "path", path, "files", files, "total",
                             (json_int_t)json_array_size(entries));
    if (has_more)
        json_object_set_new(told, "more", json_true());
    explore_call_reply(call, 200, told);
}

static const struct file_listener explore_list_dir_listener = {
    .on_done = explore_list_dir_on_listed, .on_failed = file_call_failed};

static void explore_list_dir_run(struct call *call)
{
    explore_files_order(call, WARDEN_FILE_LIST, &explore_list_dir_listener);
}

static const char *const explore_file_types[] = {"dir", "file", NULL};
static const struct op_member explore_dir_entry_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "Its name in the folder."},
    {"type", OP_CHOICE, .is_always = true, .choices = explore_file_types, .doc = "What it is."},
    {"size", OP_SIZE, .is_always = true, .doc = "Of a file; else 0."},
    {0},
};
static const struct op_shape shape_dir_entry = {"dir_entry", explore_dir_entry_members,
                                                "A file or a folder in a folder."};
static const struct op_member explore_dir_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "The folder."},
    {"files", OP_LIST, .is_always = true, .shape = &shape_dir_entry,
     .doc = "What is in it, folders first; at most 100."},
    {"total", OP_INT, .is_always = true, .doc = "How many there are."},
    {"more", OP_BOOL, .doc = "There are more than that."},
    {"toon", OP_TEXT, .doc = "All of this as TOON."},
    {0},
};
static const struct op_shape shape_dir = {"dir", explore_dir_members, "What is in a folder."};

const struct op op_explore_list_dir = {
    .name = "explore.list_dir",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/list_dir",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_files_params,
    .doc = "Lists a folder of the workspace, for code that explores.",
    .run = explore_list_dir_run,
    .result = &shape_dir,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$explored\"}",
};

/* ---- a file ---------------------------------------------------------------------------------- */

static void explore_file_info_reply(struct call *call, const json_t *entry)
{
    const char *path = call_text(call, "path", "");
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    json_t *told = json_pack("{s:s, s:b}", "path", path, "exists", entry != NULL);
    if (entry != NULL) {
        const char *dot = strrchr(explore_files_last(path), '.');
        json_object_set_new(told, "type",
                            json_string(explore_files_is_folder(entry) ? "dir" : "file"));
        json_object_set(told, "size", json_object_get(entry, "bytes"));
        json_object_set(told, "modified", json_object_get(entry, "modified_at"));
        json_object_set_new(told, "extension", json_string(dot != NULL ? dot : ""));
    }
    char query[WARDEN_PATH_SIZE + 16];
    snprintf(query, sizeof(query), "path='%s'", path);
    const char *found = entry != NULL ? "exists" : "does not exist";
    explore_call_note(call, session, "file_info", query, found, strlen(found));
    explore_call_reply(call, 200, told);
}

static void explore_file_info_on_found(void *context, const struct file_result *result)
{
    explore_file_info_reply(context, json_object_get(result->details, "entry"));
}

static void explore_file_info_on_failed(void *context, const struct err *e)
{
    if (e->code == ERR_NOT_FOUND)
        explore_file_info_reply(context, NULL);
    else
        call_fail(context, e);
}

static const struct file_listener explore_file_info_listener = {
    .on_done = explore_file_info_on_found, .on_failed = explore_file_info_on_failed};

static void explore_file_info_run(struct call *call)
{
    explore_files_order(call, WARDEN_FILE_STAT, &explore_file_info_listener);
}

static const struct op_member explore_info_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "As it was asked for."},
    {"exists", OP_BOOL, .is_always = true, .doc = "Whether there is such a file or folder."},
    {"type", OP_CHOICE, .choices = explore_file_types, .doc = "What it is."},
    {"size", OP_SIZE, .doc = "Of a file; else 0."},
    {"modified", OP_TEXT, .doc = "When it was last changed."},
    {"extension", OP_TEXT, .doc = "The end of its name: .csv"},
    {"toon", OP_TEXT, .doc = "All of this as TOON."},
    {0},
};
static const struct op_shape shape_file_info = {"file_info", explore_info_members,
                                                "What is known of a file."};

const struct op op_explore_file_info = {
    .name = "explore.file_info",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/file_info",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_files_params,
    .doc = "Tells of a file or folder of the workspace, for code that explores.",
    .run = explore_file_info_run,
    .result = &shape_file_info,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$explored\", \"path\": \"data.txt\"}",
};
