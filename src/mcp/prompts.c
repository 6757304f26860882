/* Prompts that teach a model the working style. Daemon; owns nothing. */
#include "mcp/prompts.h"

#include <string.h>

enum { PROMPTS_TTL_MS = 300 * 1000, PROMPTS_ARGUMENTS = 2, PROMPTS_VALUE_MAX = 8192 };

struct prompt_argument {
    const char *name; /* NULL behind the last one */
    const char *doc;
    bool is_required;
};

struct prompt {
    const char *name;
    const char *doc;
    struct prompt_argument arguments[PROMPTS_ARGUMENTS + 1];
    const char *text; /* $NAME stands for an argument */
};

static const struct prompt prompts[] = {
    {"explore_data",
     "Look at data step by step in a live session.",
     {{"source", "A file in /workspace, or where the data comes from", true},
      {"question", "What to find out", false}},
     "Explore $source in one live session. $question\n"
     "Load it once and keep it in a variable: sessions remember everything. First look at shape, "
     "types, missing values and a few rows, then one question per run. End each cell with an "
     "expression instead of printing whole tables; plot what is easier to see than to read. Check "
     "a surprising result a second way before you report it. Undo (back) a cell that spoiled the "
     "data instead of loading it again."},
    {"recover_cell",
     "Find out why a cell failed, and go on without losing state.",
     {{"error", "The error or what went wrong", false},
      {"session", "The session, by its name", false}},
     "A cell failed. $error $session\n"
     "Nothing is lost: what ran before is still there, and after a crash the session is back at "
     "the state before the cell. Read the last lines of the traceback, then look at the names "
     "involved (look) instead of running everything again. If the cell changed things halfway, "
     "undo it (back) first. Try the smallest repair in a trial (back: try), keep it if it works, "
     "drop it if not. If it was too slow or too large, run it on a sample."},
    {"compare_branches",
     "Try several ways from one state and keep the best.",
     {{"goal", "What the ways should reach", true}, {"ways", "The ways to compare", false}},
     "Compare ways to reach: $goal. $ways\n"
     "Prepare the common state once, then branch the session (back: branch), one branch for each "
     "way: each is a full copy with its own variables and files. Run one way in each, measure all "
     "of them by the same expression, and say the numbers side by side. Go on in the best branch; "
     "the others can be left."},
};

static const struct prompt *prompts_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(prompts); i++)
        if (strcmp(prompts[i].name, name) == 0)
            return &prompts[i];
    return NULL;
}

bool prompts_takes_session(const char *prompt, const char *argument)
{
    return prompts_find(prompt) != NULL && strcmp(argument, "session") == 0;
}

static void prompts_put(struct json_out *json, const struct prompt *p)
{
    json_put_object(json);
    json_put_member_str(json, "name", p->name);
    json_put_member_str(json, "description", p->doc);
    json_put_key(json, "arguments");
    json_put_array(json);
    for (const struct prompt_argument *a = p->arguments; a->name != NULL; a++) {
        json_put_object(json);
        json_put_member_str(json, "name", a->name);
        json_put_member_str(json, "description", a->doc);
        json_put_member_true(json, "required", a->is_required);
        json_put_object_end(json);
    }
    json_put_array_end(json);
    json_put_object_end(json);
}

void prompts_list(struct mcp_request *rq)
{
    if (!request_check_cursor(rq))
        return;
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "prompts");
    json_put_array(&json);
    for (size_t i = 0; i < ARRAY_LEN(prompts); i++)
        prompts_put(&json, &prompts[i]);
    if (rq->mcp->more != NULL)
        rq->mcp->more->list(rq->mcp, "prompts", &json);
    json_put_array_end(&json);
    request_put_hints(rq, &json, PROMPTS_TTL_MS);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

/* The text with the values of its arguments; what was not given is left out. */
static void prompts_fill(const struct prompt *p, const json_t *values, struct buf *out)
{
    for (const char *at = p->text; *at != '\0';) {
        const struct prompt_argument *a = p->arguments;
        while (*at == '$' && a->name != NULL && strncmp(at + 1, a->name, strlen(a->name)) != 0)
            a++;
        if (*at != '$' || a->name == NULL) {
            buf_append_char(out, *at++);
            continue;
        }
        const char *value = rpc_text(values, a->name);
        buf_append_str(out, value != NULL ? value : "");
        at += 1 + strlen(a->name);
    }
}

void prompts_get(struct mcp_request *rq)
{
    const char *name = rpc_text(rq->params, "name");
    const json_t *values = json_object_get(rq->params, "arguments");
    const struct prompt *p = prompts_find(name);
    if (p == NULL) {
        request_fail(rq, RPC_INVALID_PARAMS, "there is no prompt \"%.128s\": see prompts/list",
                     name != NULL ? name : "");
        return;
    }
    for (const struct prompt_argument *a = p->arguments; a->name != NULL; a++) {
        const json_t *value = json_object_get(values, a->name);
        if ((value == NULL && a->is_required) || (value != NULL && !json_is_string(value)) ||
            json_string_length(value) > PROMPTS_VALUE_MAX) {
            request_fail(rq, RPC_INVALID_PARAMS,
                         "the argument %s must be a text of at most %d bytes", a->name,
                         PROMPTS_VALUE_MAX);
            return;
        }
    }
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    prompts_fill(p, values, &text);
    request_reply_json(rq, json_pack("{s:s,s:[{s:s,s:{s:s,s:s}}]}", "description", p->doc,
                                     "messages", "role", "user", "content", "type", "text", "text",
                                     buf_str(&text)));
}
