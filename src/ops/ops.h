/* What the files of this room share: the operations themselves and how a session is written. */
#pragma once

#include "ops/op.h"

struct json_out;
struct session;

extern const struct op op_exec_continue;
extern const struct op op_health;
extern const struct op op_session_create;
extern const struct op op_session_delete;
extern const struct op op_session_exec;
extern const struct op op_session_get;
extern const struct op op_session_interrupt;
extern const struct op op_session_list;
extern const struct op op_session_output;

/* The session that the call names; NULL if the call was answered with the error. */
struct session *call_session(struct call *call);

void call_reply(struct call *call, int http_status, const struct buf *json);
void call_fail(struct call *call, const struct err *e);

#define CALL_REPLY_MAX (128 * MIB) /* the largest budget, escaped */

/* The parameter that most operations begin with. */
#define OP_PARAM_SESSION                                                                           \
    {                                                                                              \
        .name = "session_id", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1, \
        .max = 64, .doc = "The session."                                                           \
    }

void put_session(struct json_out *json, const struct session *session);
