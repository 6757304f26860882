/* Where a session works and what its environment holds besides: checked here, told to the driver
 * before the first cell. */
#pragma once

#include "session/session.h"

enum {
    SETUP_ENV_MAX = 256,         /* variables */
    SETUP_ENV_BYTES = 64 * 1024, /* names and values together */
};

/* Checks both and writes the directory as an absolute path without "." and "..". */
int setup_check(const struct session_request *request, char ret_cwd[SESSION_CWD_SIZE],
                struct err *e);
/* Tells the driver if there is something to tell; false if there is not. */
bool setup_begin(struct session *session);
