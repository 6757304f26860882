/* How cells end. */
#pragma once

#include "session/answer.h"

/* The interpreter ended, and another will take its place: the cell that ran is answered when that
 * is there. The session's certificate becomes the cell's. */
void outcome_hold_crash(struct session *session);
/* The session is back, at this checkpoint. `extra` goes with the answer, or with the next one if no
 * cell ran; the reference is taken. */
void outcome_answer_crash(struct session *session, uint64_t checkpoint, json_t *extra);
/* The session went back before these cells, whose answers were held: they are told so. */
void outcome_answer_undone(struct session *session, const struct timeline_cells *undone,
                           uint64_t checkpoint);
/* The waiting cells cannot begin. */
void outcome_fail_waiting(struct session *session, const struct err *e);
/* The session is dead: answers the running cell and those that wait, closes every pipe. */
void outcome_end_all(struct session *session);
/* The cell has ended, and so does its record. */
void outcome_record(struct exec *exec, const struct exec_outcome *outcome);
void outcome_retire(struct exec *exec); /* the cell runs no longer: its pipes remain */
void outcome_free_verdict(struct head_verdict *verdict);
void outcome_free(struct exec *exec);
void outcome_free_spent(struct session *session); /* cells that exec_free_if_over found over */
