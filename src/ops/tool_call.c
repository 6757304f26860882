/* What the tools share, in the daemon: whose session a call means, the way through another
 * operation, and failures in words that a model can act on. On the loop. */
#include "ops/tool_call.h"

#include "base/ids.h"
#include "cell/display.h"
#include "ops/create_call.h"
#include "ops/naming.h"
#include "policy/policy.h"
#include "session/session.h"
#include "wire/base64.h"
#include "wire/json.h"

/* The label of a default session: whose it is. */
#define TOOL_LABEL "default_of"

enum { OWNER_SIZE = 24, PICTURE_REF_SIZE = 160, PICTURE_TYPE_SIZE = 32, NAME_STEM_MAX = 56 };

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
static struct session *tool_default(const struct call *call, const char *language,
                                    tool_fits_fn fits)
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
        if (is_default && is_meant && (fits == NULL || fits(s)) &&
            (found == NULL || s->life.worked_at_ms >= found->life.worked_at_ms))
            found = s;
    }
    return found;
}

static const struct op_param *tool_param(const struct call *call, const char *name)
{
    const struct op_param *p = call->tool->op->params;
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
    tool->budget = (uint64_t)call_int(call, "max_tokens", 0) * TOOL_TOKEN_BYTES;
    if (call->sink != &tool_sink) {
        tool->sink = call->sink;
        call->sink = &tool_sink;
    }
    bool has_yield = json_is_integer(json_object_get(call->args, "yield_ms"));
    if (tool_param(call, "yield_ms") != NULL && !has_yield)
        json_object_set_new(call->args, "yield_ms", json_integer(TOOL_YIELD_MS));
}

/* What a session is called among the tools of the set: a notebook has its session's id. */
static const char *tool_place(const struct call *call)
{
    return strcmp(call->tool->op->toolset, "notebook") == 0 ? "notebook" : "session";
}

void tool_prepare_fitting(struct call *call, tool_fits_fn fits)
{
    tool_prepare_plain(call);
    const char *place = tool_place(call), *named = call_text(call, place, NULL);
    if (named != NULL) {
        call->tool->session = arena_strdup(&call->arena, named);
        return;
    }
    bool has_language = tool_param(call, "language") != NULL;
    const char *language = has_language ? call_text(call, "language", "python") : NULL;
    const struct session *session = tool_default(call, language, fits);
    if (session == NULL && fits != NULL)
        session = tool_default(call, language, NULL);
    if (session != NULL)
        json_object_set_new(call->args, place, json_string(session->id));
}

void tool_prepare(struct call *call)
{
    tool_prepare_fitting(call, NULL);
}

/* What "session" leads to: a name or an id; NULL: nothing that lives. A dead session is found by
 * its id alone, for its name can be given again. */
static struct session *tool_look(const struct call *call)
{
    struct err ignored;
    const char *name = call_text(call, tool_place(call), NULL);
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
    const char *name = call_text(call, tool_place(call), NULL);
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
    const char *place = tool_place(call);
    bool is_notebook = strcmp(place, "notebook") == 0;
    if (said != NULL)
        err_set(&e, ERR_NOT_FOUND, "there is no %s %.64s", place, said);
    else
        err_set(&e, ERR_NOT_FOUND, "there is no %s yet", place);
    if (said != NULL && !is_notebook)
        err_advise(&e, "look(what=\"sessions\") lists yours.");
    else
        err_advise(&e, "%s makes one.", is_notebook ? "execute_cell()" : "run()");
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
    json_object_set_new(call->args, tool_place(call), json_string(session->id));
    making->fn(call, session);
}

static void making_on_gone(struct call *call)
{
    const struct tool_making *making = call->op_state;
    session_forget_starter(making->session);
    session_delete(making->session);
}

json_t *tool_labels(const struct call *call, bool is_default)
{
    char text[OWNER_SIZE];
    return json_pack("{s:s}", TOOL_LABEL, is_default ? tool_owner(call, text) : "");
}

