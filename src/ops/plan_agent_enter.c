/* agent.plan.enter: plan mode of an agent, which the store keeps. Daemon; on the loop. */
#include "ops/ops.h"
#include "policy/policy.h"

static const struct op_param plan_agent_enter_params[] = {
    OP_PARAM_AGENT,
    OP_PARAM_REASON,
    {0},
};

static void plan_agent_enter_run(struct call *call)
{
    struct err e;
    if (policy_enter_plan(call->policy, call_text(call, "agent", ""),
                          call_text(call, "reason", NULL), &e) < 0)
        call_fail(call, &e);
    else
        reply_agent_plan(call);
}

static const struct op_verb plan_agent_enter_verb = {
    .words = "agent plan",
    .takes = (const char *const[]){"agent", "reason?", NULL},
    .summary = "put an agent in plan mode, with all its sessions",
    .examples = "cella agent plan ana 'only looking'",
};

const struct op op_plan_agent_enter = {
    .name = "agent.plan.enter",
    .method = "PUT",
    .path = "/v1/agents/{agent}/plan",
    .subject = OP_ON_AGENT,
    .flags = OP_MUTATING | OP_PLANS,
    .params = plan_agent_enter_params,
    .doc = "Puts an agent in plan mode, with all its sessions, also those to come.",
    .run = plan_agent_enter_run,
    .result = &shape_agent_plan,
    .errors = OP_ERR(LIMIT),
    .example = "{\"agent\": \"default\", \"reason\": \"only looking\"}",
    .verb = &plan_agent_enter_verb,
};
