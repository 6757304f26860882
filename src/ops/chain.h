/* Structured cells: their calls are found by the analyst, held against what chains may do, and made
 * here, as the calls of code are. */
#pragma once

#include "ops/code_call.h"

struct chain_turn;

/* For engine_set_chainer; `context` is the struct code_surface. */
void chain_run(void *context, struct chain_turn *turn);
