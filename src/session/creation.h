/* How sessions come about; session_create and session_revive are in session.h. */
#pragma once

#include "session/session.h"

/* At the start: all that the store knows. */
int creation_load_all(struct engine *engine, struct err *e);
