/* explore.web_fetch: a page of a listed domain. Daemon; on the loop; a box fetches and reads it. */
#include "explore/fetch.h"
#include "ops/explore_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param explore_fetch_params[] = {
    OP_PARAM_SESSION,
    {.name = "url",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = 4096,
     .doc = "http or https, of a domain that the configuration lists for the session's agent."},
    {.name = "max_chars",
     .type = OP_INT,
     .min = 1,
     .max = FETCH_CHARS_MAX,
     .doc = "How many characters of its text; default 10000."},
    OP_PARAM_QUIET,
    {0},
};

static void explore_fetch_on_done(void *context, json_t *result)
{
    struct call *call = context;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf query = BUF_INIT(KIB * 8);
    const json_t *text = json_object_get(result, "text");
    buf_printf(&query, "url='%s'", call_text(call, "url", ""));
    explore_call_note(call, session, "web_fetch", buf_str(&query), json_string_value(text),
                      json_string_length(text));
    explore_call_note_rest(result, 0);
    explore_call_reply(call, 200, json_incref(result));
}

static const struct explore_listener explore_fetch_listener = {.on_done = explore_fetch_on_done,
                                                               .on_failed = explore_call_failed};

static void explore_fetch_run(struct call *call)
{
    explore_call_ask(call,
                     json_pack("{s:s, s:I}", "op", "fetch", "max_chars",
                               (json_int_t)call_int(call, "max_chars", FETCH_CHARS)),
                     &explore_fetch_listener);
}

static const struct op_member explore_fetch_members[] = {
    {"url", OP_TEXT, .is_always = true, .doc = "Where it was found at last."},
    {"status", OP_INT, .is_always = true, .doc = "What the server answered: 200."},
    {"content_type", OP_TEXT, .is_nullable = true, .doc = "What it says that it is."},
    {"title", OP_TEXT, .is_nullable = true, .doc = "Of a page of HTML."},
    {"text", OP_TEXT, .is_always = true, .doc = "Its text."},
    {"chars", OP_INT, .is_always = true, .doc = "How many characters that has in all."},
    {"is_cut", OP_BOOL, .is_always = true, .doc = "There are more than are shown."},
    {"note", OP_TEXT, .doc = "That, as a line."},
    {0},
};
static const struct op_shape shape_page = {"page", explore_fetch_members, "A page of the web."};

const struct op op_explore_web_fetch = {
    .name = "explore.web_fetch",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/web_fetch",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_fetch_params,
    .doc =
        "Fetches a page of the web as text, from domains that the configuration lists; of others "
        "none.",
    .run = explore_fetch_run,
    .result = &shape_page,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |
              OP_ERR(TOO_LARGE) | OP_ERR(UNAVAILABLE) | OP_ERR(FORBIDDEN) | OP_ERR(UPSTREAM),
    .example = "{\"session_id\": \"$explored\", \"url\": \"https://example.org/\"}",
};
