/* A call of a tool: toolbox.call. The entry of the table says who runs it: an interpreter in the
 * session's jail, a function of ours, or another operation. Daemon; on the loop. */
#include "ops/toolbox_call.h"

#include "base/clock.h"
#include "cell/typography.h"
#include "ops/toolbox_builtin.h"
#include "policy/config_toolbox.h"
#include "policy/policy.h"
#include "session/assistants.h"
#include "session/session.h"
#include "toolbox/schema.h"
#include "toolbox/upstream.h"
#include "wire/json.h"

#include <assert.h>

enum {
    TOOLBOX_LONG_CHARS = 5000,
};

static const char *const toolbox_functions[] = {"tool_call", "TOOL",      "CALL",
                                                "llm_call",  "llm_batch", NULL};

static const struct op_param toolbox_call_params[] = {
    OP_PARAM_SESSION,
    {.name = "name",
     .type = OP_TEXT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = 64,
     .doc = "The tool, as toolbox.list has it."},
    {.name = "args", .type = OP_FREE, .doc = "Its arguments, as its parameters say."},
    {.name = "json",
     .type = OP_TEXT,
     .max = 1024 * 1024,
     .doc = "The arguments as a text that is JSON, in place of args."},
    {.name = "whole",
     .type = OP_BOOL,
     .doc = "The result as it is, however long; default: more than 5000 characters are a file in "
            "/workspace/results, and the result tells where and how it begins."},
    {.name = "via",
     .type = OP_CHOICE,
     .choices = toolbox_functions,
     .doc = "The function by which code has called, for the research tree."},
    {0},
};

