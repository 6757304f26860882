/* Is a text a whole piece of code, or would its author go on? */
#pragma once

#include "base/base.h"

/* "complete", "incomplete", "invalid", or "unknown" if no process can be made to find out. Nothing
 * of the text runs, and the shell stays as it is. */
const char *completeness_of(const char *code);
