/* Plan mode: the one check that every operation passes before it runs, whoever asks. */
#include "base/clock.h"
#include "ops/ops.h"
#include "policy/policy.h"
#include "session/session.h"
#include "store/notebooks.h"
#include "wire/json.h"

/* Of the tool's own protocol, which is older than this daemon: not our words. */
#define TOOL_KIND "bash"
#define TOOL_HINT "Call ExitPlanMode { final_plan } when the plan is ready."

/* Why a call may not run. */
struct obstacle {
    const struct plan *plan;
    const char *kind; /* "session", "agent" */
    const char *name;
};

static bool takes(const struct op *op, const char *name)
{
    for (const struct op_param *p = op->params; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

static bool finds_agent(const struct call *call, const char *agent, struct obstacle *ret)
{
    *ret = (struct obstacle){policy_plan_of(call->policy, agent), "agent", agent};
    return ret->plan != NULL;
}

/* `speaker` is the agent that the call claims to speak for, NULL if it claims nothing: a session of
 * another agent is none of its business, and the operation will say so. */
static bool finds_session(const struct call *call, const char *member, const char *speaker,
                          struct obstacle *ret)
{
    struct err ignored;
    const char *id = call_text(call, member, NULL);
    const struct session *session = id != NULL ? session_find(call->engine, id, &ignored) : NULL;
    if (session == NULL || (speaker != NULL && strcmp(speaker, policy_agent_of(session)) != 0))
        return false;
    if (finds_agent(call, policy_agent_of(session), ret))
        return true;
    *ret = (struct obstacle){&session->plan, "session", session->id};
    return plan_is_on(ret->plan);
}

static bool is_guarded(const struct call *call)
{
    const struct op *op = call->op;
    return op->flags & OP_MUTATING && !(op->flags & OP_PLANS) && call->policy != NULL &&
           (op->only_reads == NULL || !op->only_reads(call));
}

static bool is_obstructed(const struct call *call, struct obstacle *ret)
{
    const struct op *op = call->op;
    if (!is_guarded(call))
        return false;
    bool is_claimed = takes(op, "agent") || !takes(op, "session_id");
    const char *speaker = is_claimed ? call_text(call, "agent", CONFIG_DEFAULT_AGENT) : NULL;
    return (speaker != NULL && finds_agent(call, speaker, ret)) ||
           finds_session(call, "session_id", speaker, ret) ||
           finds_session(call, "join", NULL, ret);
}

static void refuse(struct call *call, const struct obstacle *obstacle)
{
    const struct op *op = call->op;
    const char *tool = op->tool != NULL ? op->tool : op->name;
    struct err e;
    char time[CLOCK_RFC3339_SIZE];
    err_set(&e, ERR_CONFLICT, "the %s %s is in plan mode: %s was not run", obstacle->kind,
            obstacle->name, tool);
    err_advise(&e, "Reading is possible. DELETE /v1/%ss/%s/plan leaves plan mode.", obstacle->kind,
               obstacle->name);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_error(&json, &e);
    json_put_key(&json, "refusal");
    json_put_object(&json);
    json_put_member_str(&json, "tool_name", tool);
    json_put_member_str(&json, "tool_kind", TOOL_KIND);
    json_put_member_str(&json, "hint", TOOL_HINT);
    json_put_member_str(&json, "entered_at", clock_rfc3339(obstacle->plan->entered_at_ms, time));
    json_put_member_str(&json, "entered_reason", obstacle->plan->reason);
    json_put_object_end(&json);
    json_put_object_end(&json);
    call->wants_stream = false; /* a refusal is an answer with a status, never an event */
    call_reply(call, err_http_status(e.code), &out);
}

/* ---- notebooks whose session is gone -----------------------------------------------------------
 */

/* They are still of the agent that had it, whom only the store knows. (Streams are of runs, which
 * begin a session and meet the agent's plan there.) */
static bool is_of_notebook_alone(const struct call *call)
{
    static const char notebooks[] = "/v1/notebooks/{session_id}";
    struct err ignored;
    return is_guarded(call) && call->books != NULL && !call->wants_stream &&
           strncmp(call->op->path, notebooks, sizeof(notebooks) - 1) == 0 &&
           session_find(call->engine, call_text(call, "session_id", ""), &ignored) == NULL;
}

static void on_owner(void *context, const struct store_notebook *row, const struct err *e)
{
    struct call *call = context;
    struct obstacle obstacle;
    call->on_gone = NULL;
    call->op_state = NULL;
    if (e == NULL && row->user != NULL && finds_agent(call, row->user, &obstacle))
        refuse(call, &obstacle);
    else
        call->op->run(call);
}

void op_run(struct call *call)
{
    struct obstacle obstacle;
    if (is_obstructed(call, &obstacle))
        refuse(call, &obstacle);
    else if (is_of_notebook_alone(call))
        call_await(call, store_get_notebook(engine_store(call->engine),
                                            call_text(call, "session_id", ""), on_owner, call));
    else
        call->op->run(call);
}