/* What every end of a call gives back. */
void toolbox_call_release(struct toolbox_visit *visit)
{
    json_decref(visit->args);
    toolbox_let_go(visit->entry);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void toolbox_call_note(struct toolbox_visit *visit, const json_t *result,
                              const struct err *e)
{
    const struct call *call = visit->call;
    struct err ignored;
    struct session *session =
        session_find(call->engine, call_text(call, "session_id", ""), &ignored);
    if (session == NULL || session->state == SESSION_DEAD)
        return;
    struct toolbox_record record = {.tool = visit->entry->name,
                                    .via = call_text(call, "via", NULL),
                                    .args = visit->args,
                                    .chain = call->chain,
                                    .elapsed_us = (clock_mono_ns() / 1000) - visit->begun_us,
                                    .result = result,
                                    .err = e};
    toolbox_log_add(session, &record);
    if (session->running == NULL && !toolbox_only_reads(visit->entry, visit->args))
        session->files.has_news = true; /* no cell will end that would save what it has written */
    session_changed(session);
}

static void toolbox_call_done(struct toolbox_visit *visit, const json_t *result)
{
    struct call *call = visit->call;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    toolbox_call_note(visit, result, NULL);
    json_put_object(&json);
    json_put_member_str(&json, "tool", visit->entry->name);
    json_put_key(&json, "result");
    json_put_value(&json, result);
    json_put_member_real(&json, "elapsed_ms",
                         (double)((clock_mono_ns() / 1000) - visit->begun_us) / 1000.0, 3);
    json_put_object_end(&json);
    toolbox_call_release(visit);
    call_reply(call, 200, &out);
}

void toolbox_call_failed(struct toolbox_visit *visit, const struct err *e)
{
    toolbox_call_note(visit, NULL, e);
    toolbox_call_release(visit);
    call_fail(visit->call, e);
}

/* ---- in the session's jail ------------------------------------------------------------------- */

static void toolbox_call_on_done(void *context, json_t *result)
{
    toolbox_call_done(context, result);
}

static void toolbox_call_on_failed(void *context, const struct err *e)
{
    toolbox_call_failed(context, e);
}

static const struct assist_listener toolbox_call_listener = {.on_done = toolbox_call_on_done,
                                                             .on_failed = toolbox_call_on_failed};

static void toolbox_call_on_gone(struct call *call)
{
    struct toolbox_visit *visit = call->op_state;
    assist_forget(visit->assist);
    toolbox_call_release(visit);
}

static void toolbox_call_assist(struct toolbox_visit *visit, struct session *session,
                                const char *tool, json_t *args)
{
    struct err e;
    const struct assist_request request = {.tool = tool,
                                           .told = visit->entry->name,
                                           .args = args,
                                           .timeout_ms = visit->entry->timeout_ms,
                                           .is_whole = call_bool(visit->call, "whole", false)};
    visit->assist = session_assist(session, &request, &toolbox_call_listener, visit, &e);
    if (visit->assist == NULL) {
        toolbox_call_failed(visit, &e);
        return;
    }
    visit->call->op_state = visit;
    visit->call->on_gone = toolbox_call_on_gone;
}

/* Python that word processors have written, as in cells: the tool runs it without their signs if it
 * does not compile as it is, and says so. */
static json_t *toolbox_call_plain(const json_t *args)
{
    static const char *const code[] = {"code", "setup"};
    json_t *all = json_copy((json_t *)(uintptr_t)args), *plain = json_object();
    for (size_t i = 0; i < ARRAY_LEN(code); i++) {
        struct typography_note note;
        const json_t *given = json_object_get(args, code[i]);
        const char *text = json_string_value(given);
        size_t len = json_string_length(given);
        if (text == NULL || typography_is_plain(text, len))
            continue;
        _buf_ struct buf out = BUF_INIT(4 * len + KIB);
        if (typography_replace(text, len, &out, &note))
            json_object_set_new(
                plain, code[i],
                json_pack("{s:s#, s:s}", "text", buf_str(&out), (int)out.len, "note", note.text));
    }
    if (json_object_size(plain) > 0)
        json_object_set(all, "plain", plain);
    json_decref(plain);
    return all;
}

static bool toolbox_call_runs_python(const struct tool_entry *entry)
{
    static const char *const names[] = {"python_eval", "run_python_code", "benchmark_run"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(entry->name, names[i]) == 0)
            return true;
    return false;
}

static void toolbox_call_tool(struct toolbox_visit *visit, struct session *session)
{
    _json_ json_t *args = toolbox_call_runs_python(visit->entry) ? toolbox_call_plain(visit->args)
                                                                 : json_incref(visit->args);
    toolbox_call_assist(visit, session, visit->entry->name, args);
}

/* A command gets the arguments as JSON; the interpreter that runs it ends it a little before it
 * would be ended itself. */
static void toolbox_call_command(struct toolbox_visit *visit, struct session *session)
{
    const struct tool_entry *entry = visit->entry;
    _json_ json_t *args = json_pack("{s:s, s:O, s:O, s:f}", "name", entry->name, "command",
                                    json_object_get(entry->setting, "command"), "args", visit->args,
                                    "seconds", (double)entry->timeout_ms / 1000.0 - 0.1);
    toolbox_call_assist(visit, session, "run_command", args);
}

/* What came from elsewhere, and is long, becomes a file of the workspace: an interpreter there
 * writes it. */
void toolbox_call_keep(struct toolbox_visit *visit, json_t *result)
{
    struct err ignored;
    struct session *session =
        session_find(visit->call->engine, call_text(visit->call, "session_id", ""), &ignored);
    _buf_ struct buf text = BUF_INIT(4 * TOOLBOX_LONG_CHARS);
    struct json_out json = JSON_OUT(&text);
    json_put_value(&json, result);
    bool is_short = !text.overflowed && text.len <= TOOLBOX_LONG_CHARS;
    if (is_short || call_bool(visit->call, "whole", false) || session == NULL) {
        toolbox_call_done(visit, result);
        return;
    }
    _json_ json_t *args = json_pack("{s:O}", "result", result);
    toolbox_call_assist(visit, session, "keep_result", args);
}

/* ---- by an upstream server ------------------------------------------------------------------- */

static void toolbox_call_on_upstream_done(void *context, json_t *result)
{
    struct toolbox_visit *visit = context;
    visit->call->on_gone = NULL;
    toolbox_call_keep(visit, result);
    json_decref(result);
}

static void toolbox_call_on_upstream_failed(void *context, const struct err *e)
{
    struct toolbox_visit *visit = context;
    visit->call->on_gone = NULL;
    toolbox_call_failed(visit, e);
}

static const struct upstream_listener toolbox_call_upstream_listener = {
    .on_done = toolbox_call_on_upstream_done, .on_failed = toolbox_call_on_upstream_failed};

static void toolbox_call_on_upstream_gone(struct call *call)
{
    struct toolbox_visit *visit = call->op_state;
    upstream_forget(visit->upstream);
    toolbox_call_release(visit);
}

static void toolbox_call_upstream(struct toolbox_visit *visit)
{
    struct err e;
    const struct tool_entry *entry = visit->entry;
    visit->upstream = upstream_call(entry->from, entry->there, visit->args, entry->timeout_ms,
                                    &toolbox_call_upstream_listener, visit, &e);
    if (visit->upstream == NULL) {
        toolbox_call_failed(visit, &e);
        return;
    }
    visit->call->op_state = visit;
    visit->call->on_gone = toolbox_call_on_upstream_gone;
}

/* ---- by whoever handed it in ----------------------------------------------------------------- */

static void toolbox_call_on_handed_done(void *context, json_t *result)
{
    struct toolbox_visit *visit = context;
    visit->call->on_gone = NULL;
    toolbox_call_keep(visit, result);
}

static void toolbox_call_on_handed_failed(void *context, const struct err *e)
{
    struct toolbox_visit *visit = context;
    visit->call->on_gone = NULL;
    toolbox_call_failed(visit, e);
}

static const struct handed_listener toolbox_call_handed_listener = {
    .on_done = toolbox_call_on_handed_done, .on_failed = toolbox_call_on_handed_failed};

static void toolbox_call_on_handed_gone(struct call *call)
{
    struct toolbox_visit *visit = call->op_state;
    handed_forget(visit->handed);
    toolbox_call_release(visit);
}

/* It is asked of the one who waits for the cell, so no request can make it. */
static void toolbox_call_handed(struct toolbox_visit *visit, struct session *session)
{
    struct err e;
    visit->handed = NULL;
    if (visit->call->is_from_code)
        visit->handed = session_call_handed(session, visit->entry, visit->args,
                                            &toolbox_call_handed_listener, visit, &e);
    else
        err_set(&e, ERR_CONFLICT, "%s is called by cells alone: it was handed in with them",
                visit->entry->name);
    if (visit->handed == NULL) {
        toolbox_call_failed(visit, &e);
        return;
    }
    visit->call->op_state = visit;
    visit->call->on_gone = toolbox_call_on_handed_gone;
}

/* ---- by another operation -------------------------------------------------------------------- */

static struct toolbox_visit *toolbox_call_of_inner(struct call *inner)
{
    return CONTAINER_OF(inner, struct toolbox_visit, inner);
}

static void toolbox_call_end_inner(struct toolbox_visit *visit)
{
    json_decref(visit->inner.args);
    arena_free(&visit->inner.arena);
}

static void toolbox_call_on_inner_reply(struct call *inner, int http_status, const struct buf *json)
{
    struct toolbox_visit *visit = toolbox_call_of_inner(inner);
    struct err e;
    json_t *result = NULL;
    (void)http_status;
    int r = json_read_object(json->data, json->len, &result, &e);
    toolbox_call_end_inner(visit);
    if (r < 0)
        toolbox_call_failed(visit, &e);
    else
        toolbox_call_done(visit, result);
    json_decref(result);
}

static void toolbox_call_on_inner_fail(struct call *inner, const struct err *e)
{
    struct toolbox_visit *visit = toolbox_call_of_inner(inner);
    struct err kept = *e;
    toolbox_call_end_inner(visit);
    toolbox_call_failed(visit, &kept);
}

static const struct call_sink toolbox_call_sink = {.reply = toolbox_call_on_inner_reply,
                                                   .fail = toolbox_call_on_inner_fail};

static void toolbox_call_on_inner_gone(struct call *call)
{
    struct toolbox_visit *visit = call->op_state;
    if (visit->inner.on_gone != NULL)
        visit->inner.on_gone(&visit->inner);
    toolbox_call_end_inner(visit);
    toolbox_call_release(visit);
}

/* Those that tools of the table name. */
static const struct op *toolbox_call_find(const char *operation)
{
    static const struct op *const all[] = {&op_explore_archive_open, &op_explore_archive_extract,
                                           &op_explore_archive_file, &op_explore_archive_search,
                                           &op_explore_web_fetch};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i]->name, operation) == 0)
            return all[i];
    return NULL;
}

