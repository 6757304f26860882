/* session.complete: the interpreter's answer; of a busy session the names that are known. Daemon;
 * on the loop. */
#include "base/utf8.h"
#include "ops/judge_call.h"
#include "runtime/hints.h"

#include <ctype.h>

static const struct op_param session_complete_params[] = {OP_PARAM_SESSION, JUDGE_PARAMS, {0}};

static bool is_in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t byte_at(const char *text, size_t len, size_t n_characters)
{
    size_t i = 0;
    while (i < len && (n_characters > 0 || ((unsigned char)text[i] & 0xc0) == 0x80))
        n_characters -= ((unsigned char)text[i++] & 0xc0) != 0x80;
    return i;
}

/* Of a busy session: the names that it had at the end of an earlier cell. NULL if they are not
 * known, or something else than a name stands at the cursor. The caller's. */
static json_t *find_names(const struct call *call, const struct session *session)
{
    const char *code = call_text(call, "code", "");
    size_t len = call_text_len(call, "code"), i;
    size_t end = byte_at(code, len, (size_t)call_int(call, "cursor", INT32_MAX)), start = end;
    const json_t *item;
    if (session->names.known == NULL)
        return NULL;
    while (start > 0 && is_in_name(code[start - 1]))
        start--;
    if (start > 0 && code[start - 1] == '.')
        return NULL;
    json_t *matches = json_array();
    json_array_foreach(json_object_get(session->names.known, "items"), i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name != NULL && strncmp(name, code + start, end - start) == 0)
            json_array_append_new(matches, json_pack("{ss ss}", "text", name, "kind", "variable"));
    }
    return json_pack("{sI sI so sb}", "start", (json_int_t)utf8_count(code, start), "end",
                     (json_int_t)utf8_count(code, end), "matches", matches, "partial", true);
}

static void session_complete_on_told(void *context, const struct head_judgement *told,
                                     const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    if (told->hints != NULL) {
        judge_call_reply(call, told->hints);
        return;
    }
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    _json_ json_t *names = find_names(call, session);
    if (names == NULL)
        judge_call_refuse(call);
    else
        judge_call_reply(call, names);
}

static void session_complete_run(struct call *call)
{
    judge_call_ask(call, HEAD_ASKED_COMPLETIONS, false, session_complete_on_told);
}

static const struct op_member match_members[] = {
    {"text", OP_TEXT, .is_always = true, .doc = "What would stand there."},
    {"kind", OP_TEXT, .is_always = true, .doc = "What it is: variable, function, key, path."},
    {0},
};
static const struct op_shape shape_match = {"match", match_members, "A way to go on."};

static const struct op_member completions_members[] = {
    {"start", OP_INT, .is_always = true, .doc = "Where what is replaced begins, in characters."},
    {"end", OP_INT, .is_always = true, .doc = "Where it ends."},
    {"matches", OP_LIST, .is_always = true, .shape = &shape_match, .doc = "The best first."},
    {"more", OP_BOOL, .doc = "Whether there are more than are told."},
    {"partial", OP_BOOL, .doc = "Names alone: the interpreter could not be asked in full."},
    {0},
};
static const struct op_shape shape_completions = {"completions", completions_members,
                                                  "How a text could go on."};

const struct op op_session_complete = {
    .name = "session.complete",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/complete",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_complete_params,
    .doc = "Tells how a text could go on at a place: names, attributes, keys, files. Of a busy "
           "session only names are known, those after an earlier cell.",
    .run = session_complete_run,
    .result = &shape_completions,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\", \"code\": \"pri\"}",
};
