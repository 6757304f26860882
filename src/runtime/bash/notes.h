/* What a woken copy of the shell could not put right, for its caller to know. */
#pragma once

#include "wire/json.h"

void notes_add(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The member "notes". */
void notes_put(struct json_out *json);