static void toolbox_call_operation(struct toolbox_visit *visit)
{
    struct err e;
    const struct call *call = visit->call;
    const struct op *op = toolbox_call_find(visit->entry->operation);
    assert(op != NULL);
    json_t *args = json_copy(visit->args);
    json_object_set(args, "session_id", json_object_get(call->args, "session_id"));
    json_object_set_new(args, "quiet", json_true()); /* this call is noted, not that one too */
    if (op_check(op, args, &e) < 0) {
        json_decref(args);
        toolbox_call_failed(visit, &e);
        return;
    }
    visit->inner = (struct call){.op = op,
                                 .engine = call->engine,
                                 .policy = call->policy,
                                 .documents = call->documents,
                                 .boxes = call->boxes,
                                 .agent = call->agent,
                                 .args = args,
                                 .body_bytes = -1,
                                 .sink = &toolbox_call_sink};
    visit->call->op_state = visit;
    visit->call->on_gone = toolbox_call_on_inner_gone;
    op_run(&visit->inner);
}

/* ---- the operation --------------------------------------------------------------------------- */

struct tool_entry *toolbox_entry_of(const struct session *session, const char *name)
{
    struct tool_entry *handed = handed_find(session, name);
    return handed != NULL ? handed : toolbox_find(name);
}

