/* The tools of the set `explore`: context, peek and grep. A model loads a text once and pulls out
 * of it what it needs; its code has the same functions. Daemon; on the loop. */
#include "cell/redact.h"
#include "ops/explore_call.h"
#include "ops/tool_call.h"
#include "session/session.h"

enum { TOOL_GREP_MAX = 30, TOOL_PEEK_MAX = 20000, TOOL_FILE_MAX = 1024 };

#define TOOL_PARAM_CONTEXT                                                                         \
    {                                                                                              \
        .name = "context", .type = OP_TEXT, .is_nullable = true, .min = 1,                         \
        .max = EXPLORING_NAME_MAX, .doc = "Its name, if not context."                              \
    }
#define TOOL_PARAM_FILE                                                                            \
    {                                                                                              \
        .name = "file", .type = OP_TEXT, .is_nullable = true, .min = 1, .max = TOOL_FILE_MAX,      \
        .doc = "Or a file of the session."                                                         \
    }

/* ---- context --------------------------------------------------------------------------------- */

static const struct op_param tool_context_params[] = {
    {.name = "file",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = TOOL_FILE_MAX,
     .doc = "File of the session to hold; none: lists contexts."},
    {.name = "name",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = EXPLORING_NAME_MAX,
     .doc = "Default context."},
    TOOL_PARAM_SESSION,
    {0},
};

static void tool_context_put(struct buf *out, const json_t *context)
{
    buf_printf(out, "%s: %lld chars, %lld lines\n",
               json_string_value(json_object_get(context, "name")),
               (long long)json_integer_value(json_object_get(context, "chars")),
               (long long)json_integer_value(json_object_get(context, "lines")));
}

static void tool_context_on_loaded(struct call *call, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(TOOL_TEXT_MAX);
    tool_context_put(&out, answer);
    tool_reply_text(call, &out);
}

static void tool_context_on_listed(struct call *call, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(TOOL_TEXT_MAX);
    const json_t *list = json_object_get(answer, "contexts");
    for (size_t i = 0; i < json_array_size(list); i++)
        tool_context_put(&out, json_array_get(list, i));
    if (out.len == 0)
        buf_append_str(&out, "no contexts");
    tool_reply_text(call, &out);
}

static void tool_context_run(struct call *call)
{
    const char *file = call_text(call, "file", NULL), *name = call_text(call, "name", NULL);
    const struct session *session = tool_found(call);
    if (session == NULL)
        return;
    json_t *args = json_pack("{s:s}", "session_id", session->id);
    if (file == NULL) {
        tool_become(call, &op_context_list, args, tool_context_on_listed);
        return;
    }
    json_object_set_new(args, "path", json_string(file));
    if (name != NULL)
        json_object_set_new(args, "name", json_string(name));
    tool_become(call, &op_context_load, args, tool_context_on_loaded);
}

const struct op op_tool_context = {
    .name = "tool.context",
    .method = "POST",
    .path = "/v1/tools/context",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING,
    .params = tool_context_params,
    .doc = "Holds a file of the session as a context, or lists the contexts.",
    .tool = "context",
    .toolset = "explore",
    .tool_doc =
        "Hold a large text for peek and grep; your code has peek(), grep() and context too.",
    .prepare = tool_prepare,
    .run = tool_context_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |
              OP_ERR(TOO_LARGE) | OP_ERR(UNAVAILABLE),
    .example = "{\"session\": \"$session\", \"file\": \"data.txt\"}",
};

/* ---- peek and grep --------------------------------------------------------------------------- */

/* The arguments of an operation on the text that the call means; NULL if there is no session. */
static json_t *tool_explore_args(struct call *call)
{
    static const struct {
        const char *name, *as;
    } given[] = {{"context", "context"}, {"file", "file_path"},  {"offset", "offset"},
                 {"chars", "n"},         {"pattern", "pattern"}, {"around", "context_lines"}};
    const struct session *session = tool_found(call);
    if (session == NULL)
        return NULL;
    json_t *args = json_pack("{s:s}", "session_id", session->id);
    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        json_t *value = json_object_get(call->args, given[i].name);
        if (value != NULL && !json_is_null(value))
            json_object_set(args, given[i].as, value);
    }
    return args;
}

