/* Completions of arguments. Daemon, on the loop; owns nothing. */
#include "mcp/complete.h"

#include "mcp/prompts.h"
#include "ops/ops.h"
#include "session/session.h"

enum { COMPLETE_MAX = 100 }; /* as the protocol says */

void complete(struct mcp_request *rq)
{
    const json_t *ref = json_object_get(rq->params, "ref");
    const json_t *argument = json_object_get(rq->params, "argument");
    const char *type = rpc_text(ref, "type"), *name = rpc_text(argument, "name");
    const char *start = rpc_text(argument, "value");
    if (type == NULL || name == NULL || start == NULL ||
        (strcmp(type, "ref/prompt") != 0 && strcmp(type, "ref/resource") != 0)) {
        request_fail(rq, RPC_INVALID_PARAMS,
                     "ref must be a ref/prompt or a ref/resource, argument have name and value");
        return;
    }
    json_t *values = json_array();
    json_int_t total = 0;
    const char *uri = rpc_text(ref, "uri"), *prompt = rpc_text(ref, "name");
    bool wants_session =
        strcmp(type, "ref/prompt") == 0
            ? prompt != NULL && prompts_takes_session(prompt, name)
            : uri != NULL && strcmp(name, "session") == 0 && strstr(uri, "{session}") != NULL;
    const struct call call = {.agent = rq->agent};
    struct engine *engine = rq->mcp->config.engine;
    struct session *s = wants_session ? session_next(engine, NULL) : NULL;
    for (; s != NULL; s = session_next(engine, s)) {
        const char *shown = s->name != NULL ? s->name : s->id;
        if (s->is_unlisted || !call_sees(&call, s->agent) ||
            strncmp(shown, start, strlen(start)) != 0)
            continue;
        if (json_array_size(values) < COMPLETE_MAX)
            json_array_append_new(values, json_string(shown));
        total++;
    }
    bool has_more = total > (json_int_t)json_array_size(values);
    request_reply_json(rq, json_pack("{s:{s:o,s:I,s:b}}", "completion", "values", values, "total",
                                     total, "hasMore", has_more));
}
