/* Prompts: how to work with live sessions, in a few sentences each. */
#pragma once

#include "mcp/request.h"

void prompts_list(struct mcp_request *rq);
void prompts_get(struct mcp_request *rq);
/* The argument is a session's name. */
bool prompts_takes_session(const char *prompt, const char *argument);
