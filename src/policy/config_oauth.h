/* The part of the configuration that says whose tokens are taken: `oauth`. */
#pragma once

#include "policy/reader.h"

int config_read_oauth(struct reader *r, const struct reader_field *f, void *object);
