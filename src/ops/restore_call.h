/* What the operations share that take a session to another point of its history. */
#pragma once

#include "ops/op.h"
#include "session/restore.h"

struct json_out;

/* Answers the call, which is the context. */
extern const struct restore_listener restore_call_listener;
/* The restoration has begun; the call may have been answered already. */
void restore_call_begun(struct call *call, struct session *session);
/* The members of the answer, for those that have more to say. */
void restore_call_put(struct json_out *json, const struct restore_report *report);
