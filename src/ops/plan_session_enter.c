/* session.plan.enter: plan mode of a session, kept in its row. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/session.h"

static const struct op_param plan_session_enter_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_REASON,
    {0},
};

static void plan_session_enter_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    plan_enter(&session->plan, call_text(call, "reason", NULL));
    reply_session_plan(call, session);
}

static const struct op_verb plan_session_enter_verb = {
    .words = "plan",
    .takes = (const char *const[]){"session_id", "reason?", NULL},
    .summary = "put a session in plan mode",
    .about = "In plan mode nothing that changes a session runs: it can be looked at, and whoever\n"
             "tries more is told why it was refused. `cella unplan` ends it; `cella agent plan` "
             "does the\n"
             "same to all sessions of an agent.",
    .examples = "cella plan 0b9c 'the plan is not approved yet'\n"
                "cella unplan 0b9c",
};

const struct op op_plan_session_enter = {
    .name = "session.plan.enter",
    .method = "PUT",
    .path = "/v1/sessions/{session_id}/plan",
    .subject = OP_ON_SESSION,
    .flags = OP_MUTATING | OP_PLANS,
    .params = plan_session_enter_params,
    .doc = "Puts a session in plan mode: until it is left, nothing that changes the session runs.",
    .run = plan_session_enter_run,
    .result = &shape_session_plan,
    .example = "{\"session_id\": \"$session\", \"reason\": \"only looking\"}",
    .verb = &plan_session_enter_verb,
};
