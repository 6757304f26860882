/* The answer to a cell as one text: exactly what a model should read, in the order in which things
 * happened. */
#pragma once

#include "session/exec.h"

void exec_text_put(struct buf *out, const struct exec_result *result);
