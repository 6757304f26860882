/* What is in each piece of a large text: read by the model of the configuration, or else counted.
 * Daemon; on the loop. */
#include "cell/redact.h"
#include "explore/chars.h"
#include "ops/explore_call.h"
#include "ops/toolbox_call.h"
#include "session/session.h"
#include "wire/json.h"

enum {
    SUMMARY_READ_CHARS = 20000, /* of a piece, that the model is shown: its first ones */
    SUMMARY_TOKENS = 512,       /* of what it says of it */
};

static const struct op_param explore_summaries_params[] = {
    OP_PARAM_SESSION,
    {.name = "task", .type = OP_TEXT, .max = 4000, .doc = "What the summaries are for."},
    {.name = "n_chunks",
     .type = OP_INT,
     .min = 1,
     .max = CHUNKS_MAX,
     .doc = "How many pieces; default 4."},
    {.name = "overlap",
     .type = OP_INT,
     .max = CHUNKS_OVERLAP_MAX,
     .doc = "How many characters two of them share; default 200."},
    OP_PARAM_CONTEXT,
    OP_PARAM_TEXT_FILE,
    OP_PARAM_QUIET,
    {0},
};

/* ---- the answer ------------------------------------------------------------------------------ */

#define SUMMARIES_COUNTED "what is said of each piece was counted, no model has read it"

static void explore_summaries_reply(struct call *call, json_t *chunks, const char *note)
{
    _buf_ struct buf query = BUF_INIT(KIB * 16), found = BUF_INIT(KIB * 256);
    struct session *session = explore_call_session(call);
    json_t *chunk;
    size_t i;
    if (session == NULL)
        return;
    json_array_foreach(chunks, i, chunk)
        buf_printf(&found, "%s%s", i > 0 ? "\n" : "",
                   json_string_value(json_object_get(chunk, "summary")));
    buf_printf(&query, "task='%s', n_chunks=%lld%s", call_text(call, "task", ""),
               (long long)call_int(call, "n_chunks", CHUNKS_DEFAULT), explore_call_place(call));
    explore_call_note(call, session, "summarize_chunks", buf_str(&query), buf_str(&found),
                      found.len);
    explore_call_reply(call, 200, json_pack("{s:O, s:s}", "chunks", chunks, "note", note));
}

static void explore_summaries_count(struct call *call, json_t *chunks, const char *why)
{
    char note[sizeof(((struct err *)0)->message) + 256];
    json_t *chunk;
    size_t i;
    json_array_foreach(chunks, i, chunk) {
        json_object_del(chunk, "text");
        json_object_del(chunk, "is_cut");
        json_object_set_new(
            chunk, "summary",
            json_sprintf("[no model] chars %lld-%lld, %lld lines, begins: %s",
                         (long long)json_integer_value(json_object_get(chunk, "start")),
                         (long long)json_integer_value(json_object_get(chunk, "end")),
                         (long long)json_integer_value(json_object_get(chunk, "line_count")),
                         json_string_value(json_object_get(chunk, "first_line"))));
    }
    snprintf(note, sizeof(note), "%s: %s", why, SUMMARIES_COUNTED);
    explore_summaries_reply(call, chunks, note);
}

/* ---- by the model ---------------------------------------------------------------------------- */

/* A call that asks the model, inside of the call for summaries; in the arena of that one. */
struct explore_summaries {
    struct call *call;
    struct call inner; /* of llm_batch */
    json_t *chunks;
};

static struct explore_summaries *explore_summaries_of(struct call *inner)
{
    return CONTAINER_OF(inner, struct explore_summaries, inner);
}

/* The inner call is over; the caller owns the pieces. */
static json_t *explore_summaries_end(struct explore_summaries *s)
{
    s->call->on_gone = NULL;
    json_decref(s->inner.args);
    arena_free(&s->inner.arena);
    return take_ptr(s->chunks);
}

