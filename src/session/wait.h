/* The caller that waits for a cell's answer: one at a time, with patience for all or some of the
 * cell's life. What ends without a caller is kept: the last few ends of a session, and not too many
 * bytes. */
#pragma once

#include "session/answer.h"

/* The caller that waits from now on; its clock is started apart, when the cell has its place. */
void wait_attach(struct exec *exec, const struct exec_wait *wait);
void wait_start_clock(struct exec *exec, const struct exec_wait *wait);
/* Both, for a cell that had a caller before: the new one may have another budget, and a stream
 * begins with what is new. */
void wait_resume(struct exec *exec, const struct exec_wait *wait);

/* The last answer: to the waiting caller, else kept. */
void wait_end(struct exec *exec, const struct exec_outcome *outcome);
/* The answer has to wait for something besides the cell's end; then it is released. */
void wait_hold(struct exec *exec, const struct exec_outcome *outcome);
void wait_release(struct exec *exec);         /* `exec` may be gone afterwards */
void wait_free_kept(struct session *session); /* which is being freed */
