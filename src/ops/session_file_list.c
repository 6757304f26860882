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
     .doc = "The next page: \"next\" of the last answer."},
    {.name = "limit",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = WARDEN_PAGE_MAX,
     .doc = "How many at most; default 200. Fewer come if their names are long."},
    {0},
};

static void on_listed(void *context, const struct file_result *result)
{
    file_call_reply(context, 200, result->details, NULL);
}

static const struct file_listener list_listener = {.on_done = on_listed,
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
    .flags = OP_READ_ONLY,
    .params = list_params,
    .doc = "What is in a folder of the session's workspace, page by page.",
    .run = run_list,
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
    .flags = OP_READ_ONLY | OP_HAS_TAIL,
    .params = stat_params,
    .doc = "What a path of the workspace is: its type, bytes, mode and time.",
    .run = run_stat,
};
