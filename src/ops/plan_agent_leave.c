/* agent.plan.leave. Daemon; on the loop. */
#include "ops/ops.h"
#include "policy/policy.h"

static const struct op_param plan_agent_leave_params[] = {
    OP_PARAM_AGENT,
    {0},
};

static void plan_agent_leave_run(struct call *call)
{
    policy_leave_plan(call->policy, call_text(call, "agent", ""));
    reply_agent_plan(call);
}

static const struct op_verb plan_agent_leave_verb = {
    .words = "agent unplan",
    .takes = (const char *const[]){"agent", NULL},
    .summary = "end the plan mode of an agent",
    .examples = "cella agent unplan ana",
};

const struct op op_plan_agent_leave = {
    .name = "agent.plan.leave",
    .method = "DELETE",
    .path = "/v1/agents/{agent}/plan",
    .subject = OP_ON_AGENT,
    .flags = OP_MUTATING | OP_PLANS,
    .params = plan_agent_leave_params,
    .doc = "Leaves the plan mode of an agent; sessions may be in plan mode by themselves.",
    .run = plan_agent_leave_run,
    .result = &shape_agent_plan,
    .example = "{\"agent\": \"default\"}",
    .verb = &plan_agent_leave_verb,
};