bool toolbox_rules_allow(const struct call *call, const struct session *session,
                         const struct tool_entry *entry)
{
    const struct config *config = call->policy != NULL ? call->policy->config : NULL;
    if (config == NULL || entry->maker == TOOLBOX_CALLER)
        return true;
    const struct config_agent *agent = config_find_agent(config, policy_agent_of(session));
    bool has_own = agent != NULL && (agent->toolbox.allow != NULL || agent->toolbox.deny != NULL);
    return config_toolbox_allows(has_own ? &agent->toolbox : &config->toolbox_rules, entry);
}

static int toolbox_call_may(const struct call *call, const struct session *session,
                            const struct tool_entry *entry, struct err *e)
{
    if (!toolbox_rules_allow(call, session, entry)) {
        err_set(e, ERR_FORBIDDEN, "the agent \"%s\" may not call %s", policy_agent_of(session),
                entry->name);
        return err_advise(e, "The configuration says which tools it may: toolbox: {allow, deny}.");
    }
    if (entry->callers & (call->chain != NULL ? TOOLBOX_CHAIN : TOOLBOX_DIRECT))
        return 0;
    err_set(e, ERR_FORBIDDEN, "%s cannot be called from a chain", entry->name);
    return err_advise(e, "Its allowed_callers are: direct. Call it by itself.");
}

static void toolbox_call_run_daemon(struct toolbox_visit *visit)
{
    struct err e;
    _json_ json_t *result = toolbox_builtin_run(visit->entry->name, visit->args, &e);
    if (result == NULL)
        toolbox_call_failed(visit, &e);
    else
        toolbox_call_done(visit, result);
}

static void toolbox_call_unset(struct toolbox_visit *visit)
{
    struct err e;
    err_set(&e, ERR_UNAVAILABLE, "%s is not configured", visit->entry->name);
    err_advise(&e, "%s", visit->entry->advice);
    toolbox_call_failed(visit, &e);
}

static json_t *toolbox_call_read_args(const struct call *call, struct err *e)
{
    json_t *args = json_object_get(call->args, "args"), *read = NULL;
    const char *text = call_text(call, "json", NULL);
    if (text == NULL)
        return args != NULL ? json_copy(args) : json_object();
    if (text[0] == '\0')
        return json_object();
    if (args != NULL) {
        err_set(e, ERR_INVALID, "the arguments are given twice, as args and as json");
        return NULL;
    }
    if (json_read_object(text, call_text_len(call, "json"), &read, e) < 0)
        err_context(e, "reading the arguments");
    return read;
}

