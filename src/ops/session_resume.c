/* session.resume: answered when the session is back, with what is lost. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/suspend.h"
#include "wire/json.h"

static const struct op_param session_resume_params[] = {OP_PARAM_SESSION, {0}};

/* `resumed`: what came back and what did not; NULL if the session was there. */
static void session_resume_reply(struct call *call, const struct session *session,
                                 const json_t *resumed)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", session->id);
    json_put_member_str(&json, "state", session_state_name(session->state));
    if (resumed != NULL) {
        json_put_key(&json, "resumed");
        json_put_value(&json, json_object_get(resumed, "resumed"));
    }
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void on_resumed(void *context, const struct restore_report *report)
{
    struct call *call = context;
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    _json_ json_t *resumed = restore_describe_resumption(session, report);
    session_resume_reply(call, session, resumed);
}

static const struct restore_listener session_resume_listener = {.on_restored = on_resumed,
                                                                .on_failed = call_failed};

static void session_resume_on_gone(struct call *call)
{
    restore_forget(call->op_state);
}

static void session_resume_run(struct call *call)
{
    struct err e;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    if (session_refuse_if_dead(session, &e) < 0) {
        call_fail(call, &e);
    } else if (session->state != SESSION_SUSPENDED) {
        session_resume_reply(call, session, NULL);
    } else if (session_resume(session, &session_resume_listener, call, &e) < 0) {
        call_fail(call, &e);
    } else if (session->restore != NULL) { /* else the call is over */
        call->op_state = session->restore;
        call->on_gone = session_resume_on_gone;
    }
}

static const struct op_member awake_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    {"state", OP_TEXT, .is_always = true, .doc = "idle, or busy."},
    {"resumed", OP_OBJECT, .shape = &shape_resumed, .doc = "What came back; none if it was there."},
    {0},
};
static const struct op_shape shape_awake = {"awake", awake_members, "A session that was resumed."};

static const struct op_verb session_resume_verb = {
    .words = "resume",
    .takes = (const char *const[]){"session_id...", NULL},
    .summary = "bring suspended sessions back",
    .examples = "cella resume 0b9c",
};

const struct op op_session_resume = {
    .name = "session.resume",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/resume",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING,
    .params = session_resume_params,
    .doc = "Brings a suspended session back without a cell, and says what of it is lost.",
    .run = session_resume_run,
    .result = &shape_awake,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_resume_verb,
};
