/* Tasks: calls whose answer the client fetches later (extension io.modelcontextprotocol/tasks). */
#pragma once

#include "mcp/request.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* The request goes on as a task, with which it is answered once that is on disk; what is quicker is
 * answered as ever. False if there is no room for one. */
bool task_begin(struct mcp_request *rq);
void tasks_get(struct mcp_request *rq);
void tasks_update(struct mcp_request *rq);
void tasks_cancel(struct mcp_request *rq);
void tasks_sweep(struct mcp *mcp); /* those whose time is over */
void tasks_end_all(struct mcp *mcp);
void tasks_load(struct mcp *mcp); /* those of an earlier daemon */
/* The client has not said that it knows tasks: the answer tells it so. */
void tasks_refuse(struct mcp_request *rq);
