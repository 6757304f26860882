/* Operations that the code of a cell calls: a surface as others are, whose client is the cell. */
#pragma once

#include "ops/op.h"

struct code_call;

/* What every call of this surface has; the caller's, as long as the engine lives. */
struct code_surface {
    struct engine *engine;
    struct policy *policy;
    struct documents *documents;
    struct image_boxes *boxes;
};

/* For engine_set_caller; `context` is the struct code_surface. */
void code_call_run(void *context, struct code_call *from);
/* The error in an answer that is a refusal with more members than that. */
void code_call_read_refusal(const json_t *answer, struct err *ret);