static void explore_summaries_on_reply(struct call *inner, int http_status, const struct buf *json)
{
    struct explore_summaries *s = explore_summaries_of(inner);
    struct err e;
    _json_ json_t *told = NULL;
    (void)http_status;
    int r = json_read_object(json->data, json->len, &told, &e);
    const json_t *said = json_object_get(told, "result");
    _json_ json_t *chunks = explore_summaries_end(s);
    json_t *chunk;
    size_t i;
    if (r < 0 || json_array_size(said) != json_array_size(chunks)) {
        explore_summaries_count(s->call, chunks, "the model did not answer to all of them");
        return;
    }
    json_array_foreach(chunks, i, chunk) {
        size_t shown = 0;
        const json_t *text = json_object_get(chunk, "text");
        chars_prefix(json_string_value(text), json_string_length(text), SIZE_MAX, &shown);
        json_object_set_new(chunk, "read_chars", json_integer((json_int_t)shown));
        json_object_del(chunk, "text");
        json_object_del(chunk, "is_cut");
        json_object_set(chunk, "summary", json_array_get(said, i));
    }
    explore_summaries_reply(s->call, chunks,
                            "by the model of the configuration, which has read the first "
                            "read_chars characters of each piece");
}

static void explore_summaries_on_fail(struct call *inner, const struct err *e)
{
    struct explore_summaries *s = explore_summaries_of(inner);
    struct err kept = *e;
    _json_ json_t *chunks = explore_summaries_end(s);
    explore_summaries_count(s->call, chunks, kept.message);
}

static const struct call_sink explore_summaries_sink = {.reply = explore_summaries_on_reply,
                                                        .fail = explore_summaries_on_fail};

static void explore_summaries_on_gone(struct call *call)
{
    struct explore_summaries *s = call->op_state;
    if (s->inner.on_gone != NULL)
        s->inner.on_gone(&s->inner);
    json_decref(explore_summaries_end(s));
}

/* What the model is asked of a piece. Credentials are not its business. */
static json_t *explore_summaries_prompt(const struct call *call, const struct session *session,
                                        const json_t *chunk, size_t n)
{
    const char *task = call_text(call, "task", NULL);
    const json_t *text = json_object_get(chunk, "text");
    _buf_ struct buf prompt = BUF_INIT(SIZE_MAX / 4), safe = BUF_INIT(SIZE_MAX / 4);
    buf_printf(&prompt,
               "Summarize a part of a longer text in at most 10 lines: part %lld of %zu, its "
               "characters %lld to %lld.\n",
               (long long)json_integer_value(json_object_get(chunk, "index")) + 1, n,
               (long long)json_integer_value(json_object_get(chunk, "start")),
               (long long)json_integer_value(json_object_get(chunk, "end")));
    if (task != NULL)
        buf_printf(&prompt, "What it is for: %s\n", task);
    if (json_is_true(json_object_get(chunk, "is_cut")))
        buf_append_str(&prompt, "Only its beginning is shown.\n");
    buf_append_char(&prompt, '\n');
    buf_append(&prompt, json_string_value(text), json_string_length(text));
    bool has_secrets =
        exploring_redacts(session) && redact_text(buf_str(&prompt), prompt.len, &safe) > 0;
    const struct buf *sent = has_secrets ? &safe : &prompt;
    return json_stringn(buf_str(sent), sent->len);
}

static void explore_summaries_ask(struct call *call, const struct session *session, json_t *chunks)
{
    struct explore_summaries *s = arena_alloc(&call->arena, sizeof(*s));
    json_t *prompts = json_array(), *chunk;
    size_t i;
    json_array_foreach(chunks, i, chunk)
        json_array_append_new(
            prompts, explore_summaries_prompt(call, session, chunk, json_array_size(chunks)));
    json_t *args = json_pack("{s:s, s:s, s:{s:o, s:i}, s:b, s:s}", "session_id", session->id,
                             "name", "llm_batch", "args", "prompts", prompts, "max_tokens",
                             SUMMARY_TOKENS, "whole", true, "via", "llm_batch");
    *s = (struct explore_summaries){.call = call, .chunks = json_incref(chunks)};
    s->inner = (struct call){.op = &op_toolbox_call,
                             .engine = call->engine,
                             .policy = call->policy,
                             .documents = call->documents,
                             .boxes = call->boxes,
                             .agent = call->agent,
                             .args = args,
                             .body_bytes = -1,
                             .sink = &explore_summaries_sink};
    call->op_state = s;
    call->on_gone = explore_summaries_on_gone;
    op_run(&s->inner);
}

