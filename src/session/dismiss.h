/* The end of a session that its caller wants: whoever works in it is asked to end (SIGTERM) and has
 * a moment for it, then all is killed. One in which nobody works is ended at once. */
#pragma once

#include "session/session.h"

/* The session is gone when `on_done` is called, maybe before this returns. `ret_dismissal` is NULL
 * then. */
void session_dismiss(struct session *session, void (*on_done)(void *context), void *context,
                     struct dismissal **ret_dismissal);
/* The caller went away: it ends now, and nobody is told. */
void dismissal_leave(struct dismissal *dismissal);

/* ---- for the rest of the room ------------------------------------------------------------------
 */

/* The interpreter has ended: false, that is the session's end. */
bool dismiss_outlives_head(struct session *session);
/* The session has ended, for whatever reason: whoever waits for that is told. */
void dismiss_forget(struct session *session);
