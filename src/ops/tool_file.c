/* The tool `file`: files of a session's workspace, each action being another operation. Daemon; on
 * the loop. */
#include "base/utf8.h"
#include "image/image.h"
#include "ops/session_file_call.h"
#include "ops/tool_call.h"
#include "wire/base64.h"

enum {
    TOOL_FILE_CONTENT_MAX = 16 * 1024 * 1024, /* bytes of a file that a model puts */
    READ_MAX = TOOL_IMAGE_MAX / 4 * 3,
};

#define WORKSPACE "/workspace"
#define BYTES_PREFIX "data:;base64,"

static const char *const tool_file_actions[] = {"put", "get", "list", "delete", NULL};

static const struct op_param tool_file_params[] = {
    {.name = "action",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = tool_file_actions,
     .doc = "What to do."},
    {.name = "path",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = WARDEN_PATH_SIZE - 1,
     .doc = "In /workspace."},
    {.name = "content",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = TOOL_FILE_CONTENT_MAX,
     .doc = "For put: text, or data:;base64,…"},
    {.name = "offset",
     .type = OP_INT,
     .is_nullable = true,
     .max = INT64_MAX,
     .doc = "For get: bytes to skip."},
    TOOL_PARAM_SESSION,
    TOOL_PARAM_TOKENS,
    {0},
};

static bool tool_file_is_action(const struct call *call, const char *action)
{
    return strcmp(call_text(call, "action", ""), action) == 0;
}

const char *tool_path(const char *path)
{
    if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0 &&
        (path[strlen(WORKSPACE)] == '/' || path[strlen(WORKSPACE)] == '\0'))
        path += strlen(WORKSPACE);
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    return strcmp(path, ".") == 0 ? "" : path;
}

static const char *path_of(const struct call *call)
{
    return tool_path(call_text(call, "path", ""));
}

/* ---- in words -------------------------------------------------------------------------------- */

static void on_put(struct call *call, const json_t *answer)
{
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    buf_printf(&text, "[%s %s, %lld bytes]",
               json_is_true(json_object_get(answer, "created")) ? "created" : "replaced",
               json_string_value(json_object_get(answer, "path")),
               (long long)json_integer_value(json_object_get(answer, "bytes")));
    tool_reply_text(call, &text);
}

static void tool_file_on_deleted(struct call *call, const json_t *answer)
{
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    buf_printf(&text, "[deleted %s]", json_string_value(json_object_get(answer, "path")));
    tool_reply_text(call, &text);
}

/* Text within the budget, and how to read on. */
static void say_text(struct call *call, const struct buf *bytes, uint64_t first, uint64_t total)
{
    size_t len = output_whole_prefix(buf_str(bytes), MIN(bytes->len, tool_text_max(call)));
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    utf8_append_lossy(&text, buf_str(bytes), len);
    if (total == 0)
        buf_append_str(&text, "[empty]");
    if (first + len < total) {
        tool_begin_line(&text);
        buf_printf(&text, "[%llu bytes more: offset=%llu]",
                   (unsigned long long)(total - first - len), (unsigned long long)(first + len));
    }
    tool_reply_text(call, &text);
}

static void on_bytes(struct call *call, struct buf *bytes, uint64_t total)
{
    enum image_format format;
    uint32_t width, height;
    uint64_t first = (uint64_t)call->tool->offset;
    bool is_whole = first == 0 && bytes->len == total;
    bool is_picture =
        first == 0 && image_probe(buf_str(bytes), bytes->len, &format, &width, &height);
    if (is_picture && is_whole) {
        tool_reply_picture(call, image_format_type(format), bytes);
        return;
    }
    size_t sample = output_whole_prefix(buf_str(bytes), bytes->len);
    bool is_text =
        memchr(buf_str(bytes), '\0', sample) == NULL && utf8_is_valid(buf_str(bytes), sample);
    if (is_text && !is_picture) {
        say_text(call, bytes, first, total);
        return;
    }
    _buf_ struct buf text = BUF_INIT(KIB);
    if (is_picture)
        buf_printf(&text, "[%s %ux%u, %llu bytes: too large to show, make it smaller with code]",
                   image_format_name(format), width, height, (unsigned long long)total);
    else
        buf_printf(&text, "[%llu bytes that are no text: read them with code]",
                   (unsigned long long)total);
    tool_reply_text(call, &text);
}

