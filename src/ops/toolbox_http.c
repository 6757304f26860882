/* Tools that a server answers which the daemon asks in a box (explore/fetch.h): endpoints of the
 * configuration, http_post, and a model behind an endpoint as OpenAI has it. Daemon; on the loop.
 */
#include "explore/fetch_url.h"
#include "ops/explore_call.h"
#include "ops/toolbox_call.h"
#include "session/session.h"
#include "wire/json.h"

enum {
    HTTP_BODY_MAX = 256 * 1024, /* bytes that a server is sent */
    HTTP_ANSWER_CHARS = 200000, /* of which it takes so many */
    HTTP_ASKED_AT_ONCE = 4,     /* questions of one batch */
};

/* ---- what the server said -------------------------------------------------------------------- */

/* JSON, or else a text. Also a list, which the reader takes as the member of an object only. */
static json_t *toolbox_http_read(const char *text, size_t len)
{
    struct err ignored;
    _json_ json_t *read = NULL;
    _buf_ struct buf wrapped = BUF_INIT(len + 16);
    buf_append_str(&wrapped, "{\"r\":");
    buf_append(&wrapped, text, len);
    buf_append_str(&wrapped, "}");
    if (json_read_object(buf_str(&wrapped), wrapped.len, &read, &ignored) == 0 &&
        json_object_size(read) == 1)
        return json_incref(json_object_get(read, "r"));
    return json_stringn(text, len);
}

