#include "ops/ops.h"
#include "session/session.h"

static const struct op_param params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_REASON,
    {0},
};

static void run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    plan_enter(&session->plan, call_text(call, "reason", NULL));
    reply_plan(call, "session_id", &session->plan);
}

const struct op op_plan_session_enter = {
    .name = "session.plan.enter",
    .method = "PUT",
    .path = "/v1/sessions/{session_id}/plan",
    .flags = OP_MUTATING | OP_PLANS,
    .params = params,
    .doc = "Puts a session in plan mode: until it is left, nothing that changes the session runs.",
    .run = run,
};