static const struct op_param tool_peek_params[] = {
    {.name = "chars",
     .type = OP_INT,
     .is_nullable = true,
     .min = 1,
     .max = TOOL_PEEK_MAX,
     .doc = "Default 500."},
    {.name = "offset",
     .type = OP_INT,
     .is_nullable = true,
     .max = INT64_MAX,
     .doc = "Chars before."},
    TOOL_PARAM_CONTEXT,
    TOOL_PARAM_FILE,
    TOOL_PARAM_SESSION,
    {0},
};

/* What a model reads of a text is shown by the session as much as what its code prints. */
static void tool_explore_reply(struct call *call, const struct buf *text)
{
    struct err ignored;
    const struct session *session =
        session_find(call->engine, call_text(call, "session_id", ""), &ignored);
    _buf_ struct buf safe = BUF_INIT(SIZE_MAX / 4);
    bool has_secrets = session != NULL && exploring_redacts(session) &&
                       redact_text(buf_str(text), text->len, &safe) > 0;
    tool_reply_text(call, has_secrets ? &safe : text);
}

static void tool_peek_on_answer(struct call *call, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(4 * TOOL_PEEK_MAX + KIB);
    const json_t *text = json_object_get(answer, "text");
    buf_append(&out, json_string_value(text), json_string_length(text));
    tool_begin_line(&out);
    buf_printf(&out, "[of %lld chars]",
               (long long)json_integer_value(json_object_get(answer, "chars")));
    tool_explore_reply(call, &out);
}

static void tool_peek_run(struct call *call)
{
    json_t *args = tool_explore_args(call);
    if (args != NULL)
        tool_become(call, &op_explore_peek, args, tool_peek_on_answer);
}

const struct op op_tool_peek = {
    .name = "tool.peek",
    .method = "POST",
    .path = "/v1/tools/peek",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY,
    .params = tool_peek_params,
    .doc = "Shows some characters of a context, or of a file.",
    .tool = "peek",
    .toolset = "explore",
    .tool_doc = "Read part of a context or file.",
    .prepare = tool_prepare,
    .run = tool_peek_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE),
    .example = "{\"session\": \"$explored\", \"chars\": 100}",
};

static const struct op_param tool_grep_params[] = {
    {.name = "pattern",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = 64 * 1024,
     .doc = "Regular expression; case is ignored."},
    {.name = "around",
     .type = OP_INT,
     .is_nullable = true,
     .max = 50,
     .doc = "Lines around each match, default 2."},
    TOOL_PARAM_CONTEXT,
    TOOL_PARAM_FILE,
    TOOL_PARAM_SESSION,
    {0},
};

static void tool_grep_on_answer(struct call *call, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    const json_t *lines = json_object_get(answer, "lines");
    size_t max = tool_text_max(call), i;
    for (i = 0; i < json_array_size(lines) && out.len < max; i++) {
        const json_t *line = json_array_get(lines, i);
        buf_append(&out, json_string_value(line), json_string_length(line));
        buf_append_char(&out, '\n');
    }
    if (i < json_array_size(lines))
        buf_printf(&out, "[%zu lines more: search for less]", json_array_size(lines) - i);
    if (out.len == 0)
        buf_append_str(&out, "no matches");
    tool_explore_reply(call, &out);
}

static void tool_grep_run(struct call *call)
{
    json_t *args = tool_explore_args(call);
    if (args == NULL)
        return;
    json_object_set_new(args, "max_results", json_integer(TOOL_GREP_MAX));
    tool_become(call, &op_explore_grep, args, tool_grep_on_answer);
}

const struct op op_tool_grep = {
    .name = "tool.grep",
    .method = "POST",
    .path = "/v1/tools/grep",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY,
    .params = tool_grep_params,
    .doc = "Searches a context, or a file, for a regular expression.",
    .tool = "grep",
    .toolset = "explore",
    .tool_doc = "Search a context or file line by line.",
    .prepare = tool_prepare,
    .run = tool_grep_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE),
    .example = "{\"session\": \"$explored\", \"pattern\": \"error\"}",
};
