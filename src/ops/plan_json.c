/* Plan mode in answers. Daemon; on the loop. */
#include "base/clock.h"
#include "ops/ops.h"
#include "policy/policy.h"
#include "session/engine.h"
#include "session/saving.h"
#include "session/session.h"
#include "store/store.h"
#include "wire/json.h"

void put_plan(struct json_out *json, const struct plan *plan)
{
    char time[CLOCK_RFC3339_SIZE];
    if (plan == NULL || !plan_is_on(plan))
        return;
    json_put_key(json, "plan");
    json_put_object(json);
    json_put_member_str(json, "reason", plan->reason);
    json_put_member_str(json, "entered_at", clock_rfc3339(plan->entered_at_ms, time));
    json_put_object_end(json);
}

static void plan_reply(struct call *call, const char *member, const struct plan *plan)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, member, call_text(call, member, ""));
    put_plan(&json, plan);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void plan_session_on_safe(void *context, const struct err *e)
{
    struct call *call = context;
    struct session *session = e == NULL ? call_session(call) : NULL;
    if (e != NULL)
        call_fail(call, e);
    else if (session != NULL)
        plan_reply(call, "session_id", &session->plan);
}

void reply_session_plan(struct call *call, struct session *session)
{
    /* Without a row the session ends with the daemon, or the first save tells the store. */
    if (!session->saving.has_row) {
        plan_reply(call, "session_id", &session->plan);
        return;
    }
    saving_know(session);
    call_await(call,
               store_barrier(engine_store(call->engine), session->id, plan_session_on_safe, call));
}

static void plan_agent_on_safe(void *context, const struct err *e)
{
    struct call *call = context;
    if (e != NULL)
        call_fail(call, e);
    else
        plan_reply(call, "agent", policy_plan_of(call->policy, call_text(call, "agent", "")));
}

void reply_agent_plan(struct call *call)
{
    struct err e;
    struct store *store = engine_store(call->engine);
    const char *agent = call_text(call, "agent", "");
    const struct plan *plan = policy_plan_of(call->policy, agent);
    if (store == NULL)
        plan_reply(call, "agent", plan);
    else if (store_put_plan(store, agent, plan != NULL ? plan->reason : NULL,
                            plan != NULL ? plan->entered_at_ms : 0, &e) < 0)
        call_fail(call, &e);
    else
        call_await(call, store_barrier(store, NULL, plan_agent_on_safe, call));
}
