/* What a running cell shows besides text: typed outputs, its value among them. Each is told to
 * whoever records the session before it is told to the cell's caller, and acknowledged to the
 * interpreter when it is kept: so a loop of pictures is no faster than the disk, and memory holds
 * one at a time. */
#pragma once

#include "session/exec.h"

void showing_on_display(struct session *session, json_t *output, bool is_update);
void showing_on_clear(struct session *session, bool waits);
/* The cell has ended. */
void showing_on_verdict(struct session *session, const struct head_verdict *verdict);
/* Nobody waits for the recorder any more. */
void showing_abandon(struct exec *exec);
