/* A state that save.h wrote, put into a fresh shell. What fails is told of by name, and the rest
 * goes on. */
#pragma once

#include "wire/json.h"

/* Reads the stream to its end, and writes the members of the answer. */
void load_read(int fd, struct json_out *json);
