/* Cells that wait for a line. The cell is answered with what it asks for and its clock stands until
 * the line comes; an interrupt ends the wait as it ends everything else. */
#pragma once

#include "session/wait.h"

struct head_prompt;

void input_on_prompt(struct session *session, const struct head_prompt *prompt);
/* Answers the waiting caller with what the cell asks for. */
void input_answer(struct exec *exec);