/* ---- the tool -------------------------------------------------------------------------------- */

static int read_content(struct call *call, struct buf *ret)
{
    const char *content = call_text(call, "content", NULL);
    size_t len = call_text_len(call, "content"), prefix = strlen(BYTES_PREFIX);
    if (content == NULL)
        return tool_fail(call, "\"content\" is needed for put", "Give the text of the file.");
    if (len < prefix || memcmp(content, BYTES_PREFIX, prefix) != 0)
        buf_append(ret, content, len);
    else if (!base64_decode(ret, content + prefix, len - prefix))
        return tool_fail(call, "what follows " BYTES_PREFIX " is not base64",
                         "Give base64 with its padding, or text.");
    return 0;
}

static void put_into(struct call *call, struct session *session)
{
    const char *path = path_of(call);
    _buf_ struct buf content = BUF_INIT(TOOL_FILE_CONTENT_MAX);
    if (read_content(call, &content) < 0)
        return;
    tool_give_body(call, &content);
    tool_become(call, &op_session_file_put,
                json_pack("{s:s, s:s}", "session_id", session->id, "path", path), on_put);
}

static void tool_file_run(struct call *call)
{
    bool is_list = tool_file_is_action(call, "list");
    if (!is_list && path_of(call)[0] == '\0') {
        tool_fail(call, "\"path\" is needed", "Name a file: data/points.csv.");
        return;
    }
    if (tool_file_is_action(call, "put")) {
        tool_session(call, put_into);
        return;
    }
    struct session *session = tool_found(call);
    if (session == NULL)
        return;
    json_t *args = json_pack("{s:s, s:s}", "session_id", session->id, "path", path_of(call));
    if (is_list) {
        json_object_set_new(args, "recursive", json_true());
        json_object_set_new(args, "limit", json_integer(WARDEN_PAGE_MAX));
        tool_become(call, &op_session_file_list, args, tool_say_files);
    } else if (tool_file_is_action(call, "delete")) {
        tool_become(call, &op_session_file_delete, args, tool_file_on_deleted);
    } else {
        json_decref(args);
        int64_t first = call_int(call, "offset", 0);
        call->tool->on_bytes = on_bytes;
        call->tool->bytes_max = READ_MAX;
        call->tool->offset = first;
        call->range =
            first > 0 ? arena_printf(&call->arena, "bytes=%lld-", (long long)first) : NULL;
        tool_become(call, &op_session_file_get,
                    json_pack("{s:s, s:s}", "session_id", session->id, "path", path_of(call)),
                    NULL);
    }
}

static bool tool_file_only_reads(const struct call *call)
{
    return tool_file_is_action(call, "get") || tool_file_is_action(call, "list");
}

static unsigned tool_file_uses(const struct call *call)
{
    return tool_file_is_action(call, "put") && tool_makes_session(call) ? OP_MAKES_SESSION : 0;
}

const struct op op_tool_file = {
    .name = "tool.file",
    .method = "POST",
    .path = "/v1/tools/file",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_MAKES_SESSION | OP_LARGE,
    .params = tool_file_params,
    .doc = "Puts, gets, lists or deletes files of a session's workspace.",
    .tool = "file",
    .toolset = "core",
    .tool_doc = "Put, get, list or delete files of the session; get shows pictures.",
    .hints = OP_DESTROYS | OP_REPEATABLE,
    .prepare = tool_prepare,
    .run = tool_file_run,
    .only_reads = tool_file_only_reads,
    .uses = tool_file_uses,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(RANGE),
    .example = "{\"session\": \"$session\", \"action\": \"get\", \"path\": \"data.txt\"}",
};
