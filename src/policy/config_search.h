/* The part of the configuration that is about searching: `search`. */
#pragma once

#include "policy/reader.h"

int config_read_search(struct reader *r, const struct reader_field *f, void *object);
