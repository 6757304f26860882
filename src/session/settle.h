/* The one decision: what a session does next. */
#pragma once

#include "session/session.h"

/* To be called after everything that happens to a session; files that settle.c depends on call
 * session_changed instead. Not recursive: within itself it only leaves word to look again. */
void session_settle(struct session *session);
