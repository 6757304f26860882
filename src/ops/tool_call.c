/* What the tools share, in the daemon: whose session a call means, the way through another
 * operation, and failures in words that a model can act on. On the loop. */
#include "ops/tool_call.h"

#include "base/ids.h"
#include "cell/display.h"
#include "ops/create_call.h"
#include "ops/naming.h"
#include "policy/policy.h"
#include "session/session.h"
#include "wire/json.h"

/* The label of a default session: whose it is. */
#define TOOL_LABEL "default_of"

enum { OWNER_SIZE = 24 };

/* ---- the caller's session ----------------------------------------------------------------------
 */

/* What the label says. A client's name may be its secret, so it is not told. */
static const char *tool_owner(const struct call *call, char owner[OWNER_SIZE])
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    if (call->caller == NULL)
        return "agent";
    for (const char *c = call->caller; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
    snprintf(owner, OWNER_SIZE, "client-%016llx", (unsigned long long)hash);
    return owner;
}

/* The caller's default session of this language (NULL: any) that worked last; NULL: none. */
static struct session *tool_default(const struct call *call, const char *language)
{
    char text[OWNER_SIZE];
    const char *owner = tool_owner(call, text);
    struct session *found = NULL;
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s)) {
        const char *label = json_string_value(json_object_get(s->labels, TOOL_LABEL));
        bool is_default = label != NULL && strcmp(label, owner) == 0 && !s->is_unlisted &&
                          s->state != SESSION_DEAD &&
                          strcmp(policy_agent_of(s), call_owner(call)) == 0;
        bool is_meant = language == NULL || strcmp(s->runtime->name, language) == 0;
        if (is_default && is_meant &&
            (found == NULL || s->life.worked_at_ms >= found->life.worked_at_ms))
            found = s;
    }
    return found;
}

static const struct op_param *tool_param(const struct call *call, const char *name)
{
    const struct op_param *p = call->op->params;
    while (p->name != NULL && strcmp(p->name, name) != 0)
        p++;
    return p->name != NULL ? p : NULL;
}

static const struct call_sink tool_sink;

void tool_prepare_plain(struct call *call)
{
    struct tool_call *tool = call->tool;
    if (tool == NULL)
        call->tool = tool = arena_alloc(&call->arena, sizeof(*tool));
    tool->op = call->op;
    tool->body = BUF_INIT(SIZE_MAX / 4);
    tool->budget = (uint64_t)call_int(call, "max_tokens", 0) * TOOL_TOKEN_BYTES;
    if (call->sink != &tool_sink) {
        tool->sink = call->sink;
        call->sink = &tool_sink;
    }
    bool has_yield = json_is_integer(json_object_get(call->args, "yield_ms"));
    if (tool_param(call, "yield_ms") != NULL && !has_yield)
        json_object_set_new(call->args, "yield_ms", json_integer(TOOL_YIELD_MS));
}

void tool_prepare(struct call *call)
{
    tool_prepare_plain(call);
    const char *named = call_text(call, "session", NULL);
    if (named != NULL) {
        call->tool->session = arena_strdup(&call->arena, named);
        return;
    }
    bool has_language = tool_param(call, "language") != NULL;
    const char *language = has_language ? call_text(call, "language", "python") : NULL;
    const struct session *session = tool_default(call, language);
    if (session != NULL)
        json_object_set_new(call->args, "session", json_string(session->id));
}

/* What "session" leads to: a name or an id; NULL: nothing that lives. A dead session is found by
 * its id alone, for its name can be given again. */
static struct session *tool_look(const struct call *call)
{
    struct err ignored;
    const char *name = call_text(call, "session", NULL);
    if (name == NULL)
        return NULL;
    struct session *session = ids_is_uuid(name, strlen(name))
                                  ? session_find(call->engine, name, &ignored)
                                  : naming_find(call, name, &ignored);
    const char *said = call->tool->session;
    bool is_name = said != NULL && !ids_is_uuid(said, strlen(said));
    return session != NULL && session->state == SESSION_DEAD && is_name ? NULL : session;
}

