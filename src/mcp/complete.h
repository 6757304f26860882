/* completion/complete: names of sessions, where an argument wants one. */
#pragma once

#include "mcp/request.h"

void complete(struct mcp_request *rq);
