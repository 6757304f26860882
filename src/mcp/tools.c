/* Tools of the table of operations, for models. Daemon, on the loop; owns nothing. */
#include "mcp/tools.h"

#include "base/clock.h"
#include "mcp/ask.h"
#include "mcp/tasks.h"
#include "ops/describe.h"
#include "policy/policy.h"

#include <string.h>

enum {
    TOOLS_TTL_MS = 300 * 1000,
    /* A call that takes longer becomes a task, where the client knows these, else a stream. */
    TOOLS_SLOW_MS = 1000,
    TOOLS_WAIT_MS = 86400 * 1000,  /* of a task: as long as a cell may run */
    TOOLS_CARRIED_MAX = 16 * 1024, /* bytes of content that a modern client carries for us */
    TOOLS_SETS_MAX = 256,
};

const char *tools_default(const struct mcp *mcp)
{
    return mcp->config.policy->config->mcp_tools;
}

static const struct op *tools_find(const struct mcp_request *rq, const char *name)
{
    for (const struct op *const *op = op_table; *op != NULL; op++)
        if ((*op)->toolset != NULL && strcmp((*op)->tool, name) == 0 &&
            op_is_in_sets(*op, rq->tools))
            return *op;
    return NULL;
}

int tools_check_sets(const char *sets, struct rpc_fault *fault)
{
    char text[TOOLS_SETS_MAX];
    char *at = text, *set;
    if (snprintf(text, sizeof(text), "%s", sets) >= (int)sizeof(text))
        return rpc_fault_set(fault, RPC_INVALID_PARAMS, "the list of tools is too long");
    while ((set = strsep(&at, ",")) != NULL) {
        bool is_known = false;
        for (const struct op *const *op = op_table; *op != NULL; op++)
            is_known |= (*op)->toolset != NULL && strcmp((*op)->toolset, set) == 0;
        if (!is_known)
            return rpc_fault_set(
                fault, RPC_INVALID_PARAMS,
                "there is no set of tools \"%.64s\": core, explore, notebook and repl are", set);
    }
    return 0;
}

