/* session.file_list and session.file_stat. Daemon; on the loop; the archivist looks. */
#include "ops/session_file_call.h"

enum { LIST_DEFAULT = 200 };

static const struct op_param list_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_FOLDER,
    {.name = "recursive",
     .type = OP_BOOL,
     .place = OP_IN_QUERY,
     .doc = "Lists what is in folders of it, too."},
    {.name = "pattern",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .max = WARDEN_PATTERN_SIZE - 1,
     .doc = "Only names that match: *.csv. With a slash, paths from the folder on: **/test_*.py."},
    {.name = "after",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .max = WARDEN_PATH_SIZE - 1,
     .doc = "The next page: what the last answer has as its next."},
    {.name = "limit",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = WARDEN_PAGE_MAX,
     .doc = "How many at most; default 200. Fewer come if their names are long."},
    {0},
};

static const char *const file_types[] = {"file", "folder", "link", "other", NULL};

static const struct op_member file_entry_members[] = {
    {"path", OP_TEXT, .is_always = true, .doc = "Below /workspace; empty for that itself."},
    {"type", OP_CHOICE, .is_always = true, .choices = file_types, .doc = "What it is."},
    {"bytes", OP_SIZE, .is_always = true, .doc = "Of a file; else 0."},
    {"mode", OP_TEXT, .is_always = true, .doc = "Its permissions, as chmod takes them."},
    {"modified_at", OP_TEXT, .is_always = true, .doc = "When it was last changed."},
    {"target", OP_TEXT, .doc = "Where a link leads to."},
    {0},
};
const struct op_shape shape_file_entry = {"file_entry", file_entry_members,
                                          "A file or folder of a workspace."};

static const struct op_member file_list_members[] = {
    {"entry", OP_OBJECT, .is_always = true, .shape = &shape_file_entry,
     .doc = "The folder itself."},
    {"entries", OP_LIST, .is_always = true, .shape = &shape_file_entry, .doc = "What is in it."},
    {"next", OP_TEXT,
     .doc = "Where the next page goes on: given as after. The last page has none."},
    {0},
};
static const struct op_shape shape_file_list = {"file_list", file_list_members,
                                                "A page of what is in a folder."};

static void session_file_list_on_listed(void *context, const struct file_result *result)
{
    file_call_reply(context, 200, result->details, NULL);
}

static const struct file_listener list_listener = {.on_done = session_file_list_on_listed,
                                                   .on_failed = file_call_failed};

static void run_list(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_LIST);
    what.is_recursive = call_bool(call, "recursive", false);
    what.limit = (uint32_t)call_int(call, "limit", LIST_DEFAULT);
    snprintf(what.pattern, sizeof(what.pattern), "%s", call_text(call, "pattern", ""));
    snprintf(what.other, sizeof(what.other), "%s", call_text(call, "after", ""));
    file_call_order(call, &what, -1, &list_listener);
}

const struct op op_session_file_list = {
    .name = "session.file_list",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/files",
    .subject = OP_ON_FILES,
    .flags = OP_READ_ONLY,
    .params = list_params,
    .doc = "What is in a folder of the session's workspace, page by page.",
    .run = run_list,
    .result = &shape_file_list,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$session\", \"recursive\": true, \"pattern\": \"*.txt\"}",
};

static const struct op_param stat_params[] = {OP_PARAM_SESSION, OP_PARAM_FILE_PATH, {0}};

static void on_looked(void *context, const struct file_result *result)
{
    file_call_reply(context, 200, result->details, "entry");
}

static const struct file_listener stat_listener = {.on_done = on_looked,
                                                   .on_failed = file_call_failed};

static void run_stat(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_STAT);
    file_call_order(call, &what, -1, &stat_listener);
}

const struct op op_session_file_stat = {
    .name = "session.file_stat",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/stat/{path}",
    .subject = OP_ON_FILES,
    .flags = OP_READ_ONLY | OP_HAS_TAIL,
    .params = stat_params,
    .doc = "What a path of the workspace is: its type, bytes, mode and time.",
    .run = run_stat,
    .result = &shape_file_entry,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\"}",
};
