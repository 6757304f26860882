/* explore.grep: lines that match, as many as the answer holds. Daemon; on the loop; the search runs
 * in the session's box. */
#include "cell/redact.h"
#include "explore/chars.h"
#include "ops/explore_call.h"
#include "session/session.h"
#include "wire/json.h"

enum { GREP_MAX = 1000, GREP_AROUND = 2, GREP_AROUND_MAX = 50 };

static const struct op_param explore_grep_params[] = {
    OP_PARAM_SESSION,
    {.name = "pattern",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = 64 * 1024,
     .doc = "A regular expression, as PCRE has them; upper and lower case are the same."},
    {.name = "context_lines",
     .type = OP_INT,
     .max = GREP_AROUND_MAX,
     .doc = "How many lines around each match are shown; default 2."},
    {.name = "max_results",
     .type = OP_INT,
     .min = 1,
     .max = GREP_MAX,
     .doc = "How many matches at most; default: max_grep_results of the configuration, 100."},
    {.name = "literal",
     .type = OP_BOOL,
     .doc = "The pattern is a text that is looked for as it is."},
    {.name = "case", .type = OP_BOOL, .doc = "Upper and lower case are not the same."},
    OP_PARAM_CONTEXT,
    OP_PARAM_TEXT_FILE,
    OP_PARAM_QUIET,
    {0},
};

static int64_t explore_grep_most(const struct call *call)
{
    return call_int(call, "max_results", explore_call_settings(call)->max_grep_results);
}

static void explore_grep_put_line(json_t *lines, int64_t number, char mark, const json_t *text)
{
    json_array_append_new(
        lines, json_sprintf("%lld%c %s", (long long)number, mark, json_string_value(text)));
}

/* As grep writes them: "12: match", "11- before it", "--" between what is not side by side. Lines
 * around two matches are shown once. */
static void explore_grep_put_lines(json_t *lines, const json_t *hits)
{
    int64_t shown = 0; /* the last line that is */
    for (size_t i = 0; i < json_array_size(hits); i++) {
        const json_t *hit = json_array_get(hits, i);
        const json_t *before = json_object_get(hit, "before"),
                     *after = json_object_get(hit, "after");
        int64_t number = json_integer_value(json_object_get(hit, "line"));
        int64_t next =
            i + 1 < json_array_size(hits)
                ? json_integer_value(json_object_get(json_array_get(hits, i + 1), "line"))
                : INT64_MAX;
        int64_t first = number - (int64_t)json_array_size(before);
        bool has_around = json_array_size(before) + json_array_size(after) > 0;
        if (shown > 0 && first > shown + 1 && has_around)
            json_array_append_new(lines, json_string("--"));
        for (size_t k = 0; k < json_array_size(before); k++)
            if (first + (int64_t)k > shown)
                explore_grep_put_line(lines, first + (int64_t)k, '-', json_array_get(before, k));
        explore_grep_put_line(lines, number, ':', json_object_get(hit, "text"));
        shown = number;
        for (size_t k = 0; k < json_array_size(after) && shown + 1 < next; k++)
            explore_grep_put_line(lines, ++shown, '-', json_array_get(after, k));
    }
}

/* Lines as one text. */
static void explore_grep_join(const json_t *lines, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        buf_append(out, json_string_value(line), json_string_length(line));
        buf_append_char(out, '\n');
    }
}

/* The match with the lines around it; if they are long, with what stands next to it. */
static json_t *explore_grep_surroundings(const json_t *hit)
{
    enum { BEFORE_MAX = 250, ALL_MAX = 1000 };
    _buf_ struct buf before = BUF_INIT(MIB), all = BUF_INIT(2 * MIB);
    const json_t *text = json_object_get(hit, "text");
    size_t chars, ignored;
    explore_grep_join(json_object_get(hit, "before"), &before);
    chars_prefix(buf_str(&before), before.len, SIZE_MAX, &chars);
    size_t skip = chars > BEFORE_MAX
                      ? chars_prefix(buf_str(&before), before.len, chars - BEFORE_MAX, &ignored)
                      : 0;
    buf_append(&all, buf_str(&before) + skip, before.len - skip);
    buf_append(&all, json_string_value(text), json_string_length(text));
    if (json_array_size(json_object_get(hit, "after")) > 0)
        buf_append_char(&all, '\n');
    explore_grep_join(json_object_get(hit, "after"), &all);
    size_t len = chars_prefix(buf_str(&all), all.len, ALL_MAX, &ignored);
    return json_stringn(buf_str(&all), len - (len > 0 && all.data[len - 1] == '\n'));
}

