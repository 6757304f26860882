/* What is written after the end of a cell, by threads and processes that it left behind: its pipes
 * stay open for that, those of the last few cells. */
#pragma once

#include "session/exec.h"

void late_keep(struct exec *exec); /* the cell has ended: its pipes are all that is left of it */
/* After another cell has ended. */
void late_tidy(struct session *session);
void late_watch(struct session *session); /* from now on the loop reads them */
/* Another cell begins: its answer tells what came since the answers of those before. */
void late_tell(struct session *session);
void late_drop(struct exec *exec);
void late_drop_ended(struct session *session); /* cells whose pipes are all closed */