bool tool_makes_session(const struct call *call)
{
    const char *name = call_text(call, "session", NULL);
    return tool_look(call) == NULL && (name == NULL || !ids_is_uuid(name, strlen(name)));
}

struct session *tool_found(struct call *call)
{
    struct err e;
    struct session *session = tool_look(call);
    if (session != NULL) {
        session_touch(session);
        return session;
    }
    const char *said = call->tool->session;
    if (said != NULL)
        err_set(&e, ERR_NOT_FOUND, "there is no session %.64s", said);
    else
        err_set(&e, ERR_NOT_FOUND, "there is no session yet");
    err_advise(&e, said != NULL ? "look(what=\"sessions\") lists yours." : "run() makes one.");
    call_fail(call, &e);
    return NULL;
}

/* A session that is being made; in the call's arena. */
struct tool_making {
    struct session *session;
    const char *name;
    tool_session_fn fn;
};

static void making_on_started(void *context, struct session *session)
{
    struct call *call = context;
    const struct tool_making *making = call->op_state;
    call->on_gone = NULL;
    if (session->state == SESSION_DEAD) {
        struct err e;
        create_call_explain(session, &e);
        call_fail(call, &e);
        return;
    }
    call->tool->made = making->name;
    json_object_set_new(call->args, "session", json_string(session->id));
    making->fn(call, session);
}

static void making_on_gone(struct call *call)
{
    const struct tool_making *making = call->op_state;
    session_forget_starter(making->session);
    session_delete(making->session);
}

/* The language, or with a number: the first that no other session of the agent has. */
static const char *making_name(struct call *call, const char *language, struct err *e)
{
    const char *name = language;
    for (int n = 2; n < TOOL_SESSIONS_MAX; n++) {
        if (naming_check(call, call->agent, name, NULL, e) == 0)
            return name;
        name = arena_printf(&call->arena, "%s-%d", language, n);
    }
    return NULL;
}

static int making_request(struct call *call, const char **ret_name, struct session_request *request,
                          struct err *e)
{
    char text[OWNER_SIZE];
    const char *language = call_text(call, "language", "python");
    const char *said = call->tool->session;
    *ret_name = said != NULL ? said : making_name(call, language, e);
    if (*ret_name == NULL)
        return -1;
    json_object_set_new(call->args, "runtime", json_string(language));
    json_object_set_new(call->args, "name", json_string(*ret_name));
    if (said == NULL)
        json_object_set_new(call->args, "labels",
                            json_pack("{s:s}", TOOL_LABEL, tool_owner(call, text)));
    if (create_call_read(call, request, e) < 0)
        return -1;
    request->usual = (struct session_usual){0}; /* what is asked for is for one cell */
    return 0;
}

static int check_language(const struct call *call, const struct session *session, struct err *e)
{
    const char *language = call_text(call, "language", session->runtime->name);
    if (strcmp(language, session->runtime->name) == 0)
        return 0;
    err_set(e, ERR_INVALID, "that session runs %s, not %s", session->runtime->name, language);
    return err_advise(e, "Leave out the language or the session; a new name makes another one.");
}