/* What was found last, for those who want it in parts: at most a few, none of them long. */
static json_t *explore_grep_buffer(const struct call *call, const struct session *session,
                                   const json_t *result)
{
    json_t *kept = json_array();
    const json_t *hits = json_object_get(result, "hits");
    for (size_t i = 0; i < MIN(json_array_size(hits), (size_t)20); i++) {
        const json_t *hit = json_array_get(hits, i);
        json_array_append_new(kept,
                              json_pack("{s:O, s:O, s:o}", "line_num", json_object_get(hit, "line"),
                                        "match", json_object_get(hit, "text"), "context",
                                        explore_grep_surroundings(hit)));
    }
    const char *path = call_text(call, "file_path", NULL);
    json_t *buffer =
        json_pack("{s:s, s:s, s:O, s:o}", "pattern", call_text(call, "pattern", ""), "source",
                  path != NULL ? path : call_text(call, "context", EXPLORING_CONTEXT),
                  "match_count", json_object_get(result, "count"), "hits", kept);
    if (exploring_redacts(session))
        redact_output(buffer);
    return buffer;
}

static void explore_grep_on_done(void *context, json_t *result)
{
    struct call *call = context;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    json_t *lines = json_array();
    explore_grep_put_lines(lines, json_object_get(result, "hits"));
    bool is_cut = json_is_true(json_object_get(result, "is_cut"));
    if (is_cut)
        json_array_append_new(
            lines, json_sprintf("[... truncated at %lld results]",
                                (long long)json_integer_value(json_object_get(result, "count"))));
    _buf_ struct buf query = BUF_INIT(KIB * 128), found = BUF_INIT(KIB * 64);
    buf_printf(&query, "pattern='%s'%s", call_text(call, "pattern", ""), explore_call_place(call));
    for (size_t i = 0; i < json_array_size(lines) && !found.overflowed; i++)
        buf_printf(&found, "%s%s", i > 0 ? "\n" : "", json_string_value(json_array_get(lines, i)));
    if (json_array_size(lines) == 0)
        buf_append_str(&found, "No matches");
    if (!call_bool(call, "quiet", false))
        exploring_set(session, "hits", explore_grep_buffer(call, session, result));
    explore_call_note(call, session, "grep", buf_str(&query), buf_str(&found), found.len);
    explore_call_reply(call, 200,
                       json_pack("{s:o, s:O, s:b}", "lines", lines, "count",
                                 json_object_get(result, "count"), "truncated", is_cut));
}

static const struct explore_listener explore_grep_listener = {.on_done = explore_grep_on_done,
                                                              .on_failed = explore_call_failed};

/* grep(path, pattern), as some write it: if the path is that of a cell's output, nothing else can
 * be meant. */
static void explore_grep_turn(struct call *call, const struct session *session)
{
    const json_t *output = NULL;
    struct err ignored;
    const char *path = call_text(call, "file_path", NULL);
    if (path == NULL || exploring_find_spill(session, path, &output, &ignored) ||
        !exploring_find_spill(session, call_text(call, "pattern", ""), &output, &ignored))
        return;
    _json_ json_t *pattern = json_incref(json_object_get(call->args, "file_path"));
    json_object_set(call->args, "file_path", json_object_get(call->args, "pattern"));
    json_object_set(call->args, "pattern", pattern);
}

static void explore_grep_run(struct call *call)
{
    const struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    explore_grep_turn(call, session);
    json_t *request = json_pack(
        "{s:s, s:s, s:I, s:I, s:b, s:b}", "op", "grep", "pattern", call_text(call, "pattern", ""),
        "context_lines", (json_int_t)call_int(call, "context_lines", GREP_AROUND), "max_results",
        (json_int_t)explore_grep_most(call), "is_literal", call_bool(call, "literal", false),
        "is_cased", call_bool(call, "case", false));
    explore_call_ask(call, request, &explore_grep_listener);
}

static const struct op_member explore_grep_members[] = {
    {"lines", OP_TEXT_LIST, .is_always = true,
     .doc = "Matches as `12: text`, the lines around them as `11- text`."},
    {"count", OP_INT, .is_always = true, .doc = "How many matches are shown."},
    {"truncated", OP_BOOL, .is_always = true, .doc = "There are more."},
    {0},
};
static const struct op_shape shape_grep = {"grep", explore_grep_members, "Lines that match."};

static const struct op_verb explore_grep_verb = {
    .words = "grep",
    .takes = (const char *const[]){"session_id", "pattern", "file_path?", NULL},
    .summary = "search a context, or a file, for a regular expression",
    .examples = "cella grep 0b9c 'error|failed'\n"
                "cella grep 0b9c 'user \\d+' logs/today.txt --context-lines 0",
};

const struct op op_explore_grep = {
    .name = "explore.grep",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/grep",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_grep_params,
    .doc =
        "Searches a context, or a file of the workspace, for a regular expression, line by line.",
    .run = explore_grep_run,
    .result = &shape_grep,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$explored\", \"pattern\": \"error\"}",
    .verb = &explore_grep_verb,
};
