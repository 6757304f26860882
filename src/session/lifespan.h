/* Sessions that nobody uses, or that grew too old, end by themselves. One timer for all of them,
 * set to the first time that one could be due: a session that is used again moves its own time, not
 * the timer, so that using one costs nothing and an idle daemon wakes once in minutes at most. */
#pragma once

#include "session/session.h"

/* The session may be due earlier than the timer is set to. */
void lifespan_watch(struct session *session);
void lifespan_stop(struct engine *engine);
