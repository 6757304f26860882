/* Sessions without an interpreter: all that is left of them is on disk, and the next cell brings
 * them back. A session is suspended when it is unused, when others want its place, and by the end
 * of the daemon. */
#pragma once

#include "session/session.h"

/* The session can be brought back: it is saved, or will be as soon as it rests. */
bool suspend_is_possible(const struct session *session);
/* Suspends the session as soon as it is saved. False if it cannot be. */
bool suspend_soon(struct session *session);
/* Suspends the session if that is wanted, it rests, and all of it is saved. */
void suspend_if_wanted(struct session *session);
/* A caller that waits until a session is suspended. */
struct suspension;
/* `e` is NULL if it is suspended, and all of it that can be saved is on disk. */
typedef void (*suspension_fn)(void *context, struct session *session, const struct err *e);
/* The session must be idle. `fn` is called once, maybe before this returns; then `ret` is NULL. */
int session_suspend(struct session *session, suspension_fn fn, void *context,
                    struct suspension **ret, struct err *e);
void suspension_forget(struct suspension *suspension); /* the caller went away */
/* Brings a suspended session back without a cell. The listener may be told before this returns. */
int session_resume(struct session *session, const struct restore_listener *listener, void *context,
                   struct err *e);

/* The caller that waits for the suspension is told, if there is something to tell. */
void suspension_settle(struct session *session);
void suspension_on_unsaved(struct session *session); /* the state could not be saved */
void suspension_end(struct session *session);        /* the session is dead */

/* All processes of the session were lost; what is on disk is not. */
void suspend_after_loss(struct session *session, const char *why);
/* The interpreter ended and none could take its place: the durable copy has to wait. */
void suspend_instead(struct session *session);
/* Counts the session among the living; the caller brings it back or gives up. */
int suspend_enliven(struct session *session, struct err *e);
/* A cell came for the session. */
int suspend_wake(struct session *session, struct err *e);
/* The session could not be brought back now: it stays suspended, and waiting callers are told. */
void suspend_again(struct session *session, const char *why);

/* 0 if the candidate may live: another session was suspended for it if need be. `candidate` is NULL
 * for a session of the daemon's own. */
int session_make_place(struct engine *engine, const struct engine_candidate *candidate,
                       struct err *e);
/* Whether the candidate may live, without making place for it. */
int session_admit(struct engine *engine, const struct engine_candidate *candidate, struct err *e);
struct engine_candidate session_candidate(const struct session_request *request);
