/* The profiles that exist without any configuration. They run the configured interpreter, so their
 * `python` is NULL here. */
#pragma once

#include "policy/config.h"

extern const struct config_profile profiles_built_in[];
extern const size_t profiles_n_built_in;