static const char *toolbox_http_text_of(const json_t *said, size_t *ret_len)
{
    const json_t *choice = json_array_get(json_object_get(said, "choices"), 0);
    const json_t *text = json_object_get(json_object_get(choice, "message"), "content");
    *ret_len = json_string_length(text);
    return json_string_value(text);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void toolbox_http_ask_next(struct toolbox_visit *visit, struct session *session);

/* Whatever is under way is nobody's any more. */
static void toolbox_http_drop(struct toolbox_visit *visit)
{
    struct toolbox_asked *asked = visit->asked;
    for (size_t i = 0; i < visit->n_begun; i++)
        if (asked[i].order != NULL)
            exploring_forget(take_ptr(asked[i].order));
    json_decref(take_ptr(visit->answers));
    visit->call->on_gone = NULL;
}

static void toolbox_http_fail(struct toolbox_visit *visit, const struct err *e)
{
    struct err kept = *e;
    toolbox_http_drop(visit);
    toolbox_call_failed(visit, &kept);
}

/* An answer to one question. The last makes the result: the answer, or all of them in the order of
 * the questions. */
static void toolbox_http_take(struct toolbox_asked *asked, json_t *answer)
{
    struct err e;
    struct toolbox_visit *visit = asked->visit;
    struct session *session =
        session_find(visit->call->engine, call_text(visit->call, "session_id", ""), &e);
    json_array_set(visit->answers, asked->index, answer);
    if (++visit->n_answered < visit->n_asked) {
        if (session == NULL)
            toolbox_http_fail(visit, &e);
        else
            toolbox_http_ask_next(visit, session);
        return;
    }
    bool has_prompts =
        visit->entry->maker == TOOLBOX_LLM && json_object_get(visit->args, "prompts");
    _json_ json_t *all = take_ptr(visit->answers);
    visit->call->on_gone = NULL;
    toolbox_call_keep(visit, has_prompts ? all : json_array_get(all, 0));
}

/* A model's answer: {"choices": [{"message": {"content"}}]}. */
static void toolbox_http_on_done(void *context, json_t *told)
{
    struct toolbox_asked *asked = context;
    struct toolbox_visit *visit = asked->visit;
    struct err e;
    json_int_t status = json_integer_value(json_object_get(told, "status"));
    const json_t *body = json_object_get(told, "text");
    const char *text = json_string_value(body);
    asked->order = NULL;
    if (text == NULL || status < 200 || status > 299) {
        err_set(&e, ERR_UPSTREAM, "the server answered with status %lld: %.300s", (long long)status,
                text != NULL ? text : "");
        err_advise(&e, "Look at the arguments, and whether the server works.");
        toolbox_http_fail(visit, &e);
        return;
    }
    _json_ json_t *said = toolbox_http_read(text, json_string_length(body));
    size_t len;
    if (visit->entry->maker != TOOLBOX_LLM) {
        toolbox_http_take(asked, said);
    } else if ((text = toolbox_http_text_of(said, &len)) != NULL) {
        _json_ json_t *answer = json_stringn_nocheck(text, len);
        toolbox_http_take(asked, answer);
    } else {
        err_set(&e, ERR_UPSTREAM, "the model's server answered without a text");
        toolbox_http_fail(visit, &e);
    }
}

static void toolbox_http_on_failed(void *context, const struct err *e)
{
    struct toolbox_asked *asked = context;
    asked->order = NULL;
    toolbox_http_fail(asked->visit, e);
}

static const struct explore_listener toolbox_http_listener = {.on_done = toolbox_http_on_done,
                                                              .on_failed = toolbox_http_on_failed};

static void toolbox_http_on_gone(struct call *call)
{
    struct toolbox_visit *visit = call->op_state;
    toolbox_http_drop(visit);
    toolbox_call_release(visit);
}

/* ---- what it is asked ------------------------------------------------------------------------ */

/* What is sent; the caller owns it. */
static json_t *toolbox_http_body(const struct toolbox_visit *visit, size_t index)
{
    static const char *const as_given[] = {"max_tokens", "temperature"};
    const json_t *setting = visit->entry->setting;
    if (visit->entry->maker != TOOLBOX_LLM)
        return json_incref(json_object_get(setting, "url") != NULL
                               ? visit->args
                               : json_object_get(visit->args, "body"));
    const json_t *prompts = json_object_get(visit->args, "prompts"),
                 *system = json_object_get(visit->args, "system");
    json_t *prompt =
        prompts != NULL ? json_array_get(prompts, index) : json_object_get(visit->args, "prompt");
    json_t *messages = json_array();
    if (json_string_length(system) > 0)
        json_array_append_new(messages,
                              json_pack("{s:s, s:O}", "role", "system", "content", system));
    json_array_append_new(messages, json_pack("{s:s, s:O}", "role", "user", "content", prompt));
    json_t *body =
        json_pack("{s:O, s:o}", "model", json_object_get(setting, "model"), "messages", messages);
    for (size_t i = 0; i < ARRAY_LEN(as_given); i++)
        if (json_object_get(visit->args, as_given[i]) != NULL)
            json_object_set(body, as_given[i], json_object_get(visit->args, as_given[i]));
    return body;
}

/* An endpoint of the configuration may be asked whatever domains the agent may ask. */
static int toolbox_http_place(struct toolbox_visit *visit, const struct session *session,
                              struct explore_place *ret, struct err *e)
{
    struct fetch_url parsed;
    const char *url = json_string_value(json_object_get(visit->entry->setting, "url"));
    if (url == NULL) {
        explore_call_allow(visit->call, session, ret);
        ret->url = json_string_value(json_object_get(visit->args, "url"));
        return 0;
    }
    if (fetch_url_parse(url, &parsed, e) < 0)
        return -1;
    char *domain = arena_alloc(&visit->call->arena, FETCH_HOST_MAX + 16);
    bool is_six = strchr(parsed.host, ':') != NULL;
    snprintf(domain, FETCH_HOST_MAX + 16, "%s%s%s:%u", is_six ? "[" : "", parsed.host,
             is_six ? "]" : "", parsed.port);
    ret->url = url;
    ret->domains = arena_copy(&visit->call->arena, &domain, sizeof(domain));
    ret->n_domains = 1;
    return 0;
}

/* False if it cannot be asked; then the call has failed. */
static bool toolbox_http_ask(struct toolbox_asked *asked, struct session *session)
{
    struct err e;
    struct toolbox_visit *visit = asked->visit;
    struct explore_place place = {0};
    struct exploring_order *order = NULL;
    _json_ json_t *body = toolbox_http_body(visit, asked->index);
    _buf_ struct buf text = BUF_INIT(HTTP_BODY_MAX);
    struct json_out json = JSON_OUT(&text);
    json_put_value(&json, body);
    if (text.overflowed) {
        err_set(&e, ERR_TOO_LARGE, "what is sent has more than %d bytes", HTTP_BODY_MAX);
        err_advise(&e, "Send less at a time.");
    } else if (toolbox_http_place(visit, session, &place, &e) == 0) {
        json_t *request = json_pack("{s:s, s:I, s:s, s:O?}", "op", "fetch", "max_chars",
                                    (json_int_t)HTTP_ANSWER_CHARS, "body", buf_str(&text),
                                    "headers", json_object_get(visit->entry->setting, "headers"));
        order = session_explore(session, &place, request, &toolbox_http_listener, asked, &e);
    }
    if (order != NULL)
        asked->order = order;
    else
        toolbox_http_fail(visit, &e); /* ends the call, and all that is its */
    return order != NULL;
}

static void toolbox_http_ask_next(struct toolbox_visit *visit, struct session *session)
{
    while (visit->n_begun < visit->n_asked &&
           visit->n_begun - visit->n_answered < HTTP_ASKED_AT_ONCE) {
        struct toolbox_asked *asked = &visit->asked[visit->n_begun];
        *asked = (struct toolbox_asked){.visit = visit, .index = visit->n_begun++};
        if (!toolbox_http_ask(asked, session))
            return;
    }
}

void toolbox_http_run(struct toolbox_visit *visit, struct session *session)
{
    const json_t *prompts = json_object_get(visit->args, "prompts");
    bool is_batch = visit->entry->maker == TOOLBOX_LLM && json_is_array(prompts);
    visit->n_asked = is_batch ? json_array_size(prompts) : 1;
    visit->n_begun = visit->n_answered = 0;
    visit->asked = arena_alloc(&visit->call->arena, visit->n_asked * sizeof(*visit->asked));
    visit->answers = json_array();
    for (size_t i = 0; i < visit->n_asked; i++)
        json_array_append_new(visit->answers, json_null());
    visit->call->op_state = visit;
    visit->call->on_gone = toolbox_http_on_gone;
    toolbox_http_ask_next(visit, session);
}
