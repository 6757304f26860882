/* The arguments of a call, put together from path, query and body. */
#pragma once

#include "serve/route.h"

/* One checked object; the caller owns it. A member may come from its own place only. */
int args_build(const struct route *route, const struct target *target, const struct buf *body,
               json_t **ret_args, struct err *e);
