/* Completions of arguments: names of sessions at once, cells and files by the operations that list
 * them. Daemon, on the loop; owns nothing. */
#include "mcp/complete.h"

#include "mcp/prompts.h"
#include "ops/ops.h"
#include "session/session.h"

#include <stdio.h>
#include <string.h>

enum { COMPLETE_MAX = 100 }; /* as the protocol says */

static const char *complete_start(const struct mcp_request *rq)
{
    return rpc_text(json_object_get(rq->params, "argument"), "value");
}

/* `total` is how many there are of which `values` has the first; the reference is taken. */
static void complete_reply(struct mcp_request *rq, json_t *values, json_int_t total)
{
    bool has_more = total > (json_int_t)json_array_size(values);
    request_reply_json(rq, json_pack("{s:{s:o,s:I,s:b}}", "completion", "values", values, "total",
                                     total, "hasMore", has_more));
}

/* Counts what begins as the value does; keeps the first. */
static void complete_add(json_t *values, json_int_t *total, const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0)
        return;
    if (json_array_size(values) < COMPLETE_MAX)
        json_array_append_new(values, json_string(text));
    (*total)++;
}

static void complete_sessions(struct mcp_request *rq)
{
    const struct call call = {.agent = rq->agent};
    struct engine *engine = rq->mcp->config.engine;
    json_t *values = json_array();
    json_int_t total = 0;
    for (struct session *s = session_next(engine, NULL); s != NULL; s = session_next(engine, s))
        if (!s->is_unlisted && call_sees(&call, s->agent))
            complete_add(values, &total, s->name != NULL ? s->name : s->id, complete_start(rq));
    complete_reply(rq, values, total);
}

/* ---- what another operation knows ------------------------------------------------------------ */

/* No such session, or it cannot be asked now: nothing is offered. */
static void complete_on_fail(struct mcp_request *rq, const struct err *e)
{
    (void)e;
    complete_reply(rq, json_array(), 0);
}

static void complete_on_cells(struct mcp_request *rq, int status, const struct buf *json)
{
    json_t *values = json_array(), *answer = json_loadb(buf_str(json), json->len, 0, NULL);
    json_int_t total = 0, n = json_integer_value(json_object_get(answer, "count"));
    (void)status;
    for (json_int_t i = 0; i < n; i++) {
        char number[24];
        snprintf(number, sizeof(number), "%lld", (long long)i);
        complete_add(values, &total, number, complete_start(rq));
    }
    json_decref(answer);
    complete_reply(rq, values, total);
}

/* A folder ends with a slash, so that one goes on in it. */
static void complete_on_files(struct mcp_request *rq, int status, const struct buf *json)
{
    json_t *values = json_array(), *answer = json_loadb(buf_str(json), json->len, 0, NULL), *entry;
    json_int_t total = 0;
    size_t i;
    (void)status;
    json_array_foreach(json_object_get(answer, "entries"), i, entry) {
        const char *path = rpc_text(entry, "path"), *type = rpc_text(entry, "type");
        bool is_folder = type != NULL && strcmp(type, "folder") == 0;
        if (path != NULL)
            complete_add(values, &total,
                         arena_printf(&rq->arena, "%s%s", path, is_folder ? "/" : ""),
                         complete_start(rq));
    }
    if (json_object_get(answer, "next") != NULL)
        total++; /* at least one that was not looked at */
    json_decref(answer);
    complete_reply(rq, values, total);
}

static void complete_by(struct mcp_request *rq, const char *op_name, json_t *args,
                        void (*on_reply)(struct mcp_request *, int, const struct buf *))
{
    struct err e;
    const struct op *op = op_find(op_name);
    rq->on_reply = on_reply;
    rq->on_fail = complete_on_fail;
    if (op_check(op, args, &e) == 0) {
        request_call(rq, op, args, false);
        return;
    }
    json_decref(args);
    complete_on_fail(rq, &e);
}

/* What a template of ours needs beside the session, which the client has chosen before. */
static void complete_of_session(struct mcp_request *rq, const char *name)
{
    const json_t *context = json_object_get(rq->params, "context");
    const char *session = rpc_text(json_object_get(context, "arguments"), "session");
    const char *start = complete_start(rq), *slash = strrchr(start, '/');
    json_t *args = json_object();
    if (session == NULL) {
        json_decref(args);
        complete_reply(rq, json_array(), 0);
        return;
    }
    json_object_set_new(args, "session_id", json_string(session));
    if (strcmp(name, "cell") == 0) {
        json_object_set_new(args, "limit", json_integer(1));
        complete_by(rq, "cell.list", args, complete_on_cells);
        return;
    }
    if (slash != NULL)
        json_object_set_new(args, "path", json_stringn(start, (size_t)(slash - start)));
    complete_by(rq, "session.file_list", args, complete_on_files);
}

void complete(struct mcp_request *rq)
{
    const json_t *ref = json_object_get(rq->params, "ref");
    const char *type = rpc_text(ref, "type");
    const char *name = rpc_text(json_object_get(rq->params, "argument"), "name");
    const char *uri = rpc_text(ref, "uri"), *prompt = rpc_text(ref, "name");
    if (type == NULL || name == NULL || complete_start(rq) == NULL ||
        (strcmp(type, "ref/prompt") != 0 && strcmp(type, "ref/resource") != 0)) {
        request_fail(rq, RPC_INVALID_PARAMS,
                     "ref must be a ref/prompt or a ref/resource, argument have name and value");
        return;
    }
    bool is_prompt = strcmp(type, "ref/prompt") == 0, is_ours = !is_prompt && uri != NULL;
    bool wants_session =
        is_prompt ? prompt != NULL && prompts_takes_session(prompt, name)
                  : is_ours && strcmp(name, "session") == 0 && strstr(uri, "{session}") != NULL;
    bool wants_more = is_ours && ((strcmp(name, "cell") == 0 && strstr(uri, "{cell}") != NULL) ||
                                  (strcmp(name, "path") == 0 && strstr(uri, "{+path}") != NULL));
    if (wants_session)
        complete_sessions(rq);
    else if (wants_more)
        complete_of_session(rq, name);
    else
        complete_reply(rq, json_array(), 0);
}
