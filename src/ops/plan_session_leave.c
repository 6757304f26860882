/* session.plan.leave. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/session.h"

static const struct op_param plan_session_leave_params[] = {
    OP_PARAM_SESSION,
    {0},
};

static void plan_session_leave_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    plan_leave(&session->plan);
    reply_session_plan(call, session);
}

static const struct op_verb plan_session_leave_verb = {
    .words = "unplan",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "end the plan mode of a session",
    .examples = "cella unplan 0b9c",
};

const struct op op_plan_session_leave = {
    .name = "session.plan.leave",
    .method = "DELETE",
    .path = "/v1/sessions/{session_id}/plan",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING | OP_PLANS,
    .params = plan_session_leave_params,
    .doc = "Leaves the plan mode of a session.",
    .run = plan_session_leave_run,
    .result = &shape_session_plan,
    .example = "{\"session_id\": \"$session\"}",
    .verb = &plan_session_leave_verb,
};