void tool_session(struct call *call, tool_session_fn fn)
{
    struct err e;
    struct session_request request;
    struct session *session = tool_look(call);
    if (session != NULL) {
        if (check_language(call, session, &e) < 0)
            call_fail(call, &e);
        else
            fn(call, session);
        return;
    }
    if (!tool_makes_session(call)) {
        tool_found(call); /* says that there is none */
        return;
    }
    struct tool_making *making = arena_alloc(&call->arena, sizeof(*making));
    making->fn = fn;
    call->op_state = making;
    if (making_request(call, &making->name, &request, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    request.on_started = making_on_started;
    request.context = call;
    if (session_create(call->engine, &request, &session, &e) < 0) {
        call_fail(call, &e);
    } else if (session->starter.on_started != NULL) { /* else it was told already */
        making->session = session;
        call->on_gone = making_on_gone;
    }
}

/* ---- another operation -------------------------------------------------------------------------
 */

void tool_become(struct call *call, const struct op *op, json_t *args, tool_words_fn words)
{
    call->op = op;
    call->tool->words = words;
    json_decref(call->args);
    call->args = args;
    op_run(call);
}

/* ---- failures ----------------------------------------------------------------------------------
 */

/* What is said of requests elsewhere, as whoever has tools reads it. */
static const struct {
    const char *request, *tool;
} tool_words[] = {
    {"GET /v1/sessions lists those that exist; POST /v1/sessions creates one.",
     "look(what=\"sessions\") lists yours; run() makes one."},
    {"GET …/checkpoints", "back(action=\"list\")"},
    {"GET …/names", "look()"},
    {"GET …/archive?path=…", "file(action=\"list\")"},
    {"POST …/resume brings it back.", "run() brings it back."},
    {"POST …/try runs one", "back(action=\"try\") runs one"},
    {"POST …/input", "wait(input=…)"},
    {"DELETE /v1/sessions/", "Whoever planned leaves it: DELETE /v1/sessions/"},
};

static void tool_translate(const char *text, struct buf *out)
{
    while (*text != '\0') {
        size_t i = 0;
        while (i < ARRAY_LEN(tool_words) &&
               strncmp(text, tool_words[i].request, strlen(tool_words[i].request)) != 0)
            i++;
        if (i < ARRAY_LEN(tool_words)) {
            buf_append_str(out, tool_words[i].tool);
            text += strlen(tool_words[i].request);
        } else {
            buf_append_char(out, *text++);
        }
    }
}

static void tool_put_failure(struct buf *out, const char *message, const char *advice)
{
    buf_append_str(out, message != NULL ? message : "");
    if (advice == NULL || advice[0] == '\0')
        return;
    buf_append_str(out, "\n");
    tool_translate(advice, out);
}

static void tool_leave(struct call *call)
{
    call->sink = call->tool->sink;
    buf_free(&call->tool->body);
}

static void sink_fail(struct call *call, const struct err *e)
{
    struct tool_call *tool = call->tool;
    if (!tool->is_whole) {
        struct err told = *e;
        _buf_ struct buf advice = BUF_INIT(sizeof(told.advice));
        tool_translate(e->advice, &advice);
        snprintf(told.advice, sizeof(told.advice), "%s", buf_str(&advice));
        tool_leave(call);
        call_fail(call, &told);
        return;
    }
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    tool_put_failure(&text, e->message, e->advice);
    tool->is_error = true;
    tool_reply_text(call, &text);
}

/* A refusal in plan mode is told with the five members that agents know. */
static void sink_refuse(struct call *call, const json_t *answer)
{
    const json_t *refusal = json_object_get(answer, "refusal"),
                 *error = json_object_get(answer, "error");
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    struct json_out json = JSON_OUT(&text);
    if (refusal != NULL)
        json_put_value(&json, refusal);
    else
        tool_put_failure(&text, json_string_value(json_object_get(error, "message")),
                         json_string_value(json_object_get(error, "advice")));
    call->tool->is_error = true;
    tool_reply_text(call, &text);
}

/* ---- the answer of another operation -----------------------------------------------------------
 */

static void sink_reply(struct call *call, int http_status, const struct buf *json)
{
    struct tool_call *tool = call->tool;
    struct err e;
    _json_ json_t *answer = NULL;
    bool is_refusal = http_status >= 400;
    if ((is_refusal && !tool->is_whole) ||
        (!is_refusal && !tool->is_whole && tool->words == NULL)) {
        tool_leave(call);
        call_reply(call, http_status, json);
        return;
    }
    if (!is_refusal && tool->words == NULL) {
        tool_reply_text(call, json);
        return;
    }
    if (json_read_object(buf_str(json), json->len, &answer, &e) < 0) {
        sink_fail(call, &e);
    } else if (is_refusal) {
        sink_refuse(call, answer);
    } else {
        _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
        tool->words(call, answer, &text);
        tool_put_news(call, &text);
        tool_reply_text(call, &text);
    }
}

static void sink_begin(struct call *call)
{
    call->tool->sink->begin(call);
}

static bool sink_event(struct call *call, const char *name, const char *json, size_t len)
{
    return call->tool->sink->event(call, name, json, len);
}

static void sink_want_body(struct call *call)
{
    struct tool_call *tool = call->tool;
    if (tool->has_sent_body || tool->body.len == 0) {
        call->on_body_end(call);
        return;
    }
    tool->has_sent_body = true;
    _buf_ struct buf piece = tool->body;
    tool->body = BUF_INIT(0);
    call->on_body(call, &piece);
}

static const struct call_sink tool_sink = {
    .reply = sink_reply,
    .fail = sink_fail,
    .begin = sink_begin,
    .want_body = sink_want_body,
    .event = sink_event,
};

void tool_run(struct call *call)
{
    struct tool_call *tool = arena_alloc(&call->arena, sizeof(*tool));
    tool->op = call->op;
    tool->sink = call->sink;
    tool->is_whole = true;
    call->tool = tool;
    call->sink = &tool_sink;
    op_run(call);
}

/* ---- answers -----------------------------------------------------------------------------------
 */

size_t tool_text_max(const struct call *call)
{
    return call->tool->budget > 0 ? (size_t)call->tool->budget : TOOL_TEXT_MAX;
}

static void put_begin_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
}

void tool_put_news(const struct call *call, struct buf *out)
{
    if (call->tool->made == NULL)
        return;
    put_begin_line(out);
    buf_printf(out, "[new session %s]\n", call->tool->made);
}

static void put_text_item(struct json_out *json, const struct buf *text)
{
    size_t len = text->len;
    while (len > 0 && text->data[len - 1] == '\n')
        len--;
    json_put_object(json);
    json_put_member_str(json, "type", "text");
    json_put_member_text(json, "text", buf_str(text), len);
    json_put_object_end(json);
}

static void tool_begin(struct json_out *json)
{
    json_put_object(json);
    json_put_key(json, "content");
    json_put_array(json);
}

static void tool_end(struct call *call, struct json_out *json)
{
    json_put_member_true(json, "isError", call->tool->is_error);
    json_put_object_end(json);
    tool_leave(call);
    call_reply(call, 200, json->buf);
}

void tool_reply_text(struct call *call, const struct buf *text)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX), done = BUF_INIT(16);
    struct json_out json = JSON_OUT(&out);
    buf_append_str(&done, "[done]");
    tool_begin(&json);
    put_text_item(&json, text->len > 0 ? text : &done);
    json_put_array_end(&json);
    tool_end(call, &json);
}

