/* What a running cell shows besides text: typed outputs, its value among them. Each is
 * recorded before it is told to the cell's caller, and acknowledged to the
 * interpreter when it is kept: so a loop of pictures is no faster than the disk, and memory holds
 * one at a time. */
#pragma once

#include "session/exec.h"

void showing_on_display(struct session *session, json_t *output, bool is_update);
void showing_on_clear(struct session *session, bool waits);
/* The cell has ended. */
void showing_on_verdict(struct session *session, const struct head_verdict *verdict);
/* The cell does not wait for the picture any more. */
void showing_abandon(struct exec *exec);
/* A picture (the object that pictures_keep was given) is kept; `output` takes its place in the
 * answer, unless that had to go on without it. `is_same` if that is what the transcript shows. */
void exec_displayed(struct exec *exec, const json_t *shown, json_t *output, bool is_same);
