/* What reaches a session from below: its interpreter and its timer. */
#pragma once

#include "session/session.h"

extern const struct head_listener events_head_listener;
void events_on_alarm(void *session);