const char *tool_new_name(struct call *call, const char *base, struct err *e)
{
    size_t len = strlen(base), digits = len;
    while (digits > 0 && base[digits - 1] >= '0' && base[digits - 1] <= '9')
        digits--;
    if (digits < len && digits > 1 && base[digits - 1] == '-')
        len = digits - 1; /* a copy of python-2 is called python-3 */
    const char *stem =
        arena_printf(&call->arena, "%.*s", (int)MIN(len, (size_t)NAME_STEM_MAX), base);
    const char *name = stem;
    for (int n = 2; n < TOOL_SESSIONS_MAX; n++) {
        if (naming_check(call, call->agent, name, NULL, e) == 0)
            return name;
        name = arena_printf(&call->arena, "%s-%d", stem, n);
    }
    return NULL;
}

static int making_request(struct call *call, const char **ret_name, struct session_request *request,
                          struct err *e)
{
    const char *language = call_text(call, "language", "python");
    const char *said = call->tool->session;
    *ret_name = said != NULL ? said : tool_new_name(call, language, e);
    if (*ret_name == NULL)
        return -1;
    json_object_set_new(call->args, "runtime", json_string(language));
    json_object_set_new(call->args, "name", json_string(*ret_name));
    if (said == NULL)
        json_object_set_new(call->args, "labels", tool_labels(call, true));
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

void tool_give_body(struct call *call, const struct buf *bytes)
{
    call->tool->body = arena_copy(&call->arena, buf_str(bytes), bytes->len);
    call->body_bytes = (int64_t)bytes->len;
}

void tool_become(struct call *call, const struct op *op, json_t *args, tool_answer_fn fn)
{
    call->op = op;
    call->tool->on_answer = fn;
    json_decref(call->args);
    call->args = args;
    op_run(call);
}

/* ---- failures ----------------------------------------------------------------------------------
 */

/* What is said of requests elsewhere, as whoever has tools reads it. % is a number. */
static const struct {
    const char *request, *tool;
} tool_words[] = {
    {"GET /v1/sessions lists those that exist; POST /v1/sessions creates one.",
     "look(what=\"sessions\") lists yours; run() makes one."},
    {"GET …/checkpoints", "back(action=\"list\")"},
    {"GET …/names", "look()"},
    {"as an archive: GET …/archive?path=…", "file(action=\"list\") tells what is in it."},
    {"POST …/resume brings it back.", "run() brings it back."},
    {"POST …/try runs one", "back(action=\"try\") runs one"},
    {"Keep it with POST …/tries/%/commit or take it back with …/discard.",
     "back(action=\"keep\") keeps it, back(action=\"drop\") takes it back."},
    {"POST …/input", "wait(input=…)"},
    {"…/output?number=%", "look(output=%)"},
};

/* How many bytes of the text the words stand for; 0: they do not. */
static size_t tool_match(const char *text, const char *words, int *ret_number, int *ret_digits)
{
    const char *at = text;
    for (; *words != '\0'; words++) {
        if (*words != '%' && *words != *at++)
            return 0;
        if (*words != '%')
            continue;
        *ret_number = (int)(at - text);
        *ret_digits = (int)strspn(at, "0123456789");
        at += *ret_digits;
    }
    return (size_t)(at - text);
}

static void tool_translate(const char *text, struct buf *out)
{
    while (*text != '\0') {
        int number = 0, digits = 0;
        size_t len = 0, i = 0;
        for (; i < ARRAY_LEN(tool_words) && len == 0; i++)
            len = tool_match(text, tool_words[i].request, &number, &digits);
        if (len == 0) {
            buf_append_char(out, *text++);
            continue;
        }
        for (const char *c = tool_words[i - 1].tool; *c != '\0'; c++) {
            if (*c == '%')
                buf_append(out, text + number, (size_t)digits);
            else
                buf_append_char(out, *c);
        }
        text += len;
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
}

static void kept_send(struct call *call, const char *data, size_t len);

static void sink_fail(struct call *call, const struct err *e)
{
    struct tool_call *tool = call->tool;
    if (tool->kept != NULL) {
        kept_send(call, NULL, 0);
        return;
    }
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
    if (!tool->is_whole && (is_refusal || tool->on_answer == NULL)) {
        tool_leave(call);
        call_reply(call, http_status, json);
        return;
    }
    if (!is_refusal && tool->on_answer == NULL) {
        tool_reply_text(call, json);
        return;
    }
    if (json_read_object(buf_str(json), json->len, &answer, &e) < 0) {
        sink_fail(call, &e);
    } else if (is_refusal) {
        sink_refuse(call, answer);
    } else {
        tool->on_answer(call, answer);
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
    if (tool->has_sent_body || call->body_bytes <= 0) {
        call->on_body_end(call);
        return;
    }
    tool->has_sent_body = true;
    _buf_ struct buf piece = BUF_INIT((size_t)call->body_bytes);
    buf_append(&piece, tool->body, (size_t)call->body_bytes);
    call->on_body(call, &piece);
}

static const struct call_sink tool_sink = {
    .reply = sink_reply,
    .fail = sink_fail,
    .send_file = tool_read,
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

void tool_begin_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
}

/* What a model reads first or last, without line ends that nobody needs. */
static void put_text_item(struct json_out *json, const struct call *call, const struct buf *text)
{
    size_t len = text->len;
    const char *made = call->tool->made;
    _buf_ struct buf whole = BUF_INIT(CALL_REPLY_MAX);
    while (len > 0 && text->data[len - 1] == '\n')
        len--;
    buf_append(&whole, buf_str(text), len);
    if (made != NULL)
        buf_printf(&whole, "%s[new %s %s]", len > 0 ? "\n" : "", tool_place(call), made);
    else if (len == 0)
        buf_append_str(&whole, "[done]");
    json_put_object(json);
    json_put_member_str(json, "type", "text");
    json_put_member_text(json, "text", buf_str(&whole), whole.len);
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

static void put_image(struct json_out *json, const char *data, size_t len, const char *type)
{
    json_put_object(json);
    json_put_member_str(json, "type", "image");
    json_put_member_text(json, "data", data, len);
    json_put_member_str(json, "mimeType", type);
    json_put_object_end(json);
}

void tool_reply_text(struct call *call, const struct buf *text)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    tool_begin(&json);
    put_text_item(&json, call, text);
    json_put_array_end(&json);
    tool_end(call, &json);
}

void tool_reply_picture(struct call *call, const char *type, const struct buf *bytes)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX), data = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    base64_encode(&data, buf_str(bytes), bytes->len);
    tool_begin(&json);
    put_image(&json, buf_str(&data), data.len, type);
    json_put_array_end(&json);
    tool_end(call, &json);
}

int tool_fail(struct call *call, const char *message, const char *advice)
{
    struct err e;
    err_set(&e, ERR_INVALID, "%s", message);
    err_advise(&e, "%s", advice);
    call_fail(call, &e);
    return -1;
}

/* Its name among resources, made of its address: /v1/notebooks/N/cells/C/images/I. */
static bool picture_ref(const json_t *output, char ref[PICTURE_REF_SIZE])
{
    char notebook[UUID_SIZE], cell[CELL_ID_SIZE];
    unsigned image;
    const char *url = json_string_value(json_object_get(output, "url"));
    if (url == NULL ||
        sscanf(url, "/v1/notebooks/%36[^/]/cells/%64[^/]/images/%u", notebook, cell, &image) != 3)
        return false;
    snprintf(ref, PICTURE_REF_SIZE, "notebook://%s/cell/%s/image/%u", notebook, cell, image);
    return true;
}

static void picture_type(const json_t *output, char type[PICTURE_TYPE_SIZE])
{
    const char *format = json_string_value(json_object_get(output, "format"));
    snprintf(type, PICTURE_TYPE_SIZE, "image/%.16s", format != NULL ? format : "svg+xml");
}

/* A model can look at it, and it fits. */
static bool picture_is_shown(const json_t *output)
{
    const json_t *data = json_object_get(output, "data");
    return json_object_get(output, "format") != NULL && json_is_string(data) &&
           json_string_length(data) <= TOOL_IMAGE_MAX;
}

/* The picture, or where it is. */
static void put_picture(struct json_out *json, const json_t *output)
{
    const json_t *data = json_object_get(output, "data");
    char type[PICTURE_TYPE_SIZE], ref[PICTURE_REF_SIZE];
    picture_type(output, type);
    if (picture_is_shown(output)) {
        put_image(json, json_string_value(data), json_string_length(data), type);
    } else if (picture_ref(output, ref)) {
        json_put_object(json);
        json_put_member_str(json, "type", "resource_link");
        json_put_member_str(json, "uri", ref);
        json_put_member_str(json, "name", strrchr(ref, '/') + 1);
        json_put_member_str(json, "mimeType", type);
        json_put_object_end(json);
    }
}

/* An answer while the first picture that is too large for it is made smaller: the picture comes
 * before the link to all of it. In the call's arena. */
struct tool_answer {
    const char *head, *tail;                             /* of the JSON */
    char uri[PICTURE_REF_SIZE], type[PICTURE_TYPE_SIZE]; /* of the picture; "": there is none */
    int side;                                            /* pixels */
};

static void put_pictures(struct json_out *json, const struct exec_result *result,
                         struct tool_answer *large, size_t *ret_at)
{
    for (size_t i = 0; i <= result->n_outputs; i++) {
        const json_t *output =
            i < result->n_outputs ? result->outputs[i].output : result->value.output;
        if (output == NULL || !display_is_picture(output))
            continue;
        bool is_first = large->uri[0] == '\0' && json_object_get(output, "format") != NULL;
        if (is_first && !picture_is_shown(output) && picture_ref(output, large->uri)) {
            picture_type(output, large->type);
            *ret_at = json->buf->len;
        }
        put_picture(json, output);
    }
}

static void kept_send(struct call *call, const char *data, size_t len)
{
    const struct tool_answer *kept = call->tool->kept;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    buf_append_str(&out, kept->head);
    if (data != NULL) {
        struct json_out json = {.buf = &out, .needs_comma = true};
        put_image(&json, data, len, kept->type);
    }
    buf_append_str(&out, kept->tail);
    tool_leave(call);
    call_reply(call, 200, &out);
}

static void kept_scale(struct call *call);

static void on_scaled(struct call *call, const json_t *answer)
{
    struct tool_answer *kept = call->tool->kept;
    const json_t *data = json_object_get(answer, "data");
    size_t len = json_string_length(data);
    if (len <= TOOL_IMAGE_MAX) {
        kept_send(call, json_string_value(data), len);
    } else if (kept->side > TOOL_IMAGE_SIDE / 2) {
        kept->side = TOOL_IMAGE_SIDE / 2;
        kept_scale(call);
    } else {
        kept_send(call, NULL, 0);
    }
}

/* What cannot be scaled leads to sink_fail, and the answer is sent without it. */
static void kept_scale(struct call *call)
{
    const struct tool_answer *kept = call->tool->kept;
    char id[UUID_SIZE];
    snprintf(id, sizeof(id), "%s", kept->uri + strlen("notebook://"));
    tool_become(call, &op_notebook_reference,
                json_pack("{s:s, s:s, s:b, s:i, s:i}", "session_id", id, "uri", kept->uri, "data",
                          1, "width", kept->side, "height", kept->side),
                on_scaled);
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
    if (result->cell != NULL && strcmp(tool_place(call), "notebook") == 0) {
        tool_begin_line(&text);
        buf_printf(&text, "[cell=%llu]", (unsigned long long)result->cell_number);
    }
    tool_begin(&json);
    put_text_item(&json, call, &text);
    struct tool_answer *large = arena_alloc(&call->arena, sizeof(*large));
    size_t at = 0;
    put_pictures(&json, result, large, &at);
    json_put_array_end(&json);
    put_pending(&json, call, result);
    json_put_member_true(&json, "isError", result->error != NULL);
    json_put_object_end(&json);
    if (large->uri[0] == '\0' || call->boxes == NULL) {
        tool_leave(call);
        call_reply(call, 200, &out);
        return;
    }
    large->head = arena_copy(&call->arena, buf_str(&out), at);
    large->tail = arena_copy(&call->arena, buf_str(&out) + at, out.len - at);
    large->side = TOOL_IMAGE_SIDE;
    tool->kept = large;
    kept_scale(call);
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
