/* The way of a cell through its session. session_exec (exec.h) accepts it. */
#pragma once

#include "session/exec.h"

/* The next cell begins, if there is one and the session is in a state for it. */
void queue_begin_next(struct session *session);
/* The calls of the running cell have been planned: its interpreter hears what came of them. */
void queue_send_planned(struct session *session);
/* The running cell has ended, with its `verdict`: it is answered, and every aspect of the session
 * hears what it did. */
void queue_conclude(struct session *session);