/* A picture that is not too large, else where all of it is; false if there is nothing to show. */
static bool put_picture(struct json_out *json, const json_t *output)
{
    const char *format = json_string_value(json_object_get(output, "format"));
    const json_t *data = json_object_get(output, "data");
    const char *ref = json_string_value(json_object_get(output, "ref"));
    char type[32];
    snprintf(type, sizeof(type), "image/%.16s", format != NULL ? format : "svg+xml");
    bool is_shown =
        format != NULL && json_is_string(data) && json_string_length(data) <= TOOL_IMAGE_MAX;
    if (!is_shown && ref == NULL)
        return false;
    json_put_object(json);
    json_put_member_str(json, "type", is_shown ? "image" : "resource_link");
    if (is_shown) {
        json_put_member_text(json, "data", json_string_value(data), json_string_length(data));
    } else {
        const char *slash = strrchr(ref, '/');
        json_put_member_str(json, "uri", ref);
        json_put_member_str(json, "name", slash != NULL ? slash + 1 : ref);
    }
    json_put_member_str(json, "mimeType", type);
    json_put_object_end(json);
    return true;
}

static void put_pictures(struct json_out *json, const struct exec_result *result)
{
    for (size_t i = 0; i < result->n_outputs; i++)
        if (display_is_picture(result->outputs[i].output))
            put_picture(json, result->outputs[i].output);
    if (result->value.output != NULL && display_is_picture(result->value.output))
        put_picture(json, result->value.output);
}

