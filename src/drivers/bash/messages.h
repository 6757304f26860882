/* What the shell itself says on stderr ("bash: line 2: x: unbound variable"), remembered as well as
 * written: it is the message of a cell's error. */
#pragma once

#include "base/base.h"

void messages_install(void);
void messages_drop(void);

/* The last line, or the first one since messages_drop(), without its "bash: line N: ". Valid
 * until the next message. */
const char *messages_first(void);
int messages_first_line(void); /* the number N in it, or 0 */
const char *messages_last(void);
