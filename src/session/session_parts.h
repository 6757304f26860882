/* What the files of a session share. session.c has its states, its alarm and its end,
 * session_make.c its beginning, session_head.c what its interpreter says. */
#pragma once

#include "session/session.h"

void session_on_alarm(void *context); /* of its timer */
/* Why it ends; the first reason counts. `detail` may be NULL. */
void session_note_ending(struct session *session, enum death_wish wish, const char *detail);
/* Who asked for it hears that it started, or died. */
void session_tell_starter(struct session *session);
/* It lives; it may have to be told where and how. */
void session_entered(struct session *session);
