/* Elicitation both ways. Daemon, on the loop; owns nothing: questions are the request's. */
#include "mcp/ask.h"

#include "base/clock.h"

#include <stdio.h>

enum { ASK_ID_SIZE = 128 };

json_t *ask_for_line(const char *prompt)
{
    return json_pack("{s:s,s:{s:s,s:{s:s,s:{s:{s:s,s:s}},s:[s]}}}", "method", "elicitation/create",
                     "params", "message", prompt[0] != '\0' ? prompt : "The code waits for a line.",
                     "requestedSchema", "type", "object", "properties", "line", "type", "string",
                     "title", "Line of input", "required", "line");
}

/* ---- requests of ours ------------------------------------------------------------------------ */

static void ask_complete(struct mcp_request *rq)
{
    json_t *answers = take_ptr(rq->answers);
    loop_timer_clear(rq->timer);
    json_decref(take_ptr(rq->questions));
    rq->on_answers(rq, answers);
    json_decref(answers);
}

bool ask_on_response(struct mcp_peer *peer, const struct rpc_message *message)
{
    const char *id = json_string_value(message->id);
    struct mcp_request *rq = NULL;
    LIST_EACH(&peer->requests, node) {
        /* While they are open `answers` has the ids of our requests, too. */
        struct mcp_request *open = CONTAINER_OF(node, struct mcp_request, in_peer);
        if (rq == NULL && id != NULL && open->questions != NULL &&
            json_is_string(json_object_get(open->answers, id)))
            rq = open;
    }
    if (rq == NULL)
        return false;
    json_t *key = json_incref(json_object_get(rq->answers, id));
    json_object_del(rq->answers, id);
    json_object_del(rq->questions, json_string_value(key));
    if (message->result != NULL)
        json_object_set(rq->answers, json_string_value(key), message->result);
    json_decref(key);
    if (json_object_size(rq->questions) == 0)
        ask_complete(rq);
    return true;
}

/* ---- answers that ask ------------------------------------------------------------------------ */

static struct seal_bond ask_bond(const struct mcp_request *rq)
{
    return (struct seal_bond){.agent = rq->agent,
                              .method = rq->method,
                              .name = rpc_text(rq->params, "name"),
                              .args = json_object_get(rq->params, "arguments")};
}

static void ask_by_result(struct mcp_request *rq, const json_t *questions, const json_t *state)
{
    json_t *result = json_pack("{s:O}", "inputRequests", questions);
    if (state != NULL) {
        struct seal_bond bond = ask_bond(rq);
        char *sealed = seal_close(&rq->mcp->seal, &bond, state, clock_mono_ms());
        if (sealed == NULL) {
            json_decref(result);
            request_fail(rq, RPC_INTERNAL_ERROR, "there is too much to remember for this request");
            return;
        }
        json_object_set_new(result, "requestState", json_string(sealed));
        free(sealed);
    }
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_value(&json, result);
    json_decref(result);
    request_reply_typed(rq, "input_required", &out);
}

void ask(struct mcp_request *rq, json_t *questions, const json_t *state,
         request_answers_fn on_answers)
{
    const char *key;
    json_t *question;
    if (rq->era == MCP_MODERN && rq->task == NULL) {
        ask_by_result(rq, questions, state);
        json_decref(questions);
        return;
    }
    if (on_answers == NULL) {
        json_decref(questions);
        request_fail(rq, RPC_INVALID_REQUEST, "this needs a client of %s", MCP_MODERN_VERSION);
        return;
    }
    rq->questions = questions;
    rq->answers = json_object();
    rq->on_answers = on_answers;
    request_after(rq, clock_scaled_ms(ASK_WAIT_MS), ask_complete);
    if (rq->task != NULL)
        return;
    json_object_foreach(questions, key, question) {
        /* The id says which request it belongs to and which of its questions it is. */
        char id[ASK_ID_SIZE];
        _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
        uint64_t number = ++rq->peer->n_asked;
        /* A late answer to a question of the daemon before is none to this one. */
        snprintf(id, sizeof(id), "cella-%.8s-%llu", rq->peer->id, (unsigned long long)number);
        json_object_set_new(rq->answers, id, json_string(key));
        const json_t *params = json_object_get(question, "params");
        rpc_put_call(&out, id, rpc_text(question, "method"),
                     params != NULL && json_object_size(params) > 0 ? params : NULL);
        if (rq->stream != NULL)
            stream_put(rq->stream, buf_str(&out), out.len);
        else if (rq->link != NULL)
            rq->link->ops->event(rq->link, NULL, buf_str(&out), out.len);
    }
}

void ask_on_update(struct mcp_request *rq, const json_t *answers)
{
    const char *key;
    json_t *answer;
    json_object_foreach((json_t *)(uintptr_t)answers, key, answer) {
        if (json_object_get(rq->questions, key) == NULL || !json_is_object(answer))
            continue;
        json_object_set(rq->answers, key, answer);
        json_object_del(rq->questions, key);
    }
    if (rq->questions != NULL && json_object_size(rq->questions) == 0)
        ask_complete(rq);
}

bool ask_resume(struct mcp_request *rq, json_t **ret_state, const json_t **ret_answers)
{
    const json_t *sealed = json_object_get(rq->params, "requestState");
    const json_t *answers = json_object_get(rq->params, "inputResponses");
    const char *why, *key;
    json_t *answer;
    *ret_state = NULL;
    *ret_answers = NULL;
    if (rq->era == MCP_LEGACY)
        return true;
    if (answers != NULL && !json_is_object(answers)) {
        request_fail(rq, RPC_INVALID_PARAMS, "inputResponses must be an object");
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)answers, key, answer) {
        if (json_is_object(answer))
            continue;
        request_fail(rq, RPC_INVALID_PARAMS, "inputResponses: each answer must be an object");
        return false;
    }
    if (sealed != NULL) {
        struct seal_bond bond = ask_bond(rq);
        if (json_is_string(sealed))
            *ret_state =
                seal_open(&rq->mcp->seal, &bond, json_string_value(sealed), clock_mono_ms(), &why);
        else
            why = "it is no text";
        if (*ret_state == NULL) {
            request_fail(rq, RPC_INVALID_PARAMS,
                         "requestState is not taken: %s; make the request again without it", why);
            return false;
        }
    }
    *ret_answers = answers;
    return true;
}
