/* What the tools share, in the daemon: whose session a call means, the way through another
 * operation, and failures in words that a model can act on. On the loop. */
#include "ops/tool_call.h"

#include "base/ids.h"
#include "ops/create_call.h"
#include "ops/naming.h"
#include "policy/policy.h"
#include "session/session.h"
#include "wire/json.h"

/* The label of a default session: whose it is. */
#define TOOL_LABEL "default_of"

enum { OWNER_SIZE = 24, NAME_STEM_MAX = 56, ANSWER_VALUES_MAX = 1000 * 1000 };

/* ---- the caller's session -------------------------------------------------------------------- */

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

/* The caller's default session of this language (NULL for any) that worked last; NULL if there is
 * none. */
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
            (found == NULL || s->life.last_cell_at_us >= found->life.last_cell_at_us))
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
    tool->cancels = strcmp(call_text(call, "on_disconnect", "continue"), "cancel") == 0;
    if (call->sink != &tool_sink) {
        tool->sink = call->sink;
        call->sink = &tool_sink;
    }
    bool has_yield = json_is_integer(json_object_get(call->args, "yield_ms"));
    if (tool_param(call, "yield_ms") != NULL && !has_yield)
        json_object_set_new(call->args, "yield_ms", json_integer(TOOL_YIELD_MS));
}

const char *tool_place(const struct call *call)
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

/* What "session" leads to: a name or an id; NULL if nothing that lives. A dead session is found by
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
        session_restart_idle(session);
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

/* ---- another operation ----------------------------------------------------------------------- */

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

/* ---- failures -------------------------------------------------------------------------------- */

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
    {"Kill one that is no longer needed", "back(action=\"end\", session=…) ends one"},
    {"…/output?number=%", "look(output=%)"},
    {"Name its id, or a number from 0 to %; -1 is the last, #3 the third that ran.",
     "There are cells 0 to %; of one that ran again the last output is kept."},
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

void tool_leave(struct call *call)
{
    call->sink = call->tool->sink;
}

static void sink_fail(struct call *call, const struct err *e)
{
    struct tool_call *tool = call->tool;
    if (tool->kept != NULL) { /* the answer is complete without what failed */
        tool_reply_kept(call);
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

/* ---- the answer of another operation --------------------------------------------------------- */

static void sink_reply(struct call *call, int http_status, const struct buf *json)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, ANSWER_VALUES_MAX};
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
    /* Of a file: what code wrote may have NUL characters, and there may be a lot of it. */
    if (json_read_file_object(buf_str(json), json->len, &limits, &answer, &e) < 0) {
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
