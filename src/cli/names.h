/* A session's names as a table. */
#pragma once

#include "wire/json.h"

/* `names` is what the daemon says about them, or NULL. */
void cli_show_names(int fd, const json_t *names);
