/* The tools of the set `explore`: context, peek and grep, and the rest in one. A model loads a text
 * once and pulls out of it what it needs; its code has the same functions. Daemon; on the loop. */
#include "cell/redact.h"
#include "explore/chars.h"
#include "ops/explore_call.h"
#include "ops/tool_call.h"
#include "session/session.h"
#include "wire/json.h"
#include "wire/toon.h"

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

/* ---- the rest -------------------------------------------------------------------------------- */

/* As code has them. Which arguments `path` and `text` are, and the member of the answer that is
 * shown, if it is not all of it. */
static const struct tool_explore_action {
    const char *name;
    const struct op *op;
    const char *path, *text, *member;
} tool_explore_actions[] = {
    {"code_search", &op_explore_code_search, NULL, "query", NULL},
    {"doc_search", &op_explore_doc_search, NULL, "query", NULL},
    {"list_dir", &op_explore_list_dir, "path", NULL, NULL},
    {"file_info", &op_explore_file_info, "path", NULL, NULL},
    {"archive_open", &op_explore_archive_open, "file_path", NULL, NULL},
    {"archive_file", &op_explore_archive_file, "file_path", "member", "text"},
    {"archive_search", &op_explore_archive_search, "file_path", "query", NULL},
    {"archive_extract", &op_explore_archive_extract, "file_path", "to", NULL},
    {"web_fetch", &op_explore_web_fetch, "url", NULL, "text"},
    {"chunk_context", &op_explore_chunks, "file_path", NULL, "chunks"},
    {"summarize_chunks", &op_explore_summarize_chunks, "file_path", "task", "chunks"},
    {"mark_finding", &op_explore_mark_finding, "source_file", "content", "id"},
    {"list_findings", &op_explore_list_findings, NULL, NULL, "findings"},
    {"get_state", &op_explore_state, NULL, NULL, "text"},
    {"FINAL", &op_explore_final, NULL, "answer", NULL},
    {"STUCK", &op_explore_stuck, NULL, "reason", NULL},
};

static const char *const tool_explore_names[] = {"code_search",
                                                 "doc_search",
                                                 "list_dir",
                                                 "file_info",
                                                 "archive_open",
                                                 "archive_file",
                                                 "archive_search",
                                                 "archive_extract",
                                                 "web_fetch",
                                                 "chunk_context",
                                                 "summarize_chunks",
                                                 "mark_finding",
                                                 "list_findings",
                                                 "get_state",
                                                 "FINAL",
                                                 "STUCK",
                                                 NULL};

static const struct op_param tool_explore_params[] = {
    {.name = "action",
     .type = OP_CHOICE,
     .is_required = true,
     .choices = tool_explore_names,
     .doc = "Which function."},
    {.name = "path",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = 4096,
     .doc = "Archive, file, folder or URL."},
    {.name = "text",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = 64 * 1024,
     .doc = "Member, query, where to, finding, answer."},
    TOOL_PARAM_SESSION,
    {0},
};

static const struct tool_explore_action *tool_explore_find(const char *name)
{
    size_t i = 0;
    while (strcmp(tool_explore_actions[i].name, name) != 0)
        i++; /* the parameter has no other choices */
    return &tool_explore_actions[i];
}

/* A text as it is, with the line that says what it leaves out; all else in few tokens. */
static void tool_explore_put(const json_t *answer, const json_t *shown, bool has_toon,
                             struct buf *out)
{
    const char *note = json_string_value(json_object_get(answer, "note"));
    struct json_out json = JSON_OUT(out);
    if (json_is_string(shown)) {
        buf_append(out, json_string_value(shown), json_string_length(shown));
        if (note != NULL)
            tool_begin_line(out);
        buf_append_str(out, note != NULL ? note : "");
    } else if (!has_toon || !toon_encode_if_shorter(shown, out)) {
        json_put_value(&json, shown);
    }
}

static void tool_explore_on_answer(struct call *call, const json_t *answer)
{
    const struct tool_explore_action *action = tool_explore_actions;
    while (action->op != call->op)
        action++;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    const json_t *shown = action->member != NULL ? json_object_get(answer, action->member) : answer;
    tool_explore_put(answer, shown, explore_call_settings(call)->has_toon, &out);
    size_t max = MAX(tool_text_max(call), (size_t)4 * TOOL_PEEK_MAX), ignored;
    size_t end = out.len > max ? chars_prefix(out.data, max, SIZE_MAX, &ignored) : out.len;
    if (end < out.len) {
        size_t left = out.len - end;
        out.len = end;
        buf_printf(&out, "\n[... %zu bytes more: ask for less]", left);
    }
    tool_explore_reply(call, &out);
}

/* False if the call was answered: an argument is missing. */
static bool tool_explore_take(struct call *call, const struct tool_explore_action *action,
                              const char *given, const char *as, json_t *args)
{
    char message[128];
    json_t *value = json_object_get(call->args, given);
    if (as == NULL)
        return true;
    if (value != NULL && !json_is_null(value)) {
        json_object_set(args, as, value);
        return true;
    }
    for (const struct op_param *param = action->op->params; param->name != NULL; param++)
        if (param->is_required && strcmp(param->name, as) == 0) {
            snprintf(message, sizeof(message), "\"%s\" is needed for %s", given, action->name);
            tool_fail(call, message, "Its description says what it is.");
            return false;
        }
    return true;
}

static void tool_explore_run(struct call *call)
{
    struct err e;
    const struct tool_explore_action *action = tool_explore_find(call_text(call, "action", ""));
    const struct session *session = tool_found(call);
    if (session == NULL)
        return;
    _json_ json_t *args = json_pack("{s:s}", "session_id", session->id);
    if (!tool_explore_take(call, action, "path", action->path, args) ||
        !tool_explore_take(call, action, "text", action->text, args))
        return;
    if (op_check(action->op, args, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    tool_become(call, action->op, take_ptr(args), tool_explore_on_answer);
}

static bool tool_explore_only_reads(const struct call *call)
{
    return (tool_explore_find(call_text(call, "action", ""))->op->flags & OP_MUTATING) == 0;
}

const struct op op_tool_explore = {
    .name = "tool.explore",
    .method = "POST",
    .path = "/v1/tools/explore",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING,
    .params = tool_explore_params,
    .doc = "Archives, pages, folders, chunks, findings and the answer: what code has as functions "
           "of these names.",
    .tool = "explore",
    .toolset = "explore",
    .tool_doc = "More ways to explore; your code has these functions too.",
    .prepare = tool_prepare,
    .run = tool_explore_run,
    .only_reads = tool_explore_only_reads,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |
              OP_ERR(TOO_LARGE) | OP_ERR(UNAVAILABLE) | OP_ERR(FORBIDDEN) | OP_ERR(UPSTREAM),
    .example = "{\"session\": \"$explored\", \"action\": \"list_dir\"}",
};