/* A call that no tool is run for: it is in the log nevertheless. */
static void toolbox_call_refuse(struct call *call, struct session *session, const struct err *e)
{
    const struct toolbox_record record = {.tool = call_text(call, "name", ""),
                                          .via = call_text(call, "via", NULL),
                                          .args = json_object_get(call->args, "args"),
                                          .chain = call->chain,
                                          .err = e};
    if (session->state != SESSION_DEAD) {
        toolbox_log_add(session, &record);
        session_changed(session);
    }
    call_fail(call, e);
}

static void toolbox_call_run(struct call *call)
{
    struct err e;
    const char *name = call_text(call, "name", "");
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct tool_entry *entry = toolbox_entry_of(session, name);
    if ((entry == NULL && toolbox_not_found(name, &e) < 0) ||
        toolbox_call_may(call, session, entry, &e) < 0) {
        toolbox_call_refuse(call, session, &e);
        return;
    }
    struct toolbox_visit *visit = arena_alloc(&call->arena, sizeof(*visit));
    *visit =
        (struct toolbox_visit){.call = call, .entry = entry, .begun_us = (clock_mono_ns() / 1000)};
    visit->args = toolbox_call_read_args(call, &e);
    if (visit->args == NULL) {
        toolbox_call_refuse(call, session, &e);
        return;
    }
    toolbox_hold(entry);
    if (schema_check(entry->schema, visit->args, "args", &e) < 0) {
        if (e.advice[0] == '\0')
            err_advise(&e, "list_tools(\"%s\") has its parameters.", entry->name);
        toolbox_call_failed(visit, &e);
        return;
    }
    switch (entry->maker) {
    case TOOLBOX_ASSISTANT:
        toolbox_call_tool(visit, session);
        return;
    case TOOLBOX_DAEMON:
        toolbox_call_run_daemon(visit);
        return;
    case TOOLBOX_OPERATION:
        toolbox_call_operation(visit);
        return;
    case TOOLBOX_UNSET:
        toolbox_call_unset(visit);
        return;
    case TOOLBOX_COMMAND:
        toolbox_call_command(visit, session);
        return;
    case TOOLBOX_HTTP:
    case TOOLBOX_LLM:
        toolbox_http_run(visit, session);
        return;
    case TOOLBOX_UPSTREAM:
        toolbox_call_upstream(visit);
        return;
    case TOOLBOX_CALLER:
        toolbox_call_handed(visit, session);
        return;
    }
}

/* Plan mode refuses tools that change something. */
static bool toolbox_call_only_reads(const struct call *call)
{
    struct err ignored;
    const struct session *session =
        session_find(call->engine, call_text(call, "session_id", ""), &ignored);
    if (session == NULL)
        return true;
    const struct tool_entry *entry = toolbox_entry_of(session, call_text(call, "name", ""));
    /* What is given as a text that is JSON is not looked into: it might be a write. */
    return entry == NULL || (toolbox_only_reads(entry, json_object_get(call->args, "args")) &&
                             (call_text(call, "json", NULL) == NULL ||
                              (entry->effects & TOOLBOX_MODIFIES_FILES) == 0));
}

static const struct op_member toolbox_call_members[] = {
    {"tool", OP_TEXT, .is_always = true, .doc = "Which one."},
    {"result", OP_ANY, .is_always = true, .doc = "What it answers, as its entry says."},
    {"elapsed_ms", OP_NUMBER, .is_always = true, .doc = "How long it took."},
    {0},
};
static const struct op_shape shape_toolbox_result = {"toolbox_result", toolbox_call_members,
                                                     "What a tool answers."};

const struct op op_toolbox_call = {
    .name = "toolbox.call",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/toolbox/{name}",
    .subject = OP_ON_TOOLBOX,
    .flags = OP_MUTATING | OP_NEEDS_AGENT | OP_FROM_CODE,
    .only_reads = toolbox_call_only_reads,
    .params = toolbox_call_params,
    .doc = "Calls a tool of the toolbox: in the session's sandbox, with its files.",
    .run = toolbox_call_run,
    .result = &shape_toolbox_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |
              OP_ERR(TOO_LARGE) | OP_ERR(UNAVAILABLE) | OP_ERR(FORBIDDEN) | OP_ERR(UPSTREAM),
    .example = "{\"session_id\": \"$explored\", \"name\": \"calculate\", "
               "\"args\": {\"expression\": \"2 ** 10\"}}",
};
