/* The end of sessions. A session that its caller ends is dismissed: what works in it is
 * asked to end (SIGTERM) and has a moment for it, then all is killed. */
#pragma once

#include "session/death.h"

struct dismissal;
struct session;

struct session_end {
    char detail[256];            /* what `ending` points to */
    bool is_beyond_rescue;       /* the session could not be brought back after `death` */
    struct dismissal *dismissal; /* the caller ends the session; else NULL */
};

/* The session is gone when `on_done` is called, maybe before this returns. `ret_dismissal` is NULL
 * then. */
void session_dismiss(struct session *session, void (*on_done)(void *context), void *context,
                     struct dismissal **ret_dismissal);
/* The caller went away: the session ends now, and no caller is told. */
void dismissal_forget(struct dismissal *dismissal);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* The interpreter of a session has ended. False if the session is not being dismissed: then that is
 * its end. */
bool dismissal_outlives_head(struct session *session);
/* Ends the session now, for the reason that `ending` has. */
void session_die(struct session *session);
/* The same for this reason, whatever it was being killed for. */
void session_end(struct session *session, enum death_wish wish);
void session_free(struct session *session); /* a dead one */
