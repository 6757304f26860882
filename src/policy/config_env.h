#pragma once

#include "policy/config.h"

/* What the environment says wins over the file. */
int config_take_environment(struct config *c, struct err *e);
