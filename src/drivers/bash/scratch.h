/* /tmp is not put back when a session goes back: what was written there since is told. */
#pragma once

#include <stdint.h>

int64_t scratch_now_ns(void);
/* A note for each file below /tmp that came or was changed after that, at most ten. */
void scratch_note_since(int64_t moment_ns);