/* ---- the operation --------------------------------------------------------------------------- */

static bool explore_summaries_has_model(const struct call *call, const struct session *session)
{
    const struct tool_entry *entry = toolbox_find("llm_batch");
    return entry != NULL && entry->maker == TOOLBOX_LLM &&
           toolbox_rules_allow(call, session, entry);
}

static void explore_summaries_on_done(void *context, json_t *result)
{
    struct call *call = context;
    const struct session *session = explore_call_session(call);
    json_t *chunks = json_object_get(result, "chunks");
    if (session == NULL)
        return;
    bool is_empty =
        json_integer_value(json_object_get(json_array_get(chunks, 0), "char_count")) == 0;
    if (explore_summaries_has_model(call, session) && !is_empty)
        explore_summaries_ask(call, session, chunks);
    else
        explore_summaries_count(call, chunks,
                                is_empty ? "the text is empty" : "no model is configured");
}

static const struct explore_listener explore_summaries_listener = {
    .on_done = explore_summaries_on_done, .on_failed = explore_call_failed};

static void explore_summaries_run(struct call *call)
{
    const struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    explore_call_ask(call,
                     json_pack("{s:s, s:I, s:I, s:b, s:b, s:i}", "op", "chunk", "n_chunks",
                               (json_int_t)call_int(call, "n_chunks", CHUNKS_DEFAULT), "overlap",
                               (json_int_t)call_int(call, "overlap", CHUNKS_OVERLAP),
                               "is_described", true, "has_text",
                               explore_summaries_has_model(call, session), "text_chars",
                               SUMMARY_READ_CHARS),
                     &explore_summaries_listener);
}

static const struct op_member explore_summary_members[] = {
    {"index", OP_INT, .is_always = true, .doc = "Which one, from 0."},
    {"start", OP_INT, .is_always = true, .doc = "How many characters come before."},
    {"end", OP_INT, .is_always = true, .doc = "Where it ends, likewise."},
    {"char_count", OP_INT, .is_always = true, .doc = "How many characters it has."},
    {"line_count", OP_INT, .is_always = true, .doc = "How many lines."},
    {"first_line", OP_TEXT, .is_always = true,
     .doc = "The first that is not empty; its beginning."},
    {"read_chars", OP_INT, .doc = "How many the model has read: the first ones."},
    {"summary", OP_TEXT, .is_always = true,
     .doc = "What the model says; without one, all of that."},
    {0},
};
static const struct op_shape shape_summary = {"chunk_summary", explore_summary_members,
                                              "What is known of a piece of a text."};
static const struct op_member explore_summaries_members[] = {
    {"chunks", OP_LIST, .is_always = true, .shape = &shape_summary, .doc = "The pieces, in order."},
    {"note", OP_TEXT, .is_always = true, .doc = "What the summaries are made by."},
    {0},
};
static const struct op_shape shape_summaries = {"chunk_summaries", explore_summaries_members,
                                                "A text in pieces, each with what it is."};

const struct op op_explore_summarize_chunks = {
    .name = "explore.summarize_chunks",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/summaries",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_summaries_params,
    .doc = "Divides a text as explore.chunks does and says of each piece where it lies, how many "
           "lines it has and how it begins; the model of the configuration (toolbox.llm) says what "
           "is in it.",
    .run = explore_summaries_run,
    .result = &shape_summaries,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$explored\", \"n_chunks\": 2}",
};
