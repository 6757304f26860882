/* Questions to the client, in the manner of its era: requests of ours on its stream, or an answer
 * that says what is wanted, after which the client asks again. */
#pragma once

#include "mcp/request.h"

enum { ASK_WAIT_MS = 3600 * 1000 }; /* then a question counts as refused */

/* Asks {key: {method, params}}, which is taken. on_answers follows when all have come. In the
 * modern era the request ends with this; `state` comes back with the client's next one (see
 * ask_resume). */
void ask(struct mcp_request *rq, json_t *questions, const json_t *state,
         request_answers_fn on_answers);
/* A response of the client to one of ours. False if nothing was asked. */
bool ask_on_response(struct mcp_peer *peer, const struct rpc_message *message);
/* Answers that came with a task's update. */
void ask_on_update(struct mcp_request *rq, const json_t *answers);

/* The modern way back: what a request brings of an earlier one. False if it was answered with an
 * error. `ret_state` (owned) and `ret_answers` (borrowed) are NULL if it brings none. */
bool ask_resume(struct mcp_request *rq, json_t **ret_state, const json_t **ret_answers);

/* A line for a cell, as a question. */
json_t *ask_for_line(const char *prompt);
