/* Tasks: calls whose answer the client fetches later (extension io.modelcontextprotocol/tasks). */
#pragma once

#include "mcp/request.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* The request goes on as a task, with which it is answered once that is on disk; what is quicker is
 * answered as ever. False if there is no room for one. */
bool mcp_task_begin(struct mcp_request *rq);
void mcp_task_get(struct mcp_request *rq);
void mcp_task_update(struct mcp_request *rq);
void mcp_task_cancel(struct mcp_request *rq);
void mcp_tasks_sweep(struct mcp *mcp); /* those whose time is over */
void mcp_tasks_end_all(struct mcp *mcp);
void mcp_tasks_load(struct mcp *mcp); /* those of an earlier daemon */
/* The client has not said that it knows tasks: the answer tells it so. */
void mcp_task_refuse(struct mcp_request *rq);
