/* explore.peek: some characters of a text. Daemon; on the loop; the session's box reads them. */
#include "ops/explore_call.h"
#include "session/session.h"
#include "wire/json.h"

enum { PEEK_DEFAULT = 500, PEEK_MAX = 1000000 };

static const struct op_param explore_peek_params[] = {
    OP_PARAM_SESSION,
    {.name = "n", .type = OP_INT, .max = PEEK_MAX, .doc = "How many characters; default 500."},
    {.name = "offset",
     .type = OP_INT,
     .max = INT64_MAX,
     .doc = "How many characters come before; default 0."},
    OP_PARAM_CONTEXT,
    OP_PARAM_TEXT_FILE,
    OP_PARAM_QUIET,
    {0},
};

static void explore_peek_on_done(void *context, json_t *result)
{
    struct call *call = context;
    char query[128];
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    const json_t *text = json_object_get(result, "text");
    int64_t offset = call_int(call, "offset", 0);
    snprintf(query, sizeof(query), "n=%lld", (long long)call_int(call, "n", PEEK_DEFAULT));
    if (offset > 0)
        snprintf(query + strlen(query), sizeof(query) - strlen(query), ", offset=%lld",
                 (long long)offset);
    _buf_ struct buf whole = BUF_INIT(KIB * 8);
    buf_printf(&whole, "%s%s", query, explore_call_place(call));
    explore_call_note(call, session, "peek", buf_str(&whole), json_string_value(text),
                      json_string_length(text));
    explore_call_reply(call, 200, json_incref(result));
}

static const struct explore_listener explore_peek_listener = {.on_done = explore_peek_on_done,
                                                              .on_failed = explore_call_failed};

static void explore_peek_run(struct call *call)
{
    explore_call_ask(call,
                     json_pack("{s:s, s:I, s:I}", "op", "peek", "n",
                               (json_int_t)call_int(call, "n", PEEK_DEFAULT), "offset",
                               (json_int_t)call_int(call, "offset", 0)),
                     &explore_peek_listener);
}

static const struct op_member explore_peek_members[] = {
    {"text", OP_TEXT, .is_always = true, .doc = "The characters."},
    {"offset", OP_INT, .is_always = true, .doc = "How many come before."},
    {"chars", OP_INT, .is_always = true, .doc = "How many the whole text has."},
    {"is_cut", OP_BOOL, .doc = "Fewer than asked for: an answer holds a megabyte."},
    {"left", OP_INT, .doc = "How many of those asked for are missing, then."},
    {"note", OP_TEXT, .doc = "Of a file in an archive: that it has more, as a line."},
    {0},
};
const struct op_shape shape_peek = {"peek", explore_peek_members, "Some characters of a text."};

static const struct op_verb explore_peek_verb = {
    .words = "peek",
    .takes = (const char *const[]){"session_id", "file_path?", NULL},
    .summary = "show some characters of a context, or of a file",
    .examples = "cella peek 0b9c\n"
                "cella peek 0b9c --n 2000 --offset 100000\n"
                "cella peek 0b9c logs/today.txt",
};

const struct op op_explore_peek = {
    .name = "explore.peek",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/peek",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_peek_params,
    .doc =
        "Shows some characters of a context, or of a file of the workspace, from anywhere in it.",
    .run = explore_peek_run,
    .result = &shape_peek,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$explored\", \"n\": 100}",
    .verb = &explore_peek_verb,
};