void tools_list(struct mcp_request *rq)
{
    if (!request_check_cursor(rq))
        return;
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "tools");
    json_put_array(&json);
    for (const struct op *const *op = op_table; *op != NULL; op++)
        if (op_is_in_sets(*op, rq->tools))
            describe_tool(*op, &json);
    if (rq->mcp->more != NULL)
        rq->mcp->more->list(rq->mcp, "tools", &json);
    json_put_array_end(&json);
    request_put_hints(rq, &json, TOOLS_TTL_MS);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void tools_reply_error(struct mcp_request *rq, const struct err *e)
{
    _buf_ struct buf out = BUF_INIT(16 * KIB), text = BUF_INIT(8 * KIB);
    struct json_out json = JSON_OUT(&out);
    buf_append_str(&text, e->message);
    if (e->advice[0] != '\0')
        buf_printf(&text, "\n%s", e->advice);
    json_put_object(&json);
    json_put_key(&json, "content");
    json_put_array(&json);
    json_put_object(&json);
    json_put_member_str(&json, "type", "text");
    json_put_member_text(&json, "text", buf_str(&text), text.len);
    json_put_object_end(&json);
    json_put_array_end(&json);
    json_put_member_bool(&json, "isError", true);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

/* One of the last lines, which are in brackets, tells a model how to go on; here that is not the
 * model's business. What a cell writes may hold NUL characters: lengths count. */
static void tools_strip_advice(json_t *item)
{
    const json_t *shown = json_object_get(item, "text");
    const char *text = json_string_value(shown);
    const char *end = text != NULL ? text + json_string_length(shown) : NULL;
    for (const char *at = end; at != NULL && at > text;) {
        const char *line = memrchr(text, '\n', (size_t)(at - text));
        line = line != NULL ? line + 1 : text;
        size_t len = (size_t)(at - line);
        if (line[0] != '[')
            return;
        if (strncmp(line, "[cell ", 6) == 0 && memmem(line, len, "wait(", 5) != NULL) {
            _buf_ struct buf kept = BUF_INIT(SIZE_MAX);
            buf_append(&kept, text, (size_t)(line - text));
            if (at < end)
                buf_append(&kept, at + 1, (size_t)(end - at - 1));
            while (kept.len > 0 && kept.data[kept.len - 1] == '\n')
                kept.len--;
            json_object_set_new(item, "text", json_stringn(buf_str(&kept), kept.len));
            return;
        }
        at = line > text ? line - 1 : NULL;
    }
}

/* What came before a question, or before a task asked on, is told with the last answer. */
static void tools_keep(struct mcp_request *rq, const json_t *result)
{
    json_t *item;
    size_t i;
    if (rq->memory == NULL)
        rq->memory = json_array();
    json_array_foreach(json_object_get(result, "content"), i, item) {
        tools_strip_advice(item);
        const json_t *text = json_object_get(item, "text");
        if (text == NULL || json_string_length(text) > 0)
            json_array_append(rq->memory, item);
    }
}

static void tools_reply(struct mcp_request *rq, json_t *result)
{
    if (rq->memory != NULL) {
        json_t *content = json_incref(rq->memory);
        json_array_extend(content, json_object_get(result, "content"));
        json_object_set_new(result, "content", content);
    }
    request_reply_json(rq, json_incref(result));
}

static void tools_on_reply(struct mcp_request *rq, int status, const struct buf *json);

static void tools_wait_on(struct mcp_request *rq, json_t *args)
{
    const struct op *wait = op_find("tool.wait");
    struct err e;
    if (rq->task != NULL || rq->caps.has_tasks)
        json_object_set_new(args, "yield_ms", json_integer(TOOLS_WAIT_MS));
    if (op_check(wait, args, &e) < 0) {
        json_decref(args);
        tools_reply_error(rq, &e);
        return;
    }
    json_object_set_new(args, "on_disconnect", json_string("cancel"));
    request_call(rq, wait, args, rq->token != NULL);
}

static void tools_on_line(struct mcp_request *rq, const json_t *answers)
{
    const json_t *answer = json_object_get(answers, "line");
    const char *action = rpc_text(answer, "action");
    const char *line = rpc_text(json_object_get(answer, "content"), "line");
    json_t *args = json_pack("{s:s}", "session", (const char *)rq->own);
    if (action != NULL && strcmp(action, "accept") == 0 && line != NULL)
        json_object_set_new(args, "input", json_string(line));
    else
        json_object_set_new(args, "interrupt", json_true());
    tools_wait_on(rq, args);
}

static void tools_ask(struct mcp_request *rq, const char *session, const char *prompt)
{
    /* What a client carries must be small; the notebook has all of it. */
    json_t *content = json_incref(rq->memory);
    char *text = json_dumps(content, JSON_COMPACT);
    if (text == NULL || strlen(text) > TOOLS_CARRIED_MAX) {
        json_decref(content);
        content = json_pack("[{s:s,s:s}]", "type", "text", "text",
                            "[what the code showed before it asked is in its cell: look]");
    }
    free(text);
    json_t *state =
        json_pack("{s:s,s:s,s:o}", "session", session, "prompt", prompt, "content", content);
    rq->own = arena_strdup(&rq->arena, session);
    ask(rq, json_pack("{s:o}", "line", ask_for_line(prompt)), state, tools_on_line);
    json_decref(state);
}

static void tools_on_pending(struct mcp_request *rq, json_t *result, const json_t *pending)
{
    const char *session = rpc_text(pending, "session"), *kind = rpc_text(pending, "kind");
    const char *prompt = rpc_text(pending, "prompt");
    bool is_secret = json_is_true(json_object_get(pending, "is_password"));
    bool is_input = kind != NULL && strcmp(kind, "input") == 0;
    const json_t *calls = json_object_get(pending, "tool_calls");
    if (calls != NULL) { /* for whoever has handed the tools in: models read the text */
        json_object_set_new(result, "structuredContent",
                            json_pack("{s:s, s:s?, s:O, s:O}", "status", "tool_call_required",
                                      "session", session, "number",
                                      json_object_get(pending, "exec_id"), "tool_calls", calls));
        tools_reply(rq, result);
    } else if (session != NULL && is_input && !is_secret && rq->caps.elicits) {
        tools_keep(rq, result);
        tools_ask(rq, session, prompt != NULL ? prompt : "");
    } else if (session != NULL && !is_input && rq->task != NULL) {
        tools_keep(rq, result);
        tools_wait_on(rq, json_pack("{s:s}", "session", session));
    } else {
        tools_reply(rq, result);
    }
}

/* Most answers pass as they are. An unescaped quote before a word is never inside a text. */
static void tools_on_reply(struct mcp_request *rq, int status, const struct buf *json)
{
    static const char mark[] = "\"pending\":";
    bool is_plain =
        rq->memory == NULL && memmem(buf_str(json), json->len, mark, sizeof(mark) - 1) == NULL;
    (void)status;
    json_t *result = is_plain ? NULL : json_loadb(buf_str(json), json->len, JSON_ALLOW_NUL, NULL);
    if (result == NULL) {
        request_log(rq, MCP_INFO, "the tool has answered");
        request_reply(rq, json);
        return;
    }
    json_t *pending = json_incref(json_object_get(result, "pending"));
    json_object_del(result, "pending");
    if (pending != NULL)
        tools_on_pending(rq, result, pending);
    else
        tools_reply(rq, result);
    json_decref(pending);
    json_decref(result);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void tools_on_event(struct mcp_request *rq, const char *name, const char *json, size_t len)
{
    if (strcmp(name, "output") != 0)
        return;
    json_t *event = json_loadb(json, len, JSON_ALLOW_NUL, NULL);
    const json_t *text = json_object_get(event, "text");
    if (text != NULL)
        request_tell(rq, json_string_value(text), json_string_length(text));
    json_decref(event);
}

static void tools_on_slow(struct mcp_request *rq)
{
    if (!rq->caps.has_tasks || !mcp_task_begin(rq))
        request_open_stream(rq);
}

/* A client that asks again with the line that a cell waits for. */
static void tools_resume(struct mcp_request *rq, json_t *state, const json_t *answers)
{
    const char *session = rpc_text(state, "session"), *prompt = rpc_text(state, "prompt");
    json_t *content = json_object_get(state, "content");
    rq->memory = json_incref(content);
    if (session == NULL || prompt == NULL || !json_is_array(content)) {
        request_fail(rq, RPC_INVALID_PARAMS, "requestState belongs to another request");
    } else if (json_object_get(answers, "line") == NULL) {
        tools_ask(rq, session, prompt);
    } else {
        rq->own = arena_strdup(&rq->arena, session);
        tools_on_line(rq, answers);
    }
    json_decref(state);
}

void tools_call(struct mcp_request *rq)
{
    const char *name = rpc_text(rq->params, "name");
    const json_t *given = json_object_get(rq->params, "arguments");
    const struct op *op = name != NULL ? tools_find(rq, name) : NULL;
    struct err e;
    json_t *state;
    const json_t *answers;
    if (op == NULL) {
        request_fail(rq, RPC_INVALID_PARAMS, "there is no tool \"%.128s\": see tools/list",
                     name != NULL ? name : "");
        return;
    }
    if (given != NULL && !json_is_object(given)) {
        request_fail(rq, RPC_INVALID_PARAMS, "arguments must be an object");
        return;
    }
    if (!ask_resume(rq, &state, &answers))
        return;
    rq->on_reply = tools_on_reply;
    rq->on_fail = tools_reply_error;
    rq->on_event = tools_on_event;
    bool runs_code = op->flags & OP_RUNS_CODE;
    if (runs_code) {
        request_tick(rq);
        request_after(rq, TOOLS_SLOW_MS, tools_on_slow);
    }
    if (state != NULL) {
        tools_resume(rq, state, answers);
        return;
    }
    json_t *args = given != NULL ? json_copy((json_t *)(uintptr_t)given) : json_object();
    if (op_check(op, args, &e) < 0) {
        json_decref(args);
        tools_reply_error(rq, &e);
        return;
    }
    if (runs_code)
        json_object_set_new(args, "on_disconnect", json_string("cancel"));
    request_call(rq, op, args, rq->token != NULL && op->flags & OP_STREAMS);
}
