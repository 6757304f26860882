/* try.commit and try.discard: what a try did is kept, or taken back by a restoration. Daemon; on
 * the loop. */
#include "ops/ops.h"
#include "ops/restore_call.h"
#include "session/session.h"
#include "session/trial.h"
#include "wire/json.h"

static const struct op_param try_end_params[] = {
    OP_PARAM_SESSION,
    {.name = "try_id",
     .type = OP_INT,
     .place = OP_IN_PATH,
     .is_required = true,
     .min = 1,
     .max = INT64_MAX,
     .doc = "The try, by the number that its answer had."},
    {0},
};

static void begin_answer(struct call *call, struct json_out *json, const char *outcome)
{
    json_put_object(json);
    json_put_member_str(json, "session_id", call_text(call, "session_id", ""));
    json_put_member_int(json, "try_id", call_int(call, "try_id", 0));
    json_put_member_str(json, "outcome", outcome);
}

static void commit(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    if (session_commit(session, (uint64_t)call_int(call, "try_id", 0), &e) < 0) {
        call_fail(call, &e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    begin_answer(call, &json, "committed");
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void on_discarded(void *context, const struct restore_report *report)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    begin_answer(call, &json, "discarded");
    restore_call_put(&json, report);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct restore_listener try_end_listener = {.on_restored = on_discarded,
                                                         .on_failed = call_failed};

static void discard(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct err e;
    uint64_t id = (uint64_t)call_int(call, "try_id", 0);
    if (session_discard(session, id, &try_end_listener, call, &e) < 0)
        call_fail(call, &e);
    else
        restore_call_begun(call, session);
}

static const struct op_member try_end_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    {"try_id", OP_INT, .is_always = true, .doc = "The try."},
    {"outcome", OP_TEXT, .is_always = true, .doc = "committed or discarded."},
    SHAPE_RESTORED,
    {0},
};
static const struct op_shape shape_try_end = {"try_end", try_end_members, "How a try ended."};

const struct op op_try_commit = {
    .name = "try.commit",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/tries/{try_id}/commit",
    .subject = OP_ON_HISTORY,
    .flags = OP_MUTATING,
    .params = try_end_params,
    .doc = "Keeps what a try did.",
    .run = commit,
    .result = &shape_try_end,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$tried\", \"try_id\": \"$try\"}",
};

const struct op op_try_discard = {
    .name = "try.discard",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/tries/{try_id}/discard",
    .subject = OP_ON_HISTORY,
    .flags = OP_MUTATING,
    .params = try_end_params,
    .doc = "Takes back what a try did, with its variables, files and processes.",
    .run = discard,
    .result = &shape_try_end,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session_id\": \"$tried\", \"try_id\": \"$try\"}",
};
