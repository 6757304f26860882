/* What the operations share that ask a session's interpreter about a text and a cursor. */
#pragma once

#include "ops/ops.h"
#include "session/judging.h"

enum { JUDGE_CODE_MAX = 64 * 1024 };

#define JUDGE_PARAMS                                                                               \
    {.name = "code",                                                                               \
     .type = OP_TEXT,                                                                              \
     .is_required = true,                                                                          \
     .max = JUDGE_CODE_MAX,                                                                        \
     .doc = "The text, at most 64 KiB; nothing of it runs."},                                      \
    {                                                                                              \
        .name = "cursor", .type = OP_INT, .is_nullable = true, .max = JUDGE_CODE_MAX,              \
        .doc = "Where in it: how many characters come before; default: its end."                   \
    }

/* Asks; `fn` answers the call, which is its context. */
void judge_call_ask(struct call *call, enum head_topic topic, bool is_detailed, judging_fn fn);
/* Answers with what the driver told. */
void judge_call_reply(struct call *call, const json_t *hints);
/* No answer: the session is busy, suspended or does not answer. */
void judge_call_refuse(struct call *call);
