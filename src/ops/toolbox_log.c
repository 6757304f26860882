/* The log of calls of tools: toolbox.log. It is part of what a session has explored, so it goes
 * back with undo and comes back with the session. Daemon; on the loop. */
#include "base/clock.h"
#include "cell/redact.h"
#include "ops/toolbox_call.h"
#include "policy/policy.h"
#include "session/session.h"
#include "wire/json.h"

enum {
    TOOLBOX_ARGS_SHOWN = 200, /* bytes of arguments in the log and the tree */
    TOOLBOX_RESULT_SHOWN = 300,
    TOOLBOX_NOTED_MAX = 32 * 1024, /* of a result that the research tree is told */
};

/* ---- writing --------------------------------------------------------------------------------- */

static void toolbox_log_shorten(struct buf *out, const json_t *value)
{
    struct json_out json = JSON_OUT(out);
    if (value != NULL)
        json_put_value(&json, value);
}

/* The beginning of it: whole characters. Credentials are replaced before it is cut. */
static json_t *toolbox_log_text(const struct session *session, const char *all, size_t all_len,
                                size_t max)
{
    _buf_ struct buf safe = BUF_INIT(SIZE_MAX / 4);
    if (exploring_redacts(session))
        redact_text(all, all_len, &safe);
    else
        buf_append(&safe, all, all_len);
    const struct buf *text = &safe;
    size_t len = MIN(text->len, max);
    while (len < text->len && len > 0 && ((unsigned char)text->data[len] & 0xc0) == 0x80)
        len--;
    return json_sprintf("%.*s%s", (int)len, buf_str(text), len < text->len ? "…" : "");
}

/* Those that the research tree has letters for. */
static bool toolbox_log_is_among(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void toolbox_log_note(struct session *session, const struct toolbox_record *r,
                             const struct buf *args, const struct buf *result)
{
    _buf_ struct buf query = BUF_INIT(KIB * 8);
    static const char *const known[] = {"run_shell", "llm_call", "llm_batch"};
    bool is_call = r->via != NULL && strcmp(r->via, "CALL") == 0;
    const char *tool = is_call ? "CALL" : "TOOL";
    if (toolbox_log_is_among(known, ARRAY_LEN(known), r->tool))
        tool = r->tool;
    buf_printf(&query, "%s, %.*s", r->tool, (int)MIN(args->len, (size_t)TOOLBOX_ARGS_SHOWN),
               buf_str(args));
    if (r->err != NULL)
        exploring_note(session, tool, buf_str(&query), r->err->message, strlen(r->err->message));
    else
        exploring_note(session, tool, buf_str(&query), buf_str(result), result->len);
}

static void toolbox_log_write(struct session *session, const struct toolbox_record *r,
                              const struct buf *args, const struct buf *result)
{
    char at[CLOCK_RFC3339_SIZE];
    const json_t *before = exploring_get(session, "calls");
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:o, s:b, s:f, s:s}", "tool_name", r->tool, "role",
                  policy_agent_of(session), "caller_type", r->chain != NULL ? "chain" : "direct",
                  "args", toolbox_log_text(session, buf_str(args), args->len, TOOLBOX_ARGS_SHOWN),
                  "success", r->err == NULL, "elapsed_ms", (double)r->elapsed_us / 1000.0, "at",
                  clock_rfc3339(clock_wall_ms(), at));
    if (r->chain != NULL) {
        json_object_set_new(entry, "chain_id", json_string(r->chain->id));
        json_object_set_new(entry, "chain_index", json_integer(r->chain->index));
    }
    if (r->err != NULL)
        json_object_set_new(entry, "error",
                            toolbox_log_text(session, r->err->message, strlen(r->err->message),
                                             sizeof(r->err->message)));
    else
        json_object_set_new(
            entry, "result",
            toolbox_log_text(session, buf_str(result), result->len, TOOLBOX_RESULT_SHOWN));
    json_t *calls = before != NULL ? json_copy((json_t *)(uintptr_t)before) : json_array();
    while (json_array_size(calls) >= TOOLBOX_LOG_MAX)
        json_array_remove(calls, 0);
    json_array_append_new(calls, entry);
    exploring_set(session, "calls", calls);
}

void toolbox_log_put(struct session *session, const struct toolbox_record *r)
{
    _buf_ struct buf args = BUF_INIT(TOOLBOX_NOTED_MAX), result = BUF_INIT(TOOLBOX_NOTED_MAX);
    toolbox_log_shorten(&args, r->args);
    toolbox_log_shorten(&result, r->result);
    toolbox_log_write(session, r, &args, &result);
}

void toolbox_log_add(struct session *session, const struct toolbox_record *r)
{
    _buf_ struct buf args = BUF_INIT(TOOLBOX_NOTED_MAX), result = BUF_INIT(TOOLBOX_NOTED_MAX);
    toolbox_log_shorten(&args, r->args);
    toolbox_log_shorten(&result, r->result);
    toolbox_log_write(session, r, &args, &result);
    if (session->exploring.is_on)
        toolbox_log_note(session, r, &args, &result);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const struct op_param toolbox_log_params[] = {
    OP_PARAM_SESSION,
    {.name = "limit",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = TOOLBOX_LOG_MAX,
     .doc = "The newest so many; default 100."},
    {0},
};

static void toolbox_log_run(struct call *call)
{
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    const json_t *calls = exploring_get(session, "calls");
    size_t n = json_array_size(calls), limit = call_limit(call);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "calls");
    json_put_array(&json);
    for (size_t i = n > limit ? n - limit : 0; i < n; i++)
        json_put_value(&json, json_array_get(calls, i));
    json_put_array_end(&json);
    json_put_member_int(&json, "total", (int64_t)n);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct op_member invocation_members[] = {
    {"tool_name", OP_TEXT, .is_always = true, .column = "TOOL", .doc = "The tool."},
    {"role", OP_TEXT, .doc = "The agent on whose behalf."},
    {"caller_type", OP_TEXT, .is_always = true, .column = "CALLER", .doc = "direct or chain."},
    {"chain_id", OP_TEXT, .doc = "The chain that it was in,"},
    {"chain_index", OP_INT, .doc = "and where."},
    {"args", OP_TEXT, .is_always = true, .doc = "The beginning of its arguments, as JSON."},
    {"success", OP_BOOL, .is_always = true, .column = "SUCCESS", .doc = "It has answered."},
    {"result", OP_TEXT, .doc = "The beginning of what it answered, as JSON."},
    {"error", OP_TEXT, .doc = "Why it failed."},
    {"elapsed_ms", OP_NUMBER, .is_always = true, .column = "MS", .doc = "How long it took."},
    {"at", OP_TIME, .is_always = true, .doc = "When it ended."},
    {0},
};
static const struct op_shape shape_invocation = {"invocation", invocation_members,
                                                 "A call of a tool."};
static const struct op_member toolbox_log_members[] = {
    {"calls", OP_LIST, .is_always = true, .shape = &shape_invocation, .doc = "The oldest first."},
    {"total", OP_INT, .is_always = true, .doc = "How many are kept: at most 1000."},
    {0},
};
static const struct op_shape shape_invocations = {"invocations", toolbox_log_members,
                                                  "The calls of tools in a session."};

const struct op op_toolbox_log = {
    .name = "toolbox.log",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/toolbox/log",
    .subject = OP_ON_TOOLBOX,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = toolbox_log_params,
    .doc = "The newest calls of tools in this session, with who called and how it went.",
    .run = toolbox_log_run,
    .result = &shape_invocations,
    .example = "{\"session_id\": \"$session\"}",
};
