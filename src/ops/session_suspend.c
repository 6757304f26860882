/* session.suspend: answered when what can be saved is saved. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/suspend.h"
#include "wire/json.h"

static const struct op_param session_suspend_params[] = {OP_PARAM_SESSION, {0}};

/* What the next cell will not find. */
static void on_suspended(void *context, struct session *session, const struct err *e)
{
    struct call *call = context;
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    const struct saving *saving = &session->saving;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", session->id);
    json_put_member_str(&json, "state", session_state_name(session->state));
    json_put_member_int(&json, "saved_through", (int64_t)saving->through);
    if (json_array_size(saving->lost) > 0) {
        json_put_key(&json, "lost");
        json_put_value(&json, saving->lost);
    }
    if (saving->next_files_reason[0] != '\0')
        json_put_member_str(&json, "files_not_saved", saving->next_files_reason);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void session_suspend_on_gone(struct call *call)
{
    suspension_forget(call->op_state);
}

static void session_suspend_run(struct call *call)
{
    struct err e;
    struct suspension *suspension;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    if (session_suspend(session, on_suspended, call, &suspension, &e) < 0) {
        call_fail(call, &e);
    } else if (suspension != NULL) {
        call->op_state = suspension;
        call->on_gone = session_suspend_on_gone;
    }
}

static const struct op_member suspended_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    {"state", OP_TEXT, .is_always = true, .doc = "suspended."},
    {"saved_through", OP_INT, .doc = "The last cell whose effects are safe on disk."},
    {"lost", OP_LIST, .shape = &shape_lost, .doc = "What the next cell will not find."},
    {"files_not_saved", OP_TEXT, .doc = "Why files could not be saved."},
    {0},
};
static const struct op_shape shape_suspended = {"suspended", suspended_members,
                                                "A session that was suspended."};

static const struct op_verb session_suspend_verb = {
    .words = "suspend",
    .takes = (const char *const[]){"session_id...", NULL},
    .summary = "save sessions and give up their processes",
    .examples = "cella suspend 0b9c",
};

const struct op op_session_suspend = {
    .name = "session.suspend",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/suspend",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING,
    .params = session_suspend_params,
    .doc =
        "Gives up the processes of an idle session. Answered when all of it that can be saved is "
        "on disk; what cannot be is in \"lost\". A cell or a resumption brings it back.",
    .run = session_suspend_run,
    .result = &shape_suspended,
    .errors = OP_ERR(GONE),
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_suspend_verb,
};
