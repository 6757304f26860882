/* Questions about code that the session's interpreter answers without running it, and how a busy
 * session refuses. Daemon; on the loop. */
#include "ops/judge_call.h"

#include "base/utf8.h"
#include "wire/json.h"

void judge_call_reply(struct call *call, const json_t *hints)
{
    const char *name;
    json_t *value;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_object_foreach((json_t *)(uintptr_t)hints, name, value) {
        json_put_key(&json, name);
        json_put_value(&json, value);
    }
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

void judge_call_refuse(struct call *call)
{
    struct err e;
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    bool is_suspended = session->state == SESSION_SUSPENDED;
    err_set(&e, ERR_CONFLICT, "the session is %s: its interpreter cannot be asked",
            is_suspended ? "suspended" : "busy");
    err_advise(&e, is_suspended ? "POST …/resume brings it back."
                                : "Ask again when its cell has ended; GET …/names tells what is "
                                  "known of its names.");
    call_fail(call, &e);
}

static void judge_call_on_gone(struct call *call)
{
    judging_forget(call->op_state);
}

void judge_call_ask(struct call *call, enum head_topic topic, bool is_detailed, judging_fn fn)
{
    struct err e;
    struct judging *judging;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct head_question question = {.topic = topic,
                                     .code = call_text(call, "code", ""),
                                     .len = call_text_len(call, "code"),
                                     .is_detailed = is_detailed};
    size_t end = utf8_count(question.code, question.len);
    question.cursor = (size_t)call_int(call, "cursor", (int64_t)end);
    if (question.cursor > end) {
        err_set(&e, ERR_INVALID, "\"cursor\" is %zu, and the code has %zu characters",
                question.cursor, end);
        call_fail(call, &e);
        return;
    }
    if (session_judge(session, &question, fn, call, &judging, &e) < 0) {
        call_fail(call, &e);
    } else if (judging != NULL) {
        call->op_state = judging;
        call->on_gone = judge_call_on_gone;
    }
}