/* For the surface, which may ask on by itself. */
static void put_pending(struct json_out *json, const struct call *call,
                        const struct exec_result *result)
{
    struct err ignored;
    const char *id = call_text(call, "session_id", call_text(call, "session", ""));
    const struct session *session = session_find(call->engine, id, &ignored);
    bool is_input = result->status == CELL_INPUT;
    if (session == NULL || (!is_input && result->status != CELL_RUNNING))
        return;
    json_put_key(json, "pending");
    json_put_object(json);
    json_put_member_str(json, "session", session->name != NULL ? session->name : session->id);
    json_put_member_int(json, "exec_id", (int64_t)result->exec_id);
    json_put_member_str(json, "kind", is_input ? "input" : "running");
    if (is_input && result->question != NULL) {
        json_put_member_text(json, "prompt", result->question->prompt, result->question->len);
        json_put_member_true(json, "is_password", result->question->is_password);
    }
    json_put_object_end(json);
}

void tool_reply_cell(struct call *call, const struct exec_result *result)
{
    struct tool_call *tool = call->tool;
    struct exec_reader reader = {.session = tool->session};
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX), out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    exec_text_put(&text, result, &reader);
    tool_put_news(call, &text);
    bool has_pictures = false;
    for (size_t i = 0; i < result->n_outputs; i++)
        has_pictures |= display_is_picture(result->outputs[i].output);
    if (text.len == 0 && !has_pictures)
        buf_append_str(&text, "[done]");
    tool_begin(&json);
    if (text.len > 0)
        put_text_item(&json, &text);
    put_pictures(&json, result);
    json_put_array_end(&json);
    put_pending(&json, call, result);
    tool->is_error = result->error != NULL;
    tool_end(call, &json);
}

static const struct op_member content_members[] = {
    {"type", OP_TEXT, .is_always = true, .doc = "text, image or resource_link."},
    {"text", OP_TEXT, .doc = "What a model reads."},
    {"data", OP_TEXT, .doc = "An image, as base64."},
    {"mimeType", OP_TEXT, .doc = "What an image or a resource is."},
    {"uri", OP_TEXT, .doc = "Of a resource."},
    {"name", OP_TEXT, .doc = "Of a resource."},
    {0},
};
static const struct op_shape shape_content = {"tool_content", content_members,
                                              "A piece of a tool's answer, as MCP has it."};

static const struct op_member pending_members[] = {
    {"session", OP_TEXT, .is_always = true, .doc = "The session, by its name if it has one."},
    {"exec_id", OP_INT, .is_always = true, .doc = "The cell's number."},
    {"kind", OP_TEXT, .is_always = true, .doc = "running or input."},
    {"prompt", OP_TEXT, .doc = "What the cell asks."},
    {"is_password", OP_BOOL, .doc = "Whether what is typed should not be seen."},
    {0},
};
static const struct op_shape shape_pending = {"tool_pending", pending_members,
                                              "A cell that goes on."};

static const struct op_member tool_result_members[] = {
    {"content", OP_LIST, .is_always = true, .shape = &shape_content, .doc = "The answer."},
    {"isError", OP_BOOL, .doc = "The code failed."},
    {"pending", OP_OBJECT, .shape = &shape_pending, .doc = "What still runs or waits."},
    {0},
};
const struct op_shape shape_tool_result = {"tool_result", tool_result_members,
                                           "What a tool answers, as MCP has it."};
